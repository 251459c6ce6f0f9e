//! The time for which an agent looks for a task that can go on before it parks.
//!
//! A lock that one agent's task releases may be what another agent's task waits for. To wake a
//! parked thread takes as long as several transactions, so an agent first looks for a while, as
//! long as that pays: after an attempt in vain it does without for 1, 3, 7, … 63 parks, and after
//! one that found a task it looks each time. So where tasks wait for pages, or nothing happens, an
//! agent loses less than a microsecond a park.

use clearway_sync::{spin_loop, thread};

/// Looks of one attempt: some 50 µs, since several tasks of the other agent may come first.
const LOOKS: u32 = if cfg!(any(loom, shuttle)) { 1 } else { 1000 };
/// Attempts in vain after which they become no rarer.
const VAIN_MAX: u32 = 6;

/// When an agent looks for tasks before it parks.
#[derive(Default)]
pub(super) struct Spinning {
    /// True if there is one processor, which the other agents need.
    is_off: bool,
    /// Attempts in vain since the last one that found a task.
    vain: u32,
    /// Parks without an attempt that are left.
    skip: u32,
}

/// The end of an attempt.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum SpinEnd {
    Nothing,
    /// A task can go on.
    Task,
    /// There is something else to do.
    Other,
}

impl Spinning {
    /// An agent's on this machine.
    pub(super) fn new() -> Spinning {
        let is_off = thread::available_parallelism().is_ok_and(|processors| processors.get() == 1);
        Spinning { is_off, ..Spinning::default() }
    }

    /// Looks until there is something to do, or for some 50 µs, if this is likely to find a task.
    pub(super) fn look(&mut self, mut see: impl FnMut() -> SpinEnd) -> SpinEnd {
        if self.is_off {
            return SpinEnd::Nothing;
        }
        if let Some(skip) = self.skip.checked_sub(1) {
            self.skip = skip;
            return SpinEnd::Nothing;
        }
        let mut seen = SpinEnd::Nothing;
        for _ in 0..LOOKS {
            seen = see();
            if seen != SpinEnd::Nothing {
                break;
            }
            spin_loop();
        }
        if seen == SpinEnd::Task {
            self.vain = 0;
        } else {
            self.vain = (self.vain + 1).min(VAIN_MAX);
            self.skip = (1 << self.vain) - 1;
        }
        seen
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    /// The numbers of those of `parks` parks in which it looked.
    fn looked(spinning: &mut Spinning, parks: u32, found: SpinEnd) -> Vec<u32> {
        let mut numbers = Vec::new();
        for number in 0..parks {
            let mut has_looked = false;
            spinning.look(|| {
                has_looked = true;
                found
            });
            has_looked.then(|| numbers.push(number));
        }
        numbers
    }

    #[test]
    fn attempts_in_vain_become_rare_and_one_that_finds_a_task_makes_them_frequent() {
        for found in [SpinEnd::Nothing, SpinEnd::Other] {
            let mut spinning = Spinning::default();
            let expected = [0, 2, 6, 14, 30, 62, 126, 190];
            assert_eq!(looked(&mut spinning, 200, found), expected, "{found:?}");
            // The parks without an attempt that are left, then each of them.
            let expected: Vec<_> = (54..70).collect();
            assert_eq!(looked(&mut spinning, 70, SpinEnd::Task), expected, "{found:?}");
            assert_eq!(looked(&mut spinning, 3, found), [0, 2]);
        }
    }

    #[test]
    fn it_looks_until_something_is_there() {
        let mut looks = 0;
        let seen = Spinning::default().look(|| {
            looks += 1;
            if looks == LOOKS / 2 { SpinEnd::Other } else { SpinEnd::Nothing }
        });
        assert_eq!((seen, looks), (SpinEnd::Other, LOOKS / 2));
    }
}
