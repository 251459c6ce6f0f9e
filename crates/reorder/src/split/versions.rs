//! Makes the splits of all functions in the whole text, one version after the other.
//!
//! The splits of a function were found in an [excerpt](super::excerpt), which has the places of the
//! first text. The splits of the functions in front of it, and a header that one of them includes,
//! move these places.

use super::{Split, trace::Trace};
use crate::source::{self, Edit, Range};

/// The text of a program with one split more than the version before.
pub(crate) struct Version {
    pub(crate) text: String,
    /// The way back to the version before.
    pub(crate) trace: Trace,
    pub(crate) split: Split,
}

/// A split, by places in the excerpt with the splits before it.
pub(super) struct Step {
    pub(super) split: Split,
    pub(super) edits: Vec<Edit>,
}

/// The versions of the whole text.
pub(super) struct Versions<'t> {
    text: &'t str,
    pub(super) versions: Vec<Version>,
    /// The start of the first function of the file. A header is included before it.
    first: usize,
    /// The text that includes a header, once a split has added it.
    header: Option<String>,
    /// The bytes and lines that splits have added within functions.
    gained: Gained,
}

/// Bytes and lines that edits add.
#[derive(Clone, Copy, Default)]
struct Gained {
    bytes: isize,
    lines: isize,
}

impl Gained {
    fn of(text: &str) -> Gained {
        let lines = text.bytes().filter(|&byte| byte == b'\n').count();
        Gained { bytes: text.len().cast_signed(), lines: lines.cast_signed() }
    }

    fn plus(self, other: Gained) -> Gained {
        Gained { bytes: self.bytes + other.bytes, lines: self.lines + other.lines }
    }

    fn minus(self, other: Gained) -> Gained {
        Gained { bytes: self.bytes - other.bytes, lines: self.lines - other.lines }
    }
}

impl<'t> Versions<'t> {
    /// No versions yet of a text whose first function starts at `first`.
    pub(super) fn of(text: &'t str, first: usize) -> Versions<'t> {
        let (header, gained) = (None, Gained::default());
        Versions { text, versions: Vec::new(), first, header, gained }
    }

    /// Adds the splits of a function, which stands behind all functions that were added before.
    pub(super) fn add(&mut self, function: Range, steps: Vec<Step>) {
        // Within the function, and in front of it, where the excerpt includes a header.
        let (mut within, mut before) = (Gained::default(), Gained::default());
        let gained = self.gained;
        for Step { split, edits } in steps {
            let range = Range::new(
                moved(function.start, before.bytes),
                moved(function.end, before.bytes + within.bytes),
            );
            let (inner, outer): (Vec<Edit>, Vec<Edit>) =
                edits.into_iter().partition(|edit| range.contains(edit.range));
            let last = self.versions.last().map_or(self.text, |last| &last.text);
            let header = self.header.as_deref().map(Gained::of).unwrap_or_default();
            let shift = gained.plus(header).minus(before);
            let mut edits: Vec<Edit> = Vec::new();
            for edit in &inner {
                let Range { start, end } = edit.range;
                within = within.plus(Gained::of(&edit.text)).minus(Gained::of(
                    // What the edit replaces has the same text in the excerpt.
                    &last[moved(start, shift.bytes)..moved(end, shift.bytes)],
                ));
                let range = Range::new(moved(start, shift.bytes), moved(end, shift.bytes));
                edits.push(Edit { range, text: edit.text.clone() });
            }
            for edit in outer {
                let is_in_front =
                    edit.range.end <= self.first && edit.range.start == edit.range.end;
                match &self.header {
                    _ if !is_in_front => return,
                    Some(header) if *header != edit.text => return,
                    Some(_) => {}
                    None => {
                        self.header = Some(edit.text.clone());
                        edits.push(edit.clone());
                    }
                }
                before = before.plus(Gained::of(&edit.text));
            }
            let text = source::apply(last, &edits);
            let (line, behind) = (moved(split.line, shift.lines), moved(split.behind, shift.lines));
            let split = Split { line, behind, ..split };
            self.versions.push(Version { text, trace: Trace::of(&edits), split });
            self.gained = gained.plus(within);
        }
    }
}

fn moved(place: usize, by: isize) -> usize {
    place.saturating_add_signed(by)
}
