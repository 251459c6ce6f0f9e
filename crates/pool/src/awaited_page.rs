//! The wait of a fetch stage, as a task, for a page, without admission (FETCH-PINS-4).
//!
//! [`OperationPins`](crate::OperationPins) would not do: a thread that waits to be admitted blocks
//! the tasks that it polls, and one of these might be the one that has to leave. Here no thread and
//! no task waits for room. Where there is none, the fetch stage reads its page itself.

use std::{
    sync::Arc,
    task::{Context, Poll, ready},
};

use clearway_base::{PageId, Result};

use crate::{Pool, page_waits::PageWait};

/// Room for the pin of a page that a fetch stage waits for. Given back, with the wait and the pin,
/// when it is dropped.
pub struct AwaitedPage {
    pool: Arc<Pool>,
    wait: Option<PageWait>,
    /// The page that has arrived, and is pinned.
    pinned: Option<PageId>,
}

impl AwaitedPage {
    /// Reserves room. Returns `None` if there is none.
    pub fn reserve(pool: &Arc<Pool>) -> Option<AwaitedPage> {
        let has_room = pool.fetch_pins.begin_wait();
        has_room.then(|| AwaitedPage { pool: pool.clone(), wait: None, pinned: None })
    }

    /// Has a page read in if it is absent, and keeps it in memory until the next call with another
    /// page. Waits as [`OperationPins::poll_take`](crate::OperationPins::poll_take) does.
    ///
    /// # Errors
    /// Those of [`OperationPins::poll_take`](crate::OperationPins::poll_take).
    pub fn poll(&mut self, page: PageId, cx: &mut Context<'_>) -> Poll<Result<()>> {
        if self.pinned == Some(page) {
            return Poll::Ready(Ok(()));
        }
        if self.wait.as_ref().is_none_or(|wait| wait.page != page) {
            self.clear();
        }
        ready!(self.pool.poll_pin(page, &mut self.wait, cx))?;
        self.pinned = Some(page);
        Poll::Ready(Ok(()))
    }

    /// Gives up the wait, and gives the pin back.
    fn clear(&mut self) {
        self.pool.cancel_wait(&mut self.wait);
        if let Some(page) = self.pinned.take() {
            self.pool.space.frame(page).unpin();
        }
    }
}

impl Drop for AwaitedPage {
    fn drop(&mut self) {
        self.clear();
        self.pool.fetch_pins.end_wait();
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use std::task::Waker;

    use clearway_base::PAGE_SIZE;
    use clearway_disk::MemoryDisk;

    use super::*;
    use crate::{FetchedPages, PoolOptions, fetch_pins::SHARE_OF_CACHE, wal::DurableLog};

    const CAPACITY: usize = 64;
    const MAX: usize = CAPACITY / SHARE_OF_CACHE;
    /// Waits that have room at the same time.
    const WAITS: usize = MAX * 3 / 4;

    fn small_pool() -> Arc<Pool> {
        let options = PoolOptions {
            cache_bytes: (CAPACITY * PAGE_SIZE) as u64,
            background_cleaner: false,
            ..PoolOptions::default()
        };
        Pool::open(&MemoryDisk::new(), Arc::new(DurableLog), options).unwrap()
    }

    /// Polls; the disk reads at once.
    fn read(awaited: &mut AwaitedPage, page: u32) {
        let polled = awaited.poll(PageId(page), &mut Context::from_waker(Waker::noop()));
        assert!(matches!(polled, Poll::Ready(Ok(()))));
    }

    #[test]
    fn page_that_has_arrived_stays_until_another_is_awaited_or_the_wait_is_dropped() {
        let pool = small_pool();
        let mut awaited = AwaitedPage::reserve(&pool).unwrap();
        for page in [2, 2, 3] {
            read(&mut awaited, page);
            (100..300).for_each(|other| drop(pool.shared(PageId(other)).unwrap()));
            assert!(pool.try_resident(PageId(page)), "{page}");
            assert_eq!(pool.held_pages(), 1);
        }
        drop(awaited);
        assert_eq!(pool.held_pages(), 0);
    }

    #[test]
    fn waits_have_room_while_a_quarter_of_all_is_free_and_give_it_back() {
        let pool = small_pool();
        for _ in 0..2 {
            let mut waits: Vec<_> = std::iter::from_fn(|| AwaitedPage::reserve(&pool)).collect();
            assert_eq!(waits.len(), WAITS);
            waits.pop();
            assert!(AwaitedPage::reserve(&pool).is_some());
        }
        let mut fetched = FetchedPages::new(&pool);
        for page in 2..2 + WAITS as u32 {
            assert!(AwaitedPage::reserve(&pool).is_some());
            drop(pool.shared(PageId(page)).unwrap());
            assert!(fetched.keep(PageId(page)));
        }
        assert!(AwaitedPage::reserve(&pool).is_none(), "the room of pins is taken, too");
    }

    #[test]
    fn waits_leave_less_room_for_pins() {
        let pool = small_pool();
        let _waits: Vec<_> = (0..WAITS).map(|_| AwaitedPage::reserve(&pool).unwrap()).collect();
        let mut fetched = FetchedPages::new(&pool);
        for page in 0..=(MAX - WAITS) as u32 {
            assert!(fetched.is_whole());
            drop(pool.shared(PageId(2 + page)).unwrap());
            assert!(fetched.keep(PageId(2 + page)));
        }
        assert!(!fetched.is_whole(), "FETCH-PINS-1");
        assert_eq!(pool.held_pages(), 0);
    }
}
