//! Threads that read. The tests of requests are in `crates/disk/tests/queueing_disk.rs`, because
//! requests need `unsafe`, which this crate does not have.

use std::time::{Duration, Instant};

use clearway_disk::MemoryDisk;
use clearway_sync::{Mutex, thread};

use super::*;
use crate::disk::{Faults, FaultyDisk, Operation};

const SERVICE: Duration = Duration::from_millis(20);

/// A data file on a disk that records the offsets of the reads which servers perform.
struct Scene {
    servers: ReadServers,
    disk: QueueingDisk<FaultyDisk<MemoryDisk>>,
    file: Arc<dyn File>,
    performed: Arc<Mutex<Vec<u64>>>,
}

impl Scene {
    /// The delay is on.
    fn new(servers: usize, delay: Duration) -> Scene {
        let (faults, performed) = (Faults::new(), Arc::new(Mutex::new(Vec::new())));
        let recorded = performed.clone();
        faults.watch(move |event| {
            if event.operation == Operation::Read {
                recorded.lock().push(event.offset);
            }
            None
        });
        let servers = ReadServers::new(servers, delay);
        let disk = QueueingDisk::new(FaultyDisk::new(MemoryDisk::new(), faults), servers.clone());
        let file = disk.open("data", OpenMode::Create).unwrap();
        file.write_at(&[7; 64], 0).unwrap();
        servers.set_on(true);
        Scene { servers, disk, file, performed }
    }

    fn read(&self, offset: u64) {
        let mut byte = [0];
        assert_eq!(self.file.read_at(&mut byte, offset).unwrap(), 1);
        assert_eq!(byte, [7]);
    }

    /// Returns once `count` reads wait for a server, or got one although the test has them all.
    fn wait_for_waiting(&self, count: usize) {
        while self.servers.waiting() + self.performed.lock().len() < count {
            thread::yield_now();
        }
    }
}

#[test]
fn six_reads_on_two_servers_take_three_service_times() {
    let scene = Scene::new(2, SERVICE);
    let start = Instant::now();
    thread::scope(|scope| {
        for offset in 0..6 {
            let scene = &scene;
            scope.spawn(move || scene.read(offset));
        }
    });
    assert!(start.elapsed() >= 3 * SERVICE);
    let stats = scene.servers.stats();
    assert_eq!(stats.served, 6);
    assert!(stats.busy >= 6 * SERVICE);
    assert!(stats.response_mean >= SERVICE);
}

#[test]
fn threads_are_served_in_the_order_of_arrival() {
    let scene = Scene::new(1, Duration::from_millis(1));
    let service = scene.servers.wait_for_service();
    thread::scope(|scope| {
        for offset in 0..6 {
            let scene = &scene;
            scope.spawn(move || scene.read(offset));
            scene.wait_for_waiting(offset as usize + 1);
        }
        drop(service);
    });
    assert_eq!(*scene.performed.lock(), [0, 1, 2, 3, 4, 5]);
}

#[test]
fn measurements_cover_the_time_since_the_reset() {
    let scene = Scene::new(2, Duration::ZERO);
    let services = [(); 2].map(|()| scene.servers.wait_for_service());
    thread::scope(|scope| {
        for offset in 0..3 {
            let scene = &scene;
            scope.spawn(move || scene.read(offset));
        }
        scene.wait_for_waiting(3);
        scene.servers.reset_stats();
        thread::sleep(Duration::from_millis(5));
        let saturated = scene.servers.stats();
        assert!(saturated.elapsed >= Duration::from_millis(5));
        assert_eq!((saturated.servers, saturated.served), (2, 0));
        assert!((saturated.utilisation() - 1.0).abs() < 1e-6);
        assert!((saturated.waiting_mean - 3.0).abs() < 1e-6);
        drop(services);
    });
    let ended = scene.servers.stats();
    assert_eq!((ended.served, scene.servers.waiting()), (5, 0));
    // The three reads waited while the test slept, and the two services lasted as long.
    assert!(ended.response_mean >= Duration::from_millis(5));

    scene.servers.reset_stats();
    assert_eq!(scene.servers.stats().served, 0);
    let _one_of_two = scene.servers.wait_for_service();
    scene.servers.reset_stats();
    thread::sleep(Duration::from_millis(5));
    let half = scene.servers.stats();
    assert!((half.utilisation() - 0.5).abs() < 1e-6);
    assert_eq!(half.waiting_mean, 0.0);
}

#[test]
fn reads_without_delay_are_not_measured() {
    let scene = Scene::new(1, SERVICE);
    let log = scene.disk.open("log", OpenMode::Create).unwrap();
    assert_eq!(log.read_at(&mut [0], 0).unwrap(), 0);
    scene.servers.set_on(false);
    (0..10).for_each(|offset| scene.read(offset));
    let stats = scene.servers.stats();
    assert_eq!((stats.served, stats.busy), (0, Duration::ZERO));
    assert_eq!((stats.response_mean, stats.waiting_mean), (Duration::ZERO, 0.0));
    assert_eq!(scene.performed.lock().len(), 11);
}

#[test]
fn reads_that_wait_when_the_delay_is_switched_off_are_served() {
    let scene = Scene::new(1, SERVICE);
    let service = scene.servers.wait_for_service();
    thread::scope(|scope| {
        scope.spawn(|| scene.read(3));
        scene.wait_for_waiting(1);
        scene.servers.set_on(false);
        assert!(!scene.servers.is_on());
        scene.read(1);
        drop(service);
    });
    assert_eq!(*scene.performed.lock(), [1, 3]);
    let stats = scene.servers.stats();
    assert_eq!(stats.served, 2);
    assert!(stats.busy >= SERVICE);
}

#[test]
fn each_thread_counts_its_own_delayed_reads() {
    let scene = Scene::new(1, SERVICE);
    thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let before = ThreadReads::now();
            scene.read(0);
            scene.read(1);
            scene.servers.set_on(false);
            scene.read(2);
            ThreadReads::now() - before
        });
        let read = reader.join().unwrap();
        assert_eq!(read.count, 2);
        assert!(read.time >= 2 * SERVICE, "{:?}", read.time);
    });
    assert_eq!(ThreadReads::now(), ThreadReads::default());
}
