//! One task, or two, in each state of a wait.

use clearway_disk::IoPriority;

use super::*;

#[test]
fn task_that_is_polled_late_finds_its_page_pinned() {
    let scene = Scene::new();
    let mut task = scene.task();
    assert!(task.is_pending(3) && task.is_pending(3));
    assert_eq!((scene.reads.count(), task.woken()), (1, 0));
    scene.reads.complete_one();
    assert_eq!(task.woken(), 1);
    scene.evict_others();
    assert!(scene.frame(3).is_pinned());
    assert!(task.is_taken(3) && task.is_taken(3));
    assert_eq!((scene.pool.stats().queued_reads, task.woken()), (1, 1));
    drop(task);
    scene.assert_at_rest();
}

#[test]
fn task_that_moves_is_woken_by_its_last_waker() {
    let scene = Scene::new();
    let mut task = scene.task();
    assert!(task.is_pending(3));
    let former = std::mem::take(&mut task.woken);
    assert!(task.is_pending(3));
    scene.reads.complete_one();
    assert_eq!((former.0.load(Ordering::SeqCst), task.woken()), (0, 1));
    assert!(task.is_taken(3));
}

#[test]
fn task_that_is_dropped_while_its_page_is_loading_leaves_it_unpinned() {
    let scene = Scene::new();
    let mut task = scene.task();
    assert!(task.is_pending(3));
    drop(task);
    assert_eq!(scene.pool.page_waits.counts(), (0, 0));
    scene.reads.complete_one();
    assert!(scene.pool.try_resident(PageId(3)));
    scene.assert_at_rest();
}

#[test]
fn task_that_is_dropped_after_it_was_woken_gives_the_pin_back() {
    let scene = Scene::new();
    for clears in [false, true] {
        let mut task = scene.task();
        assert!(task.is_pending(3));
        scene.reads.complete_one();
        assert!(scene.frame(3).is_pinned());
        if clears {
            task.pins.clear();
            scene.assert_at_rest();
        }
        drop(task);
        scene.assert_at_rest();
        scene.evict_others();
        assert!(!scene.pool.try_resident(PageId(3)));
    }
}

#[test]
fn task_that_is_dropped_after_a_failure_leaves_nothing() {
    let scene = Scene::new();
    let mut task = scene.task();
    assert!(task.is_pending(3));
    scene.reads.fail_one(ErrorKind::Other);
    assert_eq!((task.woken(), scene.pool.page_waits.counts()), (1, (0, 1)));
    drop(task);
    scene.assert_at_rest();
}

#[test]
fn task_that_polls_for_another_page_gives_up_the_first() {
    let scene = Scene::new();
    let mut task = scene.task();
    assert!(task.is_pending(3) && task.is_pending(4));
    assert_eq!((scene.reads.count(), scene.pool.page_waits.counts()), (2, (1, 0)));
    scene.reads.complete_all();
    assert_eq!(task.woken(), 1);
    assert!(task.is_taken(4));
    assert_eq!(scene.pool.held_pages(), 1);
    // So does a blocking call.
    assert!(task.is_pending(5));
    task.pins.take(PageId(6), Duration::MAX).unwrap();
    scene.reads.complete_all();
    drop(task);
    scene.assert_at_rest();
}

#[test]
fn task_keeps_the_pages_that_it_needed_last() {
    let scene = Scene::new();
    let mut task = scene.task();
    for page in 1..=10 {
        assert!(task.is_pending(page));
        scene.reads.complete_one();
        assert!(task.is_taken(page));
    }
    assert_eq!(scene.pool.held_pages(), 6);
    assert!((5..=10).all(|page| scene.frame(page).is_pinned()));
    drop(task);
    scene.assert_at_rest();
}

#[test]
fn two_tasks_for_one_page_cause_one_read() {
    let scene = Scene::new();
    let (mut first, mut second) = (scene.task(), scene.task());
    assert!(first.is_pending(3) && second.is_pending(3));
    assert_eq!(scene.reads.count(), 1);
    scene.reads.complete_one();
    assert_eq!((first.woken(), second.woken()), (1, 1));
    drop(first);
    assert!(scene.frame(3).is_pinned());
    assert!(second.is_taken(3));
    drop(second);
    scene.assert_at_rest();
}

#[test]
fn all_that_wait_for_a_failed_read_get_its_error_and_the_next_reads_again() {
    let scene = Scene::new();
    let (mut first, mut second) = (scene.task(), scene.task());
    assert!(first.is_pending(3) && second.is_pending(3));
    scene.reads.fail_one(ErrorKind::Other);
    for task in [&mut first, &mut second] {
        assert_eq!(task.woken(), 1);
        assert!(matches!(task.error(3), Some(Error::Io { .. })));
    }
    assert_eq!((scene.reads.count(), scene.pool.resident_bytes()), (0, 0));
    // The failure has not ended the operation's admission.
    assert!(first.is_pending(3));
    scene.reads.complete_one();
    assert!(first.is_taken(3) && second.is_taken(3));
    drop((first, second));
    scene.assert_at_rest();
}

/// A task that is polled late gets the error although the page has arrived since.
#[test]
fn read_fails_for_one_task_and_succeeds_for_the_next() {
    let scene = Scene::new();
    let (mut first, mut second) = (scene.task(), scene.task());
    assert!(first.is_pending(3));
    scene.reads.fail_one(ErrorKind::Other);
    assert!(second.is_pending(3));
    scene.reads.complete_one();
    assert!(matches!(first.error(3), Some(Error::Io { .. })));
    assert!(second.is_taken(3) && first.is_taken(3));
}

#[test]
fn damaged_page_and_page_that_cannot_exist_are_errors() {
    let scene = Scene::new();
    scene.damage(3);
    let mut task = scene.task();
    assert!(task.is_pending(3));
    scene.reads.complete_one();
    assert!(matches!(task.error(3), Some(Error::CorruptPage { page: PageId(3), .. })));
    assert!(matches!(task.error(u32::MAX), Some(Error::CorruptPage { .. })));
    // Beyond the end of the file, but not of the address space: zeros, as for a thread.
    assert!(task.is_pending(PAGES + 500));
    scene.reads.complete_one();
    assert!(task.is_taken(PAGES + 500));
    drop(task);
    scene.assert_at_rest();
}

#[test]
fn operation_that_takes_too_many_pages_fails() {
    let scene = Scene::new();
    let mut task = scene.task();
    task.pins.take(PageId(1), Duration::MAX).unwrap();
    let most = 1000 + 256 * u64::from(scene.pool.page_count());
    (1..most).for_each(|_| assert!(task.is_taken(1)));
    task.pins.clear();
    assert!(matches!(task.error(1), Some(Error::CorruptPage { .. })));
}

#[test]
fn task_waits_for_a_page_of_a_load() {
    for fails in [true, false] {
        let scene = Scene::new();
        let pages: Vec<PageId> = (3..9).map(PageId).collect();
        let mut task = scene.task();
        thread::scope(|scope| {
            scope.spawn(|| scene.pool.load(&pages, IoPriority::Foreground, Duration::MAX));
            scene.reads.wait_for(1);
            assert!(task.is_pending(5));
            assert_eq!((scene.reads.count(), task.woken()), (1, 0));
            if fails {
                // Another page of the run may be the one that fails: the task reads its own alone.
                scene.reads.fail_one(ErrorKind::Other);
                assert_eq!(task.woken(), 1);
                assert!(task.is_pending(5));
            }
            scene.reads.complete_one();
        });
        assert!(task.is_taken(5));
        drop(task);
        scene.assert_at_rest();
    }
}

/// A thread waits for a request that a task has submitted.
#[test]
fn thread_waits_for_a_page_that_a_task_reads() {
    let scene = Scene::new();
    let mut task = scene.task();
    assert!(task.is_pending(3));
    thread::scope(|scope| {
        let thread = scope.spawn(|| OperationPins::new(&scene.pool).take(PageId(3), Duration::MAX));
        while scene.pool.page_waits.counts().0 < 2 {
            thread::sleep(Duration::from_millis(1));
        }
        scene.reads.complete_one();
        thread.join().unwrap().unwrap();
    });
    assert!(task.is_taken(3));
    assert_eq!(scene.pool.stats().reads, 1);
}

/// A task waits for a read of a thread, in each form of the miss.
#[test]
fn task_waits_for_a_page_that_a_thread_reads() {
    type Miss = fn(&Pool, PageId) -> Result<()>;
    let misses: [Miss; 4] = [
        |pool, page| pool.optimistic(page).map(drop),
        |pool, page| pool.shared(page).map(drop),
        |pool, page| pool.exclusive(page).map(drop),
        |pool, page| pool.try_exclusive(page).map(|page| assert!(page.is_some())),
    ];
    let scene = Scene::new();
    for (page, miss) in (10..).zip(misses) {
        let mut task = scene.task();
        // As a thread does until it has read the page.
        assert!(scene.frame(page).latch.try_exclusive_absent());
        assert!(task.is_pending(page));
        assert_eq!((scene.reads.count(), task.woken()), (0, 0));
        scene.frame(page).latch.release_absent();
        miss(&scene.pool, PageId(page)).unwrap();
        assert_eq!(task.woken(), 1);
        assert!(task.is_taken(page));
    }
    scene.assert_at_rest();
}

#[test]
fn failed_read_of_a_thread_fails_the_task_that_waits_for_it() {
    let scene = Scene::new();
    scene.damage(3);
    let mut task = scene.task();
    assert!(scene.frame(3).latch.try_exclusive_absent());
    assert!(task.is_pending(3));
    scene.frame(3).latch.release_absent();
    assert!(scene.pool.shared(PageId(3)).is_err());
    assert_eq!(task.woken(), 1);
    assert!(matches!(task.error(3), Some(Error::CorruptPage { .. })));
    drop(task);
    scene.assert_at_rest();
}

/// Two operations of six pins fit in a quarter of 64 pages.
#[test]
fn queued_task_is_admitted_when_another_ends_or_is_cleared() {
    let scene = Scene::new();
    let mut tasks: Vec<Task> = (0..5).map(|_| scene.task()).collect();
    assert!(tasks.iter_mut().all(|task| task.is_pending(3)));
    assert_eq!(scene.pool.pinned_operations.tasks.counts(), (2, 3));
    scene.reads.complete_one();
    assert!(tasks[0].is_taken(3) && tasks[1].is_taken(3) && tasks[2].is_pending(3));
    tasks[0].pins.clear();
    assert_eq!(tasks[2].woken(), 1);
    // The second of the queue is dropped in it, the first after it was woken.
    drop(tasks.remove(3));
    assert_eq!(tasks[3].woken(), 0);
    drop(tasks.remove(2));
    assert_eq!(tasks[2].woken(), 1);
    assert!(tasks[2].is_taken(3));
    // The one that was cleared comes back, at the end of the queue.
    assert!(tasks[0].is_pending(3));
    drop(tasks.remove(1));
    assert!(tasks[0].is_taken(3));
    drop(tasks);
    scene.assert_at_rest();
}

#[test]
fn loader_makes_room_among_dirty_pages() {
    let scene = Scene::new();
    scene.fill_with_dirty_pages();
    // Not by the cleaner, which may be faster.
    let pins: Vec<_> = (164..172).map(|page| scene.pool.pin(PageId(page)).unwrap()).collect();
    let mut task = scene.task();
    assert!(task.is_pending(3));
    drop(pins);
    scene.reads.wait_for(1);
    scene.reads.complete_one();
    task.wait_until_woken(1);
    assert!(task.is_taken(3));
    drop(task);
    scene.pool.close().unwrap();
    scene.assert_at_rest();
}

#[test]
fn without_background_threads_the_task_makes_room_itself() {
    let scene = Scene::with(1, false);
    scene.fill_with_dirty_pages();
    let mut pins = OperationPins::new(&scene.pool);
    let mut cx = Context::from_waker(Waker::noop());
    assert!(pins.poll_take(PageId(3), &mut cx).is_pending());
    assert!(scene.pool.stats().foreground_batches > 0);
    scene.reads.complete_one();
    assert!(pins.poll_take(PageId(3), &mut cx).is_ready());
}

#[test]
fn task_gets_the_error_of_the_loader() {
    let scene = Scene::new();
    let pins: Vec<_> = (100..200).map_while(|page| scene.pool.pin(PageId(page)).ok()).collect();
    assert_eq!(pins.len(), 72, "the cache and its reserve");
    let mut task = scene.task();
    assert!(task.is_pending(3));
    task.wait_until_woken(1);
    assert!(matches!(task.error(3), Some(Error::BadOption { .. })));
    drop(pins);
    assert!(task.is_pending(3));
    scene.reads.wait_for(1);
    scene.reads.complete_one();
    task.wait_until_woken(2);
    assert!(task.is_taken(3));
}

#[test]
fn loader_does_not_read_for_tasks_that_are_gone() {
    let scene = Scene::new();
    let pins: Vec<_> = (100..164).map(|page| scene.pool.pin(PageId(page)).unwrap()).collect();
    // What is left is the reserve.
    let more: Vec<_> = (164..172).map(|page| scene.pool.pin(PageId(page)).unwrap()).collect();
    let (mut first, mut second) = (scene.task(), scene.task());
    assert!(first.is_pending(3) && second.is_pending(4));
    drop((second, pins, more));
    scene.reads.wait_for(1);
    scene.reads.complete_all();
    first.wait_until_woken(1);
    assert!(first.is_taken(3));
    scene.pool.close().unwrap();
    assert!(!scene.pool.try_resident(PageId(4)));
}

#[test]
fn close_fails_the_tasks_that_wait() {
    let scene = Scene::new();
    let mut tasks: Vec<Task> = (0..4).map(|_| scene.task()).collect();
    // The first one's read is in flight; that of the second one belongs to a thread.
    assert!(scene.frame(4).latch.try_exclusive_absent());
    assert!(tasks[0].is_pending(3) && tasks[1].is_pending(4));
    assert!(tasks[2].is_pending(3) && tasks[3].is_pending(3));
    thread::scope(|scope| {
        let closing = scope.spawn(|| scene.pool.close());
        thread::sleep(Duration::from_millis(20));
        assert!(!closing.is_finished());
        scene.reads.complete_all();
        closing.join().unwrap().unwrap();
    });
    assert!(tasks.iter().all(|task| task.woken() == 1));
    assert!(tasks[0].is_taken(3));
    assert!(tasks[1..].iter_mut().all(|task| matches!(task.error(4), Some(Error::Closed))));
    // What is in memory can still be taken, and threads still read.
    assert!(tasks[1].is_taken(3) && matches!(tasks[1].error(5), Some(Error::Closed)));
    scene.frame(4).latch.release_absent();
    tasks[1].pins.take(PageId(5), Duration::MAX).unwrap();
    drop(tasks);
    scene.assert_at_rest();
}

/// The completion holds the last reference to the pool.
#[test]
fn pool_is_dropped_by_the_completion() {
    let Scene { pool, reads, .. } = Scene::new();
    let mut task = Task { pins: OperationPins::new(&pool), woken: Arc::default() };
    assert!(task.is_pending(3));
    let weak = Arc::downgrade(&pool);
    drop((task, pool));
    assert!(weak.upgrade().is_some());
    assert!(reads.complete_one());
    assert!(weak.upgrade().is_none());
}

#[test]
fn load_ahead_waits_for_nothing_and_leaves_out_what_has_no_room() {
    // Without a loader: the calling thread begins the reads.
    let scene = Scene::with(1, false);
    let pages: Vec<PageId> = (0..40).map(PageId).collect();
    let inside = step::Inside::begin();
    scene.pool.load_ahead(&pages[..8]);
    scene.pool.load_ahead(&[PageId(PAGES + 1000), PageId(u32::MAX)]);
    assert_eq!((scene.reads.count(), scene.pool.stats().reads), (1, 8));
    // At most 16 pages are read ahead at a time.
    scene.pool.load_ahead(&pages[8..16]);
    scene.pool.load_ahead(&pages[16..]);
    assert_eq!(scene.pool.stats().reads, 16);
    let mut task = scene.task();
    assert!(task.is_pending(3));
    drop(inside);
    scene.reads.complete_all();
    assert!(task.is_taken(3));
    drop(task);
    scene.assert_at_rest();
    let _pins: Vec<_> = (100..172).map(|page| scene.pool.pin(PageId(page)).unwrap()).collect();
    let _inside = step::Inside::begin();
    scene.pool.load_ahead(&pages[30..]);
    assert_eq!((scene.reads.count(), scene.pool.stats().queued_reads), (0, 2));
}

/// Each poll finds its page.
#[test]
fn disk_without_waits_is_read_by_the_poll() {
    let options = PoolOptions { cache_bytes: 64 * PAGE_SIZE as u64, ..PoolOptions::default() };
    let pool = Pool::open(&MemoryDisk::new(), Arc::new(DurableLog), options).unwrap();
    let mut pins = OperationPins::new(&pool);
    let mut cx = Context::from_waker(Waker::noop());
    assert!((0..200).all(|page| pins.poll_take(PageId(page), &mut cx).is_ready()));
    drop(pins);
    assert_eq!(pool.held_pages(), 0);
}

/// A read that never ends: who waits for its page gives up after a limit, other pages can be used,
/// and the close reports the page.
#[test]
fn read_that_never_ends_is_waited_for_no_longer_than_the_limit() {
    let scene = Scene::new();
    let mut task = scene.task();
    assert!(task.is_pending(3));
    let limit = Duration::from_millis(50);
    let mut thread = OperationPins::new(&scene.pool);
    let late = thread.take(PageId(3), limit).unwrap_err();
    assert_eq!(
        late.to_string(),
        Error::ReadTimeout { page: PageId(3), waited_us: 50_000 }.to_string()
    );
    // As for a thread that found the page absent, just before its read began.
    assert!(scene.pool.pin_unless_loading(PageId(3)).unwrap().is_none());
    assert!(scene.pool.pin_unless_loading(PageId(5)).unwrap().is_some());
    thread.take(PageId(4), limit).unwrap();
    let began = std::time::Instant::now();
    scene.pool.load(&[PageId(3), PageId(9)], IoPriority::Foreground, limit);
    assert!(began.elapsed() >= limit, "page 9 is held as well");
    assert!(task.is_pending(3), "the other's limit is not its own");
    let error = task.pins.time_out(PageId(3), limit);
    assert!(matches!(error, Error::ReadTimeout { page: PageId(3), .. }));
    drop((task, thread));
    let closed = scene.pool.close();
    let Err(Error::ReadTimeout { page, .. }) = closed else { panic!("{closed:?}") };
    assert!([3, 9].map(PageId).contains(&page));
    // The device may write to the pages until the reads end.
    scene.reads.complete_all();
    scene.pool.close().unwrap();
    scene.assert_at_rest();
}
