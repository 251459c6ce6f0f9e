//! Fuzz targets.

use std::panic::{AssertUnwindSafe, catch_unwind};

use clearway_sync::Broken;

/// Something that takes bytes.
pub(crate) struct Target {
    pub(crate) name: &'static str,
    /// Examples of valid input, from which mutation begins.
    pub(crate) examples: fn() -> Vec<Vec<u8>>,
    /// Takes an input; an error is a wrong result.
    pub(crate) take: fn(&[u8]) -> Result<(), String>,
    /// The canary.
    pub(crate) must_fail: bool,
}

/// The result of one input.
pub(crate) enum Verdict {
    Survived,
    Died(String),
}

impl Target {
    pub(crate) fn run(&self, input: &[u8]) -> Verdict {
        let result = catch_unwind(AssertUnwindSafe(|| (self.take)(input)));
        if let Some(Broken { what, place }) = clearway_sync::broken() {
            // It has stopped every database of the process, those of later inputs included.
            return Verdict::Died(format!("broke the invariant \"{what}\" ({place})"));
        }
        match result {
            Ok(Ok(())) => Verdict::Survived,
            Ok(Err(wrong)) => Verdict::Died(wrong),
            Err(panic) => {
                let text = panic.downcast_ref::<String>().map(String::as_str);
                let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
                Verdict::Died(format!("panicked: {}", text.unwrap_or("without a word")))
            }
        }
    }
}
