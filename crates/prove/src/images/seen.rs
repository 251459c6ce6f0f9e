//! Recognizes images that were examined before.
//!
//! Until the next sync, the least that a crash may leave stays the same, whatever the number of
//! operations. Therefore crashes at different operations often leave the same bytes. Two images of
//! one scenario are equivalent to the examination if they have the same bytes and must contain the
//! same commits. The set of commits that they *may* contain only grows while a scenario runs, and
//! the image that was examined is the earlier one, for which this set is smaller.

use std::collections::HashSet;

use clearway_testkit::disk::SimDisk;

use super::recorder::{Moment, Phase};

#[derive(PartialEq, Eq, Hash)]
struct Image {
    recording: usize,
    phase: Phase,
    era: usize,
    acknowledged: usize,
    contents: u64,
}

/// See the module.
#[derive(Default)]
pub(super) struct Seen(HashSet<Image>);

impl Seen {
    /// Records an image. Returns true if no equivalent one was recorded before.
    pub(super) fn is_new(&mut self, recording: usize, moment: Moment, disk: &SimDisk) -> bool {
        self.0.insert(Image {
            recording,
            phase: moment.phase,
            era: moment.era,
            acknowledged: moment.bounds.acknowledged,
            contents: disk.contents_digest(),
        })
    }
}
