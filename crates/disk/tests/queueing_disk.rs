//! The disk whose reads wait for servers: its I/O queue, alone and together with threads that read.

use std::{
    ptr::NonNull,
    sync::{Arc, mpsc},
    thread,
    time::{Duration, Instant},
};

use clearway_base::Result;
use clearway_disk::{
    AlignedBuf, Disk, File, IoCompletion, IoPriority, IoQueue, IoQueueOptions, IoRequest,
    MemoryDisk, OpenMode,
};
use clearway_sync::{Condvar, Mutex};
use clearway_testkit::disk::{Event, Faults, FaultyDisk, Operation, QueueingDisk, ReadServers};

use IoPriority::{Foreground, ReadAhead};

const SERVICE: Duration = Duration::from_millis(20);
const SHORT: Duration = Duration::from_millis(1);
const PAGE: usize = 4096;
const PAGES: u64 = 16;
/// The page whose read ends when the test opens the gate.
const GATE: u64 = PAGES - 1;

/// The first page of a request, its result and its memory.
type Done = (u64, Result<usize>, AlignedBuf);

/// A data file of which page `n` consists of bytes `n`, on a disk that records the reads which
/// servers perform.
struct Scene {
    servers: ReadServers,
    disk: QueueingDisk<FaultyDisk<MemoryDisk>>,
    file: Arc<dyn File>,
    performed: Arc<Performed>,
    done: mpsc::Sender<Done>,
    completions: mpsc::Receiver<Done>,
}

#[derive(Default)]
struct Performed {
    state: Mutex<(Vec<u64>, IsOpen)>,
    changed: Condvar,
}

type IsOpen = bool;

impl Performed {
    fn record(&self, event: &Event<'_>) {
        if event.operation != Operation::Read {
            return;
        }
        let (page, mut state) = (event.offset / PAGE as u64, self.state.lock());
        state.0.push(page);
        self.changed.notify_all();
        while page == GATE && !state.1 {
            self.changed.wait(&mut state);
        }
    }

    fn pages(&self) -> Vec<u64> {
        self.state.lock().0.clone()
    }
}

/// Reads a page in the calling thread.
fn read(file: &dyn File, page: u64) {
    let mut bytes = [0xEE; PAGE];
    assert_eq!(file.read_at(&mut bytes, page * PAGE as u64).unwrap(), PAGE);
    assert_eq!(bytes, [page as u8; PAGE]);
}

impl Scene {
    /// The delay is on.
    fn new(servers: usize, delay: Duration) -> Scene {
        let (faults, performed) = (Faults::new(), Arc::<Performed>::default());
        let recorder = performed.clone();
        faults.watch(move |event| {
            recorder.record(event);
            None
        });
        let servers = ReadServers::new(servers, delay);
        let disk = QueueingDisk::new(FaultyDisk::new(MemoryDisk::new(), faults), servers.clone());
        let file = disk.open("data", OpenMode::Create).unwrap();
        for page in 0..PAGES {
            file.write_at(&[page as u8; PAGE], page * PAGE as u64).unwrap();
        }
        servers.set_on(true);
        let (done, completions) = mpsc::channel();
        Scene { servers, disk, file, performed, done, completions }
    }

    fn queue(&self) -> Box<dyn IoQueue> {
        self.disk.io_queue(&*self.file, &IoQueueOptions::default()).unwrap()
    }

    /// A request to read `pages` pages from `first` on.
    fn request(&self, first: u64, pages: usize, priority: IoPriority) -> IoRequest {
        let done = self.done.clone();
        self.request_then(first, pages, priority, move |completed| done.send(completed).unwrap())
    }

    fn request_then(
        &self,
        first: u64,
        pages: usize,
        priority: IoPriority,
        then: impl FnOnce(Done) + Send + 'static,
    ) -> IoRequest {
        let mut memory = AlignedBuf::new(pages * PAGE);
        let place = NonNull::from(&mut memory[..]);
        let completion: IoCompletion = Box::new(move |result| {
            then((first, result, memory));
        });
        let at = first * PAGE as u64;
        // SAFETY: the completion owns the memory, whose heap address does not change, and nothing
        // accesses it before the completion is called (IO-REQUEST-1).
        unsafe { IoRequest::read(self.file.clone(), at, place, priority, completion) }
    }

    /// Requests of one page each.
    fn requests(&self, pages: impl IntoIterator<Item = u64>) -> Vec<IoRequest> {
        pages.into_iter().map(|page| self.request(page, 1, Foreground)).collect()
    }

    /// Waits for `count` completions, checks what was read, and returns the first pages.
    fn completed(&self, count: usize) -> Vec<u64> {
        let check = |(first, result, memory): Done| {
            assert_eq!(result.unwrap(), memory.len());
            for (page, bytes) in (first..).zip(memory.chunks(PAGE)) {
                assert_eq!(*bytes, [page as u8; PAGE]);
            }
            first
        };
        (0..count).map(|_| check(self.completions.recv().unwrap())).collect()
    }

    /// Runs `body` while a thread that reads has the only server, then opens the gate.
    fn while_busy(&self, body: impl FnOnce()) {
        thread::scope(|scope| {
            let file = &*self.file;
            scope.spawn(move || read(file, GATE));
            let mut state = self.performed.state.lock();
            while state.0.is_empty() {
                self.performed.changed.wait(&mut state);
            }
            drop(state);
            body();
            self.open_gate();
        });
    }

    fn open_gate(&self) {
        self.performed.state.lock().1 = true;
        self.performed.changed.notify_all();
    }

    /// Returns once `count` reads wait for the busy server, or were performed nevertheless.
    fn wait_for_waiting(&self, count: usize) {
        let performed = || self.performed.pages().len() - 1; // without the one at the gate
        while self.servers.waiting() + performed() < count {
            thread::yield_now();
        }
    }
}

#[test]
fn six_requests_on_two_servers_take_three_service_times() {
    let scene = Scene::new(2, SERVICE);
    let (queue, start) = (scene.queue(), Instant::now());
    queue.submit(scene.requests(0..6));
    scene.completed(6);
    assert!(start.elapsed() >= 3 * SERVICE);
    let stats = scene.servers.stats();
    assert_eq!(stats.served, 6);
    assert!(stats.busy >= 6 * SERVICE);
    // Two reads each respond after one, two and three service times.
    assert!(stats.response_mean >= 2 * SERVICE);
    let (reads, in_flight_max) = (queue.stats().reads, queue.stats().reads_in_flight_max);
    assert!(reads == 6 && (1..=2).contains(&in_flight_max));
}

#[test]
fn requests_and_threads_share_the_servers() {
    let scene = Scene::new(2, SERVICE);
    let (queue, start) = (scene.queue(), Instant::now());
    thread::scope(|scope| {
        for page in 0..3 {
            let file = &*scene.file;
            scope.spawn(move || read(file, page));
        }
        queue.submit(scene.requests(3..6));
        scene.completed(3);
    });
    assert!(start.elapsed() >= 3 * SERVICE);
    let stats = scene.servers.stats();
    assert_eq!(stats.served, 6);
    assert!(stats.busy >= 6 * SERVICE);
}

#[test]
fn services_begin_in_the_order_of_arrival_and_those_of_read_ahead_last() {
    let scene = Scene::new(1, SHORT);
    let (queue, other_queue) = (scene.queue(), scene.queue());
    thread::scope(|threads| {
        scene.while_busy(|| {
            queue.submit(vec![scene.request(7, 1, ReadAhead), scene.request(0, 1, Foreground)]);
            let file = &*scene.file;
            threads.spawn(move || read(file, 1));
            scene.wait_for_waiting(3);
            other_queue.submit(vec![scene.request(8, 1, ReadAhead)]);
            other_queue.submit(scene.requests([2, 3]));
            threads.spawn(move || read(file, 4));
            scene.wait_for_waiting(7);
            queue.submit(scene.requests([5, 6]));
        });
        scene.completed(7);
    });
    assert_eq!(scene.performed.pages(), [GATE, 0, 1, 2, 3, 4, 5, 6, 7, 8]);
}

#[test]
fn adjacent_pages_are_one_read() {
    let scene = Scene::new(1, SHORT);
    let queue = scene.queue();
    queue.submit(vec![scene.request(2, 5, ReadAhead)]);
    assert_eq!(scene.completed(1), [2]);
    assert_eq!(scene.servers.stats().served, 1);
}

#[test]
fn wait_idle_ends_at_its_limit_or_with_the_last_completion() {
    let scene = Scene::new(1, SHORT);
    let queue = scene.queue();
    assert!(queue.wait_idle(Some(Instant::now())));
    let mut is_idle = true;
    scene.while_busy(|| {
        queue.submit(scene.requests(0..4));
        is_idle = queue.wait_idle(Some(Instant::now() + SHORT));
    });
    assert!(!is_idle);
    assert!(queue.wait_idle(None));
    assert_eq!(scene.completions.try_iter().count(), 4);
}

#[test]
fn the_drop_of_a_queue_returns_after_the_last_completion() {
    for servers in [1, 3] {
        let scene = Scene::new(servers, SHORT);
        let queue = scene.queue();
        queue.submit(scene.requests(0..10));
        drop(queue);
        assert_eq!(scene.completions.try_iter().count(), 10);
    }
}

#[test]
fn requests_that_wait_for_a_thread_that_reads_complete_before_the_drop_returns() {
    let scene = Scene::new(1, SHORT);
    let queue = scene.queue();
    thread::scope(|threads| {
        scene.while_busy(|| {
            queue.submit(scene.requests(0..3));
            threads.spawn(|| drop(queue));
            // The drop should begin before the gate is opened; the result must be the same if not.
            thread::sleep(5 * SHORT);
        });
    });
    assert_eq!(scene.completed(3), [0, 1, 2]);
}

#[test]
fn a_completion_may_drop_the_queue() {
    let scene = Scene::new(2, SHORT);
    let dropped = Arc::new(Mutex::new(None));
    let (queue, done) = (dropped.clone(), scene.done.clone());
    let drops = scene.request_then(0, 1, Foreground, move |completed| {
        drop(queue.lock().take());
        done.send(completed).unwrap();
    });
    let mut requests = vec![drops];
    requests.extend(scene.requests(1..6));
    // The completion waits for the mutex until the queue is there.
    let mut place = dropped.lock();
    let queue = scene.queue();
    queue.submit(requests);
    *place = Some(queue);
    drop(place);
    let mut pages = scene.completed(6);
    pages.sort_unstable();
    assert_eq!(pages, [0, 1, 2, 3, 4, 5]);
    assert!(dropped.lock().is_none());
}

#[test]
fn requests_without_delay_and_writes_go_to_the_inner_queue() {
    let scene = Scene::new(1, SERVICE);
    let queue = scene.queue();
    let mut bytes = AlignedBuf::new(PAGE);
    bytes.fill(9);
    let (place, done) = (NonNull::from(&mut bytes[..]), scene.done.clone());
    let completion: IoCompletion = Box::new(move |result| {
        done.send((9, result, bytes)).unwrap();
    });
    // SAFETY: as in `request_then`.
    let write = unsafe { IoRequest::write(scene.file.clone(), 9 * PAGE as u64, place, completion) };
    queue.submit(vec![write]);
    assert_eq!(scene.completed(1), [9]);
    scene.servers.set_on(false);
    queue.submit(scene.requests(0..4));
    scene.completed(4);
    let stats = scene.servers.stats();
    assert_eq!((stats.served, stats.busy), (0, Duration::ZERO));
    assert_eq!((queue.stats().reads, queue.stats().writes), (4, 1));
    assert_eq!(scene.performed.pages(), [0, 1, 2, 3]);
}
