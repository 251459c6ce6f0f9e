//! Work on several items at a time, such as the functions of a file.

use std::{
    iter,
    panic::resume_unwind,
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

/// The stack of a thread: statements and expressions may be deep.
const STACK: usize = 64 << 20;

/// Returns the results of `work` for all items, in their order. Twice as many threads work as there
/// are processors: some may wait for the one that reads files.
pub(crate) fn map<T: Sync, R: Send>(items: &[T], work: &(dyn Fn(&T) -> R + Sync)) -> Vec<R> {
    let threads = thread::available_parallelism().map_or(1, |one| 2 * one.get()).min(items.len());
    let next = AtomicUsize::new(0);
    let take = || {
        let places = iter::repeat_with(|| next.fetch_add(1, Ordering::Relaxed));
        let places = places.take_while(|&place| place < items.len());
        places.map(|place| (place, work(&items[place]))).collect::<Vec<_>>()
    };
    let mut results: Vec<(usize, R)> = thread::scope(|scope| {
        let start = || thread::Builder::new().stack_size(STACK).spawn_scoped(scope, take);
        // Without the others this thread does all.
        let others: Vec<_> = (1..threads).filter_map(|_| start().ok()).collect();
        let mut results = take();
        for other in others {
            results.extend(other.join().unwrap_or_else(|panic| resume_unwind(panic)));
        }
        results
    });
    results.sort_by_key(|&(place, _)| place);
    results.into_iter().map(|(_, result)| result).collect()
}
