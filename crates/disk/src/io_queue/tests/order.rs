//! The order in which the requests of a full backlog begin, on a file of the operating system
//! (IO-QUEUE-2).

use clearway_sync::{Condvar, MutexGuard};

use super::*;

/// The bytes of each request, which has a block of the file to itself.
const BLOCK: usize = 4096;
const BLOCKS: usize = FILE_BYTES / BLOCK;

/// A file that records the order in which reads and writes of it begin. The ring has begun one when
/// it asks for the descriptor; a thread, when it calls the file.
struct RecordedFile {
    file: Arc<dyn File>,
    begun: Mutex<Begun>,
    changed: Condvar,
}

#[derive(Default)]
struct Begun {
    /// Each offset once, in the order of the beginnings.
    offsets: Vec<u64>,
    /// True as long as the threads that call the file wait.
    is_held: bool,
}

impl RecordedFile {
    fn new(file: &Arc<dyn File>, is_held: bool) -> Arc<RecordedFile> {
        let begun = Mutex::new(Begun { offsets: Vec::new(), is_held });
        Arc::new(RecordedFile { file: file.clone(), begun, changed: Condvar::new() })
    }

    fn begin(&self, offset: u64) -> MutexGuard<'_, Begun> {
        let mut begun = self.begun.lock();
        // A request that the ring did not finish begins again, by a call.
        if !begun.offsets.contains(&offset) {
            begun.offsets.push(offset);
            self.changed.notify_all();
        }
        begun
    }

    fn begin_call(&self, offset: u64) {
        let mut begun = self.begin(offset);
        while begun.is_held {
            self.changed.wait(&mut begun);
        }
    }

    /// Waits until `count` requests have begun, lets all go on, and returns the blocks of the first
    /// `count`.
    fn release(&self, count: usize) -> Vec<usize> {
        let mut begun = self.begun.lock();
        while begun.offsets.len() < count {
            self.changed.wait(&mut begun);
        }
        begun.is_held = false;
        self.changed.notify_all();
        begun.offsets[..count].iter().map(|offset| *offset as usize / BLOCK).collect()
    }
}

impl File for RecordedFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<usize> {
        self.begin_call(offset);
        self.file.read_at(buf, offset)
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> Result<()> {
        self.begin_call(offset);
        self.file.write_at(buf, offset)
    }

    fn io_descriptor(&self, memory: *const [u8], offset: u64) -> Option<BorrowedFd<'_>> {
        drop(self.begin(offset));
        self.file.io_descriptor(memory, offset)
    }

    fn write_durable_at(&self, _: &[u8], _: u64) -> Result<()> {
        unreachable!("a queue only reads and writes")
    }

    fn sync_data(&self) -> Result<()> {
        unreachable!("a queue only reads and writes")
    }

    fn sync_all(&self) -> Result<()> {
        unreachable!("a queue only reads and writes")
    }

    fn len(&self) -> Result<u64> {
        unreachable!("a queue only reads and writes")
    }

    fn set_len(&self, _: u64) -> Result<()> {
        unreachable!("a queue only reads and writes")
    }

    fn allocate(&self, _: u64, _: u64) -> Result<()> {
        unreachable!("a queue only reads and writes")
    }

    fn path(&self) -> PathBuf {
        self.file.path()
    }
}

/// The kinds of as many requests as the file has blocks, in a random order, of each kind as many as
/// `counts` says.
fn mixed(counts: [(char, usize); 3]) -> Vec<char> {
    let mut kinds: Vec<char> =
        counts.into_iter().flat_map(|(kind, count)| vec![kind; count]).collect();
    assert_eq!(kinds.len(), BLOCKS);
    let mut random = Random::new(21);
    for last in (1..kinds.len()).rev() {
        kinds.swap(last, random.below(last as u64 + 1) as usize);
    }
    kinds
}

/// Submits one request of each kind for the block of its index, all at once. A write fills it with
/// 0xA5.
fn submit(
    queue: &dyn IoQueue,
    file: &Arc<RecordedFile>,
    kinds: &[char],
    done: &mpsc::Sender<Done>,
) {
    let file: Arc<dyn File> = file.clone();
    let requests = kinds.iter().enumerate().map(|(block, kind)| {
        let offset = (block * BLOCK) as u64;
        match kind {
            'w' => write(&file, offset, filled(BLOCK, 0xA5), block, done),
            'r' => request(&file, offset, BLOCK, (NOW, block), done),
            _ => request(&file, offset, BLOCK, (AHEAD, block), done),
        }
    });
    queue.submit(requests.collect());
}

/// Checks that every request has completed, each with the right bytes, and restores the file.
fn check_bytes(
    setting: &Setting,
    queue: &dyn IoQueue,
    kinds: &[char],
    results: &mpsc::Receiver<Done>,
) {
    queue.wait_idle(None);
    let mut blocks = Vec::new();
    for (block, result, memory) in results.try_iter() {
        assert_eq!(result.unwrap(), BLOCK, "block {block}");
        let former = &setting.bytes[block * BLOCK..][..BLOCK];
        assert!(kinds[block] == 'w' || memory[..] == *former, "block {block}");
        blocks.push(block);
    }
    blocks.sort_unstable();
    assert_eq!(blocks, (0..BLOCKS).collect::<Vec<_>>());
    let mut found = vec![0; FILE_BYTES];
    setting.file.read_at(&mut found, 0).unwrap();
    for (block, kind) in kinds.iter().enumerate() {
        let (found, former) = (&found[block * BLOCK..][..BLOCK], &setting.bytes[block * BLOCK..]);
        let is_right = match kind {
            'w' => found.iter().all(|byte| *byte == 0xA5),
            _ => *found == former[..BLOCK],
        };
        assert!(is_right, "block {block}, {kind}");
    }
    let writes = kinds.iter().filter(|kind| **kind == 'w').count() as u64;
    let stats = queue.stats();
    assert_eq!((stats.reads, stats.writes), (BLOCKS as u64 - writes, writes));
    setting.file.write_at(&setting.bytes, 0).unwrap(); // for the other implementation
}

#[test]
fn a_full_backlog_begins_four_reads_then_a_write_and_read_ahead_last() {
    let kinds = mixed([('r', 102), ('w', 60), ('a', 94)]);
    // 25 times four reads and a write, the last two reads, and what is left.
    let expected = "rrrrw".repeat(25) + "rr" + &"w".repeat(35) + &"a".repeat(94);
    with_each(1, |setting, queue| {
        let file = RecordedFile::new(&setting.file, false);
        let (done, results) = mpsc::channel();
        submit(&*queue, &file, &kinds, &done);
        check_bytes(setting, &*queue, &kinds, &results);
        let blocks = file.release(BLOCKS);
        let order: String = blocks.iter().map(|block| kinds[*block]).collect();
        assert_eq!(order, expected, "{:?}", queue.kind());
        for kind in ['r', 'w', 'a'] {
            let of_kind: Vec<&usize> =
                blocks.iter().filter(|block| kinds[**block] == kind).collect();
            assert!(of_kind.is_sorted(), "{kind}: {of_kind:?}");
        }
        assert_eq!(queue.stats().reads_in_flight_max, 1);
    });
}

#[test]
fn a_quarter_of_the_first_requests_of_a_full_backlog_are_writes() {
    let kinds = mixed([('r', 2), ('w', 100), ('a', 154)]);
    with_each(8, |setting, queue| {
        let file = RecordedFile::new(&setting.file, true);
        let (done, results) = mpsc::channel();
        submit(&*queue, &file, &kinds, &done);
        // Threads may call the file in another order than they take the requests. None of the first
        // eight can have ended in a thread, nor have made room in the ring.
        let mut first: Vec<char> = file.release(8).into_iter().map(|block| kinds[block]).collect();
        first.sort_unstable();
        assert_eq!(first, ['a', 'a', 'a', 'a', 'r', 'r', 'w', 'w'], "{:?}", queue.kind());
        check_bytes(setting, &*queue, &kinds, &results);
        assert!((6..=8).contains(&queue.stats().reads_in_flight_max), "{:?}", queue.stats());
    });
}
