//! Both implementations, with the same test bodies.

mod order;

use std::{
    cell::Cell,
    io::{self, Write},
    os::fd::{AsFd, BorrowedFd},
    path::PathBuf,
    sync::{Arc, mpsc},
    time::Duration,
};

use clearway_sync::{Child, Mutex, step::Inside, thread};
use clearway_testkit::Random;

use super::*;
use crate::{AlignedBuf, Disk, MemoryDisk, OpenMode, OsDisk};

thread_local! {
    /// True if the system refuses to start threads.
    pub(super) static NO_THREADS: Cell<bool> = const { Cell::new(false) };
    /// True if the system refuses rings.
    pub(super) static NO_RING: Cell<bool> = const { Cell::new(false) };
}

const FILE_BYTES: usize = 1 << 20;

/// A directory with the file `f` of random bytes.
struct Setting {
    _dir: tempfile::TempDir,
    disk: OsDisk,
    file: Arc<dyn File>,
    bytes: Vec<u8>,
}

impl Setting {
    fn new() -> Setting {
        let dir = tempfile::tempdir().unwrap();
        let disk = OsDisk::open_dir(dir.path(), false).unwrap();
        let file = disk.open("f", OpenMode::Create).unwrap();
        let mut random = Random::new(7);
        let bytes: Vec<u8> = (0..FILE_BYTES).map(|_| random.below(256) as u8).collect();
        file.write_at(&bytes, 0).unwrap();
        Setting { _dir: dir, disk, file, bytes }
    }

    fn queue(&self, choice: IoQueueChoice, depth: usize) -> Box<dyn IoQueue> {
        let options = IoQueueOptions { choice, depth };
        self.disk.io_queue(&*self.file, &options).unwrap()
    }
}

/// Runs `body` with each implementation that this system has.
fn with_each(depth: usize, body: impl Fn(&Setting, Box<dyn IoQueue>)) {
    let setting = Setting::new();
    body(&setting, setting.queue(IoQueueChoice::Threads, depth));
    if setting.queue(IoQueueChoice::Auto, depth).kind() == IoQueueKind::Uring {
        body(&setting, setting.queue(IoQueueChoice::Uring, depth));
    }
}

/// A result with the memory that it fills.
type Done = (usize, Result<usize>, AlignedBuf);

/// A request with memory of its own, which `done` receives together with `tag` and the result.
fn request(
    file: &Arc<dyn File>,
    offset: u64,
    len: usize,
    (priority, tag): (IoPriority, usize),
    done: &mpsc::Sender<Done>,
) -> IoRequest {
    let mut memory = AlignedBuf::new(len);
    let place = NonNull::from(&mut memory[..]);
    let done = done.clone();
    let completion = move |result| {
        // The test may have ended.
        let _ = done.send((tag, result, memory));
    };
    // SAFETY: the completion owns the memory, whose heap address does not change, and nothing
    // accesses it before the completion is called (IO-REQUEST-1).
    unsafe { IoRequest::read(file.clone(), offset, place, priority, Box::new(completion)) }
}

/// A request to write `memory`, which `done` receives together with `tag` and the result.
fn write(
    file: &Arc<dyn File>,
    offset: u64,
    mut memory: AlignedBuf,
    tag: usize,
    done: &mpsc::Sender<Done>,
) -> IoRequest {
    let place = NonNull::from(&mut memory[..]);
    let done = done.clone();
    let completion = move |result| {
        // The test may have ended.
        let _ = done.send((tag, result, memory));
    };
    // SAFETY: as in `request`.
    unsafe { IoRequest::write(file.clone(), offset, place, Box::new(completion)) }
}

/// Memory of which every byte is `byte`.
fn filled(len: usize, byte: u8) -> AlignedBuf {
    let mut memory = AlignedBuf::new(len);
    memory.fill(byte);
    memory
}

const AHEAD: IoPriority = IoPriority::ReadAhead;
const NOW: IoPriority = IoPriority::Foreground;

/// A pipe as a file: a read of one byte is in flight until a byte is written.
struct PipeFile {
    reader: io::PipeReader,
    reads: Mutex<()>,
}

impl PipeFile {
    fn open() -> (Arc<dyn File>, io::PipeWriter) {
        let (reader, writer) = io::pipe().unwrap();
        (Arc::new(PipeFile { reader, reads: Mutex::new(()) }), writer)
    }
}

impl File for PipeFile {
    fn read_at(&self, buf: &mut [u8], _: u64) -> Result<usize> {
        let _alone = self.reads.lock();
        Ok(rustix::io::read(&self.reader, buf).unwrap())
    }

    fn io_descriptor(&self, _: *const [u8], _: u64) -> Option<BorrowedFd<'_>> {
        Some(self.reader.as_fd())
    }

    fn write_at(&self, _: &[u8], _: u64) -> Result<()> {
        unreachable!("it is only read")
    }

    fn write_durable_at(&self, _: &[u8], _: u64) -> Result<()> {
        unreachable!("it is only read")
    }

    fn sync_data(&self) -> Result<()> {
        unreachable!("it is only read")
    }

    fn sync_all(&self) -> Result<()> {
        unreachable!("it is only read")
    }

    fn len(&self) -> Result<u64> {
        unreachable!("it is only read")
    }

    fn set_len(&self, _: u64) -> Result<()> {
        unreachable!("it is only read")
    }

    fn allocate(&self, _: u64, _: u64) -> Result<()> {
        unreachable!("it is only read")
    }

    fn path(&self) -> PathBuf {
        "pipe".into()
    }
}

#[test]
fn random_reads_return_what_pread_returns() {
    with_each(16, |setting, queue| {
        let (done, results) = mpsc::channel();
        let mut random = Random::new(11);
        let mut ranges = Vec::new();
        for _ in 0..50 {
            let batch = (0..1 + random.below(120)).map(|_| {
                // Pages, sectors and odd ranges; some reach beyond the end.
                let unit = [8192, 512, 1][random.below(3) as usize];
                let offset = random.below((FILE_BYTES as u64 + 20_000) / unit) * unit;
                let len = ((1 + random.below(40)) * unit) as usize;
                ranges.push((offset as usize, len));
                request(&setting.file, offset, len, (AHEAD, ranges.len() - 1), &done)
            });
            queue.submit(batch.collect());
        }
        queue.wait_idle(None);
        for _ in 0..ranges.len() {
            let (tag, result, memory) = results.try_recv().unwrap();
            let (offset, len) = ranges[tag];
            let expected = &setting.bytes[offset.min(FILE_BYTES)..(offset + len).min(FILE_BYTES)];
            assert_eq!(result.unwrap(), expected.len(), "{len} bytes at {offset}");
            assert!(memory[..expected.len()] == *expected, "{len} bytes at {offset}");
        }
        assert!(ranges.len() > 2000 && results.try_recv().is_err());
        let stats = queue.stats();
        assert_eq!(stats.reads, ranges.len() as u64);
        assert!((2..=16).contains(&stats.reads_in_flight_max), "{stats:?}");
    });
}

#[test]
fn random_writes_leave_what_pwrite_leaves() {
    with_each(16, |setting, queue| {
        let (done, results) = mpsc::channel();
        let mut random = Random::new(12);
        let mut expected = setting.bytes.clone();
        let (mut at, mut count) = (0, 0);
        // Disjoint ranges that cover the file and some of what lies behind its end.
        while at < FILE_BYTES + 20_000 {
            let unit = [8192, 512, 1][random.below(3) as usize];
            let offset = at.next_multiple_of(unit);
            let len = (1 + random.below(if unit == 1 { 9000 } else { 20 }) as usize) * unit;
            at = offset + len;
            if random.one_in(4) {
                continue;
            }
            count += 1;
            expected.resize(expected.len().max(at), 0);
            expected[offset..at].fill(count as u8);
            let write = write(&setting.file, offset as u64, filled(len, count as u8), len, &done);
            queue.submit(vec![write]);
        }
        queue.wait_idle(None);
        let written = results.try_iter().map(|(len, result, _)| assert_eq!(result.unwrap(), len));
        assert_eq!(written.count(), count);
        assert!(count > 20 && queue.stats().writes == count as u64);
        assert_eq!(setting.file.len().unwrap(), expected.len() as u64);
        let mut found = vec![0; expected.len()];
        setting.file.read_at(&mut found, 0).unwrap();
        assert!(found == expected);
        setting.file.set_len(0).unwrap();
        setting.file.write_at(&setting.bytes, 0).unwrap(); // for the other implementation
    });
}

/// `r` and `a` for reads, foreground and ahead, and `w` for writes.
fn backlog(depth: usize, kinds: &str) -> Backlog {
    let file = MemoryDisk::new().open("f", OpenMode::Create).unwrap();
    let (done, _) = mpsc::channel();
    let mut backlog = Backlog::new(depth);
    let requests = kinds.chars().enumerate().map(|(tag, kind)| match kind {
        'w' => write(&file, tag as u64, filled(1, 1), tag, &done),
        'r' => request(&file, tag as u64, 1, (NOW, tag), &done),
        _ => request(&file, tag as u64, 1, (AHEAD, tag), &done),
    });
    backlog.add(requests.collect());
    backlog
}

fn kind_of(request: &IoRequest) -> char {
    match request.kind {
        RequestKind::Write => 'w',
        RequestKind::Read(NOW) => 'r',
        RequestKind::Read(AHEAD) => 'a',
    }
}

#[test]
fn writes_wait_for_a_few_reads_and_read_ahead_waits_for_both() {
    let mut backlog = backlog(4, "aawwwrrrrrrrrrr");
    let (mut order, mut offsets) = (String::new(), Vec::new());
    while let Some(request) = backlog.take() {
        order.push(kind_of(&request));
        offsets.push((kind_of(&request), request.offset()));
        backlog.arrived(&request);
        backlog.completed(1);
    }
    assert_eq!(order, "rrrrwrrrrwrrwaa");
    offsets.sort_by_key(|(kind, _)| *kind);
    assert!(offsets.windows(2).all(|pair| pair[0].0 != pair[1].0 || pair[0].1 < pair[1].1));
    assert!(backlog.is_idle() && backlog.waiting() == 0);
}

#[test]
fn a_quarter_of_those_in_flight_may_be_writes() {
    for (depth, writes) in [(1, 1), (4, 1), (7, 2), (64, 16)] {
        let mut backlog = backlog(depth, &("w".repeat(100) + &"a".repeat(100)));
        let taken: Vec<_> = std::iter::from_fn(|| backlog.take()).collect();
        let count = taken.iter().filter(|request| request.is_write()).count();
        assert_eq!((taken.len(), count), (depth, writes), "depth {depth}");
        let write = taken.iter().find(|request| request.is_write()).unwrap();
        backlog.arrived(write);
        assert!(backlog.take().unwrap().is_write(), "in its place");
        assert!(backlog.take().is_none());
    }
}

#[test]
fn no_more_requests_are_in_flight_than_the_depth() {
    with_each(4, |_, queue| {
        let (pipe, mut writer) = PipeFile::open();
        let (done, results) = mpsc::channel();
        let began = Instant::now();
        queue.submit((0..20).map(|tag| request(&pipe, 0, 1, (AHEAD, tag), &done)).collect());
        for written in 1..=20 {
            assert!(results.recv_timeout(Duration::from_millis(2)).is_err(), "nothing was written");
            writer.write_all(&[written]).unwrap();
            let (_, result, memory) = results.recv().unwrap();
            assert_eq!((result.unwrap(), memory[0]), (1, written));
        }
        queue.wait_idle(None);
        let stats = queue.stats();
        let counts = (stats.reads, stats.reads_in_flight, stats.reads_in_flight_max, stats.writes);
        assert_eq!(counts, (20, 0, 4, 0));
        let time = stats.reads_in_flight_time;
        assert!(time > Duration::ZERO && time <= 4 * began.elapsed(), "{time:?}");
        assert_eq!(queue.stats(), stats, "no time passes while none is in flight");
    });
}

#[test]
fn foreground_requests_overtake_those_of_read_ahead() {
    with_each(1, |_, queue| {
        let (pipe, mut writer) = PipeFile::open();
        let (done, results) = mpsc::channel();
        queue.submit((0..3).map(|tag| request(&pipe, 0, 1, (AHEAD, tag), &done)).collect());
        // One request is in flight before the others come.
        while queue.stats().reads_in_flight_max == 0 {
            thread::yield_now();
        }
        queue.submit((10..12).map(|tag| request(&pipe, 0, 1, (NOW, tag), &done)).collect());
        writer.write_all(&[0; 5]).unwrap();
        queue.wait_idle(None);
        let order: Vec<usize> = results.try_iter().map(|(tag, ..)| tag).collect();
        assert_eq!(order, [0, 10, 11, 1, 2]);
    });
}

#[test]
fn an_error_of_the_system_is_the_result() {
    with_each(4, |setting, queue| {
        /// A file with a descriptor that lacks the right to read or to write.
        struct Limited(std::fs::File, Arc<dyn File>);
        impl File for Limited {
            fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<usize> {
                let read = rustix::io::pread(&self.0, buf, offset);
                read.map_err(|errno| Error::io("read", self.path(), errno.into()))
            }

            fn io_descriptor(&self, _: *const [u8], _: u64) -> Option<BorrowedFd<'_>> {
                Some(self.0.as_fd())
            }

            fn write_at(&self, buf: &[u8], offset: u64) -> Result<()> {
                let written = rustix::io::pwrite(&self.0, buf, offset).map(drop);
                written.map_err(|errno| Error::io("write", self.path(), errno.into()))
            }

            fn write_durable_at(&self, buf: &[u8], offset: u64) -> Result<()> {
                self.1.write_durable_at(buf, offset)
            }

            fn sync_data(&self) -> Result<()> {
                self.1.sync_data()
            }

            fn sync_all(&self) -> Result<()> {
                self.1.sync_all()
            }

            fn len(&self) -> Result<u64> {
                self.1.len()
            }

            fn set_len(&self, len: u64) -> Result<()> {
                self.1.set_len(len)
            }

            fn allocate(&self, offset: u64, len: u64) -> Result<()> {
                self.1.allocate(offset, len)
            }

            fn path(&self) -> PathBuf {
                self.1.path()
            }
        }
        let limited = |options: &std::fs::OpenOptions| -> Arc<dyn File> {
            let opened = options.open(setting.file.path()).unwrap();
            Arc::new(Limited(opened, setting.file.clone()))
        };
        let write_only = limited(std::fs::OpenOptions::new().write(true));
        let read_only = limited(std::fs::OpenOptions::new().read(true));
        let (done, results) = mpsc::channel();
        queue.submit(vec![
            request(&write_only, 0, 8192, (AHEAD, 0), &done),
            request(&setting.file, 0, 8192, (AHEAD, 1), &done),
            write(&read_only, 0, filled(8192, 1), 2, &done),
            write(&setting.file, 8192, filled(8192, 1), 3, &done),
        ]);
        queue.wait_idle(None);
        let mut results: Vec<Done> = results.try_iter().collect();
        results.sort_by_key(|(tag, ..)| *tag);
        let refused = |result: &Result<usize>, call: &str| match result {
            Err(Error::Io { source, path, operation }) => {
                // `EBADF`
                source.raw_os_error() == Some(9)
                    && *path == setting.file.path()
                    && *operation == call
            }
            _ => false,
        };
        assert!(refused(&results[0].1, "read"), "{:?}", results[0].1);
        assert_eq!(results[1].1.as_ref().unwrap(), &8192, "the others are read");
        assert!(refused(&results[2].1, "write"), "{:?}", results[2].1);
        assert_eq!(results[3].1.as_ref().unwrap(), &8192, "the others are written");
    });
}

#[test]
fn a_drop_waits_for_what_is_in_flight() {
    with_each(2, |_, queue| {
        let (pipe, mut writer) = PipeFile::open();
        let (done, results) = mpsc::channel();
        queue.submit((0..6).map(|tag| request(&pipe, 0, 1, (AHEAD, tag), &done)).collect());
        let dropping = thread::spawn(move || drop(queue));
        thread::sleep(Duration::from_millis(30));
        assert!(!dropping.is_finished());
        writer.write_all(&[0; 5]).unwrap();
        for _ in 0..5 {
            results.recv().unwrap().1.unwrap();
        }
        thread::sleep(Duration::from_millis(10));
        assert!(!dropping.is_finished());
        writer.write_all(&[0]).unwrap();
        dropping.join().unwrap();
        results.try_recv().unwrap().1.unwrap();
    });
}

/// The last completion may drop the last owner of the queue.
#[test]
fn a_completion_may_drop_the_queue() {
    with_each(2, |setting, queue| {
        let queue: Arc<Mutex<Option<Box<dyn IoQueue>>>> = Arc::new(Mutex::new(Some(queue)));
        let (done, results) = mpsc::channel();
        let mut memory = AlignedBuf::new(4096);
        let place = NonNull::from(&mut memory[..]);
        let owner = queue.clone();
        let completion = Box::new(move |result: Result<usize>| {
            let _memory = memory;
            drop(owner.lock().take());
            done.send(result).unwrap();
        });
        // SAFETY: as in `request`.
        let read = unsafe { IoRequest::read(setting.file.clone(), 0, place, AHEAD, completion) };
        queue.lock().as_ref().unwrap().submit(vec![read]);
        assert_eq!(results.recv().unwrap().unwrap(), 4096);
        assert!(queue.lock().is_none());
    });
}

/// The kernel cancels what an ended thread has submitted; the queue reads it all the same.
#[test]
fn a_request_outlives_the_thread_that_submitted_it() {
    with_each(4, |_, queue| {
        let (pipe, mut writer) = PipeFile::open();
        let (done, results) = mpsc::channel();
        let read = request(&pipe, 0, 1, (AHEAD, 0), &done);
        thread::scope(|scope| {
            scope.spawn(|| queue.submit(vec![read]));
        });
        thread::sleep(Duration::from_millis(10));
        assert!(results.try_recv().is_err());
        writer.write_all(&[5]).unwrap();
        let (_, result, memory) = results.recv().unwrap();
        assert_eq!((result.unwrap(), memory[0]), (1, 5));
    });
}

#[test]
fn a_refused_ring_is_replaced_by_threads() {
    let setting = Setting::new();
    NO_RING.set(true);
    let queue = setting.queue(IoQueueChoice::Auto, 8);
    let options = IoQueueOptions { choice: IoQueueChoice::Uring, depth: 8 };
    let forced = setting.disk.io_queue(&*setting.file, &options).map(drop);
    NO_RING.set(false);
    assert!(matches!(forced, Err(Error::Io { .. })), "{forced:?}");
    assert_eq!(queue.kind(), IoQueueKind::Threads);
    let (done, results) = mpsc::channel();
    queue.submit(vec![request(&setting.file, 0, 8192, (NOW, 0), &done)]);
    assert_eq!(results.recv().unwrap().1.unwrap(), 8192);
    // A file that cannot be read through a ring is a refusal, too.
    let memory = MemoryDisk::new().open("f", OpenMode::Create).unwrap();
    let options = IoQueueOptions { choice: IoQueueChoice::Auto, depth: 8 };
    let queue = setting.disk.io_queue(&*memory, &options).unwrap();
    assert_eq!(queue.kind(), IoQueueKind::Threads);
}

/// A program may close descriptors that are not its own.
#[test]
fn a_ring_that_is_lost_is_not_needed() {
    let setting = Setting::new();
    let Ok(queue) = UringQueue::open(&*setting.file, 4) else { return };
    let (done, results) = mpsc::channel();
    let read = |tag| request(&setting.file, tag as u64 * 8192, 8192, (AHEAD, tag), &done);
    let changed = |tag| write(&setting.file, tag as u64 * 8192, filled(8192, 9), tag, &done);
    queue.submit((0..10).map(read).collect());
    queue.wait_idle(None);
    queue.lose_ring();
    let step = Inside::begin();
    queue.submit((10..30).map(read).collect());
    drop(step);
    queue.submit((30..40).map(changed).collect());
    queue.wait_idle(None);
    drop(queue);
    let mut count = 0;
    for (tag, result, memory) in results.try_iter() {
        assert_eq!(result.unwrap(), 8192);
        assert!(tag >= 30 || memory[..] == setting.bytes[tag * 8192..][..8192], "request {tag}");
        count += 1;
    }
    assert_eq!(count, 40);
    let mut found = vec![0; 10 * 8192];
    setting.file.read_at(&mut found, 30 * 8192).unwrap();
    assert!(found.iter().all(|byte| *byte == 9));
}

#[test]
fn without_threads_the_submitting_thread_reads_and_writes() {
    let setting = Setting::new();
    let queue = setting.queue(IoQueueChoice::Threads, 8);
    let (done, results) = mpsc::channel();
    NO_THREADS.set(true);
    let step = Inside::begin();
    queue.submit((0..30).map(|tag| request(&setting.file, 0, 512, (AHEAD, tag), &done)).collect());
    drop(step);
    let changed = |tag| write(&setting.file, tag as u64 * 512, filled(512, 9), tag, &done);
    queue.submit((0..30).map(changed).collect());
    NO_THREADS.set(false);
    let done = results.try_iter().filter(|(_, result, _)| *result.as_ref().unwrap() == 512);
    assert_eq!(done.count(), 60);
    let mut found = vec![0; 30 * 512];
    setting.file.read_at(&mut found, 0).unwrap();
    assert!(found.iter().all(|byte| *byte == 9));
    queue.wait_idle(None);
}

#[test]
fn a_disk_in_memory_reads_and_writes_at_once() {
    let disk = MemoryDisk::new();
    let file = disk.open("f", OpenMode::Create).unwrap();
    file.write_at(&[3; 5000], 0).unwrap();
    let queue = disk.io_queue(&*file, &IoQueueOptions::default()).unwrap();
    let (done, results) = mpsc::channel();
    let requests = [AHEAD, AHEAD, NOW].into_iter().enumerate();
    let requests = requests.map(|(tag, kind)| request(&file, 0, 8192, (kind, tag), &done));
    queue.submit(requests.collect());
    let count = |(tag, result, _): Done| (tag, result.unwrap());
    assert_eq!(
        results.try_iter().map(count).collect::<Vec<_>>(),
        [(2, 5000), (0, 5000), (1, 5000)]
    );
    assert_eq!(queue.kind(), IoQueueKind::AtOnce);
    let expected = IoQueueStats { reads: 3, reads_in_flight_max: 1, ..IoQueueStats::default() };
    assert_eq!(queue.stats(), expected);
    queue.submit(vec![write(&file, 4999, filled(2, 4), 7, &done)]);
    assert_eq!(results.try_iter().map(count).collect::<Vec<_>>(), [(7, 2)]);
    assert_eq!((queue.stats().writes, file.len().unwrap()), (1, 5001));
}

#[test]
fn a_forked_child_touches_nothing_of_the_queue() {
    with_each(4, |setting, queue| {
        let (pipe, mut writer) = PipeFile::open();
        let (done, results) = mpsc::channel();
        queue.submit(vec![request(&pipe, 0, 1, (AHEAD, 0), &done)]);
        let in_child = || {
            let (done, results) = mpsc::channel();
            queue.submit(vec![request(&setting.file, 0, 512, (NOW, 0), &done)]);
            let refused = results.try_recv().map(|(_, result, _)| result);
            if !matches!(refused, Ok(Err(Error::Forked))) {
                return Err(format!("{refused:?}"));
            }
            queue.wait_idle(None);
            let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
            if maps.contains("io_uring") {
                return Err(format!("the child has the ring:\n{maps}"));
            }
            // SAFETY: the child ends without another use of the queue.
            drop(unsafe { std::ptr::read(&queue) });
            Ok(())
        };
        Child::start(in_child).unwrap().wait(Duration::from_secs(20)).unwrap();
        queue.submit(vec![request(&setting.file, 0, 512, (NOW, 1), &done)]);
        writer.write_all(&[5]).unwrap();
        queue.wait_idle(None);
        let mut tags: Vec<usize> = results.try_iter().map(|(tag, ..)| tag).collect();
        tags.sort_unstable();
        assert_eq!(tags, [0, 1]);
    });
}
