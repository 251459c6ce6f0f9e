//! Many tasks, run by two threads, beside threads that block.

use std::{
    pin::Pin,
    sync::{atomic::AtomicBool, mpsc},
};

use clearway_sync::Mutex;
use clearway_testkit::Random;

use super::*;

type JobFuture = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A task, which is in the channel while it is `queued`.
struct Job {
    future: Mutex<Option<JobFuture>>,
    ready: mpsc::Sender<Arc<Job>>,
    is_queued: AtomicBool,
}

impl Wake for Job {
    fn wake(self: Arc<Self>) {
        if !self.is_queued.swap(true, Ordering::SeqCst) {
            let _ = self.ready.send(self.clone());
        }
    }
}

impl Job {
    /// Polls the future once, or drops it. Returns true when it has ended.
    fn run(self: Arc<Job>, is_dropped: bool) -> bool {
        self.is_queued.store(false, Ordering::SeqCst);
        let waker = Waker::from(self.clone());
        let mut future = self.future.lock();
        let Some(running) = future.as_mut() else { return false };
        let _inside = step::Inside::begin();
        let mut cx = Context::from_waker(&waker);
        if !is_dropped && running.as_mut().poll(&mut cx).is_pending() {
            return false;
        }
        *future = None;
        true
    }
}

/// Takes a few pages, as an operation does, and waits for a lock now and then.
async fn operation(pool: Arc<Pool>, mut random: Random, failures: Arc<AtomicU32>) {
    let mut pins = OperationPins::new(&pool);
    for _ in 0..8 {
        let page = PageId(random.below(u64::from(PAGES)) as u32);
        match std::future::poll_fn(|cx| pins.poll_take(page, cx)).await {
            Ok(()) => assert!(pool.space.frame(page).is_pinned()),
            Err(_) => {
                failures.fetch_add(1, Ordering::SeqCst);
            }
        }
        if random.below(8) == 0 {
            pins.clear();
        }
    }
}

/// Runs tasks, some of which are dropped after a wake-up.
fn work(jobs: &Mutex<mpsc::Receiver<Arc<Job>>>, left: &AtomicU32, seed: u64) {
    let mut random = Random::new(seed);
    while left.load(Ordering::SeqCst) > 0 {
        let next = jobs.lock().recv_timeout(Duration::from_millis(1));
        if next.is_ok_and(|job| job.run(random.below(100) == 0)) {
            left.fetch_sub(1, Ordering::SeqCst);
        }
    }
}

/// Completes reads late, in any order, and some with errors.
fn complete_reads(scene: &Scene, is_over: &AtomicBool, seed: u64) {
    let mut random = Random::new(seed);
    while !is_over.load(Ordering::SeqCst) {
        let is_completed = match random.below(50) {
            0 => scene.reads.fail_one(ErrorKind::Other),
            1 => false,
            _ => scene.reads.complete_one(),
        };
        if !is_completed {
            thread::sleep(Duration::from_micros(20));
        }
    }
    scene.reads.complete_all();
}

/// Takes pages as the tasks do, changes others, and reads ahead.
fn block_among(scene: &Scene, left: &AtomicU32, seed: u64) {
    let mut random = Random::new(seed);
    while left.load(Ordering::SeqCst) > 0 {
        let mut page = || PageId(random.below(u64::from(PAGES)) as u32);
        let mut pins = OperationPins::new(&scene.pool);
        let _ = pins.take(page(), Duration::MAX);
        let _ = pins.take(page(), Duration::MAX);
        drop(pins);
        if let Ok(mut page) = scene.pool.exclusive(page()) {
            let end = Lsn(page.page_lsn().0 + 1);
            page.begin_change();
            page.finish_change(end);
        }
        let first = page();
        scene.pool.load_ahead(&[first, PageId(first.0 + 1)]);
    }
}

#[test]
fn a_thousand_tasks_share_a_cache_of_64_pages() {
    for seed in 1..=3 {
        let scene = Scene::with(seed, true);
        let (ready, jobs) = mpsc::channel();
        let (jobs, left) = (Mutex::new(jobs), AtomicU32::new(1024));
        let failures = Arc::new(AtomicU32::new(0));
        for number in 0..1024 {
            let random = Random::new(seed * 10_000 + number);
            let future = Box::pin(operation(scene.pool.clone(), random, failures.clone()));
            let (future, ready) = (Mutex::new(Some(future as JobFuture)), ready.clone());
            Arc::new(Job { future, ready, is_queued: AtomicBool::new(false) }).wake();
        }
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| complete_reads(&scene, &is_over, seed));
            thread::scope(|scope| {
                scope.spawn(|| block_among(&scene, &left, seed));
                scope.spawn(|| work(&jobs, &left, seed * 10 + 1));
                scope.spawn(|| work(&jobs, &left, seed * 10 + 2));
            });
            // The thread that loads ahead may submit reads until the pool is closed.
            let closed = scene.pool.close();
            is_over.store(true, Ordering::SeqCst);
            closed.unwrap();
        });
        assert!(failures.load(Ordering::SeqCst) > 0, "some reads fail");
        scene.assert_at_rest();
        assert!(scene.pool.resident_bytes() <= 72 * PAGE_SIZE as u64);
    }
}
