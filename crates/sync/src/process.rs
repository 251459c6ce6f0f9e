//! Distinguishes the process that created a value from its forks, without a system call.
//!
//! A child of `fork` inherits every value of its parent, but not its threads, and it shares the
//! parent's open files. So a value that owns threads or files records the [`Process`] in which it
//! was created and refuses to work in another one.
//!
//! ```text
//!   LINEAGE.word ─▶ a page that the kernel fills with zeros in each child
//!                   │ (MADV_WIPEONFORK, Linux 4.14)
//!                   └─ the number of this process; 0 in a child until it asks for one of its own
//! ```
//!
//! Invariants:
//! - PROCESS-1. The word that `LINEAGE.word` points to is valid for ever: the page is never
//!   unmapped, and the two words that stand for "no page" are statics.
//! - PROCESS-2. `LINEAGE.word` changes once in a process and its forks, from `UNDECIDED` to the
//!   page or to `REFUSED`. So a number means the same for as long as it exists.
//! - PROCESS-3. A number is never 0, and differs from the numbers of all ancestors: the counter is
//!   inherited and only goes up. Siblings may have equal numbers, but no value passes between them.
//!
//! A fork of a process with open databases cannot open any either: parking keeps a table of
//! sleeping threads, in the memory of their stacks. In the child those threads do not exist and
//! their stacks are reused, so the table is corrupt. [`Process::enter`] refuses that.
//!
//! Where the kernel refuses the advice, a process's number is its process id, and each check is one
//! `getpid`. A child made by `clone` with the parent's memory (`vfork`, `posix_spawn`) is not a
//! fork in this sense: it runs no code but `exec`.

#[cfg(feature = "fork")]
pub(crate) mod child;

use std::{
    ptr,
    sync::atomic::{
        AtomicPtr, AtomicU32,
        Ordering::{AcqRel, Acquire, Relaxed},
    },
};

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};

/// The process in which a value was made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Process(u32);

impl Process {
    /// The calling process.
    pub fn current() -> Process {
        Process(LINEAGE.number(map_word))
    }

    /// Whether the calling process is this one: false in its forks. Two loads and a comparison.
    #[inline]
    pub fn is_current(self) -> bool {
        LINEAGE.is_current(self.0)
    }
}

/// A stay in the process: while one exists, there may be sleeping threads.
#[derive(Debug)]
pub struct Stay(Process);

/// The number of stays in this process, or at the fork in the parent.
static STAYS: AtomicU32 = AtomicU32::new(0);
/// The process that `STAYS` counts for.
static STAYS_OF: AtomicU32 = AtomicU32::new(0);

impl Process {
    /// Begins a stay in the calling process; `None` if it was forked during one.
    pub fn enter() -> Option<Stay> {
        if Process::is_ruined() {
            return None;
        }
        let process = Process::current();
        // Relaxed, both: a fork copies what the forking thread sees, and each thread that opened a
        // value has passed it to that thread with other synchronization.
        STAYS_OF.store(process.0, Relaxed);
        STAYS.fetch_add(1, Relaxed);
        Some(Stay(process))
    }

    /// Whether the calling process was forked during a stay of its parent.
    pub fn is_ruined() -> bool {
        STAYS.load(Relaxed) > 0 && !Process(STAYS_OF.load(Relaxed)).is_current()
    }
}

impl Drop for Stay {
    fn drop(&mut self) {
        if self.0.is_current() {
            STAYS.fetch_sub(1, Relaxed);
        }
    }
}

/// The value of `LINEAGE.word` before the first request.
static UNDECIDED: AtomicU32 = AtomicU32::new(0);
/// The value of `LINEAGE.word` if the kernel has no such page.
static REFUSED: AtomicU32 = AtomicU32::new(0);

static LINEAGE: ProcessLineage = ProcessLineage::new();

/// Bytes mapped for the word. The kernel rounds up to its page.
const MAPPED_BYTES: usize = size_of::<AtomicU32>();

struct ProcessLineage {
    word: AtomicPtr<AtomicU32>,
    /// The number for the next process without one.
    next: AtomicU32,
}

impl ProcessLineage {
    const fn new() -> ProcessLineage {
        let word = AtomicPtr::new(ptr::from_ref(&UNDECIDED).cast_mut());
        ProcessLineage { word, next: AtomicU32::new(1) }
    }

    /// Returns the current word: `UNDECIDED`, `REFUSED` or the page.
    #[inline]
    fn word(&self) -> &'static AtomicU32 {
        // Acquire pairs with the exchange in `decide`: the page is mapped.
        let word = self.word.load(Acquire);
        // SAFETY: PROCESS-1.
        unsafe { &*word }
    }

    #[inline]
    fn is_current(&self, number: u32) -> bool {
        let word = self.word();
        // Relaxed: the word changes only in a process in which it is 0, and no other read depends
        // on it. The two statics are 0, which is not the number of any process (PROCESS-3).
        word.load(Relaxed) == number || is_process_id(word, number)
    }

    /// The number of the calling process, with a page from `map` if there is none yet.
    fn number(&self, map: impl FnOnce() -> Option<*mut AtomicU32>) -> u32 {
        let word = self.decide(map);
        if ptr::eq(word, &raw const REFUSED) {
            return std::process::id();
        }
        // Relaxed, all three: the number alone is passed on.
        match word.load(Relaxed) {
            0 => {
                let fresh = self.next.fetch_add(1, Relaxed);
                word.compare_exchange(0, fresh, Relaxed, Relaxed).map_or_else(|own| own, |_| fresh)
            }
            own => own,
        }
    }

    /// The page, or `REFUSED` (PROCESS-2). Takes no latch: a latch held by another thread at a fork
    /// would never be released in the child.
    fn decide(&self, map: impl FnOnce() -> Option<*mut AtomicU32>) -> &'static AtomicU32 {
        let undecided = ptr::from_ref(&UNDECIDED).cast_mut();
        if ptr::eq(self.word(), undecided) {
            let refused = ptr::from_ref(&REFUSED).cast_mut();
            let found = map();
            let made = found.unwrap_or(refused);
            // AcqRel pairs with the load in `word`.
            let exchanged = self.word.compare_exchange(undecided, made, AcqRel, Acquire);
            if let (Err(_), Some(late)) = (exchanged, found) {
                // SAFETY: another thread was first, so nothing has seen this page.
                let _ = unsafe { munmap(late.cast(), MAPPED_BYTES) };
            }
        }
        self.word()
    }
}

/// Whether `number` is the calling process's, if there is no page.
#[cold]
fn is_process_id(word: &AtomicU32, number: u32) -> bool {
    ptr::eq(word, &raw const REFUSED) && number == std::process::id()
}

/// A page of zeros that is wiped in each child; `None` if the system has none.
fn map_word() -> Option<*mut AtomicU32> {
    let access = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: a new mapping at an address of the kernel's choice replaces nothing.
    let page =
        unsafe { mmap_anonymous(ptr::null_mut(), MAPPED_BYTES, access, MapFlags::PRIVATE) }.ok()?;
    // SAFETY: the mapping was made above, and the advice changes nothing in this process.
    match unsafe { madvise(page, MAPPED_BYTES, Advice::LinuxWipeOnFork) } {
        Ok(()) => Some(page.cast()),
        Err(_) => {
            // SAFETY: nothing has seen the mapping.
            let _ = unsafe { munmap(page, MAPPED_BYTES) };
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_keeps_its_number() {
        let first = Process::current();
        assert!(first.is_current());
        assert_eq!(Process::current(), first);
        assert!(!Process(first.0 + 1).is_current());
        assert!(!Process(0).is_current());
    }

    #[test]
    fn where_the_kernel_refuses_the_process_id_decides() {
        let lineage = ProcessLineage::new();
        assert_eq!(lineage.number(|| None), std::process::id());
        assert_eq!(lineage.number(|| unreachable!("it was refused once")), std::process::id());
        assert!(lineage.is_current(std::process::id()));
        assert!(!lineage.is_current(std::process::id() + 1));
    }

    #[test]
    fn a_wiped_word_gets_another_number() {
        let lineage = ProcessLineage::new();
        let parent = lineage.number(map_word);
        lineage.word().store(0, Relaxed); // what the kernel does to a child
        assert!(!lineage.is_current(parent));
        let child = lineage.number(|| unreachable!("there is a page"));
        assert_ne!(child, parent);
        assert!(lineage.is_current(child) && !lineage.is_current(parent));
    }

    #[cfg(feature = "fork")]
    #[test]
    fn a_fork_is_another_process() {
        let parent = Process::current();
        let child = child::Child::start(|| {
            if parent.is_current() {
                return Err("the child takes itself for its parent".into());
            }
            let own = Process::current();
            if own.is_current() && !parent.is_current() { Ok(()) } else { Err(format!("{own:?}")) }
        });
        child.unwrap().wait(std::time::Duration::from_secs(20)).unwrap();
        assert!(parent.is_current());
        let stay = Process::enter().unwrap();
        let refused = || match Process::enter() {
            None => Ok(()),
            Some(_) => Err("the child of a stay has entered".into()),
        };
        let entered = || Process::enter().map(drop).ok_or_else(|| "it may enter".to_owned());
        let run = |body: fn() -> Result<(), String>| {
            child::Child::start(body).unwrap().wait(std::time::Duration::from_secs(20)).unwrap();
        };
        run(refused);
        drop(stay);
        run(entered);
    }
}
