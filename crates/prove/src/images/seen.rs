//! Images that need no second look.
//!
//! Until something is synced, the least that a crash may leave stays the same, however many
//! operations go by; so many crashes leave the same bytes. Two images of one script are the same to
//! the examiner if their bytes are, and what must be found in them. What *may* be found in them
//! only grows while a script runs, and the earlier image is the one that was looked at.

use std::collections::HashSet;

use clearway_testkit::disk::SimDisk;

use super::tape::{Moment, Standing};

#[derive(PartialEq, Eq, Hash)]
struct Image {
    performance: usize,
    standing: Standing,
    era: usize,
    acknowledged: usize,
    contents: u64,
}

/// See the module.
#[derive(Default)]
pub(super) struct Seen(HashSet<Image>);

impl Seen {
    /// Whether it is the first of its kind.
    pub(super) fn is_new(&mut self, performance: usize, moment: Moment, disk: &SimDisk) -> bool {
        self.0.insert(Image {
            performance,
            standing: moment.standing,
            era: moment.era,
            acknowledged: moment.bounds.acknowledged,
            contents: disk.contents_digest(),
        })
    }
}
