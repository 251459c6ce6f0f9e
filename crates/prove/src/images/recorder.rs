//! A disk that records, for each operation, the state that a power cut during it would leave.
//!
//! Each operation is executed on a copy of the disk first, where the power is cut in the middle of
//! it. This copy is the [`Cut`]. So a scenario runs only once, however many crashes are examined:
//! the engine has no threads of its own, so a second run, cut at that operation, would reach the
//! same state.
//!
//! A file may be written through a handle that was opened under an earlier name, but the copy of
//! the disk only knows the current names. So the recorder follows each name through renames.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use clearway_base::Result;
use clearway_disk::{Disk, File, OpenMode};
use clearway_sync::Mutex;
use clearway_testkit::disk::{Fault, HeldReads, SimDisk};

use crate::oracles::Bounds;

/// The state of the database on a disk when the power is cut.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) enum Phase {
    /// The database is being created.
    #[default]
    Creating,
    /// The database is complete.
    Complete,
    /// A backup is being written to this disk.
    Copying,
}

/// The facts about the database at one moment that are needed to judge a crash image.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Moment {
    pub(crate) phase: Phase,
    /// The index of the current history: each crash that is part of the scenario begins a new one.
    pub(crate) era: usize,
    pub(crate) bounds: Bounds,
}

/// A power cut during one operation.
pub(crate) struct Cut {
    /// The disk, with its power off.
    pub(crate) disk: SimDisk,
    pub(crate) moment: Moment,
    /// The index of the disk among those of the scenario, and the numbers of the operation and of
    /// the next read on that disk.
    pub(crate) disk_index: usize,
    pub(crate) operation: u64,
    pub(crate) read: u64,
    /// The number of page reads that were held.
    pub(crate) reads_held: usize,
    /// A description of the operation, for messages.
    pub(crate) what: String,
    /// True if the operation changes the disk.
    pub(crate) is_change: bool,
}

/// The cuts of one run. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct Recorder(Arc<Mutex<RecorderState>>);

#[derive(Default)]
struct RecorderState {
    cuts: Vec<Cut>,
    moment: Moment,
    disks: usize,
    reads: Option<HeldReads>,
}

impl Recorder {
    /// Returns `disk` with every operation on it recorded.
    pub(crate) fn over(&self, disk: &SimDisk) -> Arc<dyn Disk> {
        self.attach(disk, None)
    }

    /// Returns the target disk of a backup with every operation on it recorded.
    pub(crate) fn over_copy(&self, disk: &SimDisk) -> Arc<dyn Disk> {
        self.attach(disk, Some(Phase::Copying))
    }

    fn attach(&self, disk: &SimDisk, phase: Option<Phase>) -> Arc<dyn Disk> {
        let mut state = self.0.lock();
        state.disks += 1;
        let (disk, index, recorder) = (disk.clone(), state.disks - 1, self.clone());
        Arc::new(RecordedDisk(Arc::new(DiskRecorder {
            disk,
            index,
            phase,
            recorder,
            names: Mutex::default(),
        })))
    }

    /// Sets the moment that later cuts record.
    pub(crate) fn set_moment(&self, moment: Moment) {
        self.0.lock().moment = moment;
    }

    /// Counts these reads at each of the next cuts.
    pub(super) fn count_reads(&self, reads: &HeldReads) {
        self.0.lock().reads = Some(reads.clone());
    }

    /// Removes and returns the cuts recorded so far.
    pub(crate) fn take_cuts(&self) -> Vec<Cut> {
        std::mem::take(&mut self.0.lock().cuts)
    }

    fn add(&self, source: &DiskRecorder, disk: SimDisk, what: String, is_change: bool) {
        let mut state = self.0.lock();
        let (operation, read) = (source.disk.operations() + 1, source.disk.reads() + 1);
        let (mut moment, disk_index) = (state.moment, source.index);
        moment.phase = source.phase.unwrap_or(moment.phase);
        let reads_held = state.reads.as_ref().map_or(0, HeldReads::count);
        state.cuts.push(Cut {
            disk,
            moment,
            disk_index,
            operation,
            read,
            reads_held,
            what,
            is_change,
        });
    }
}

type Name = Arc<Mutex<String>>;

struct DiskRecorder {
    disk: SimDisk,
    index: usize,
    /// The phase of the database on this disk, if it differs from that of the moment.
    phase: Option<Phase>,
    recorder: Recorder,
    names: Mutex<BTreeMap<String, Name>>,
}

impl DiskRecorder {
    fn name(&self, name: &str) -> Name {
        let new = || Arc::new(Mutex::new(name.to_string()));
        self.names.lock().entry(name.to_string()).or_insert_with(new).clone()
    }

    /// Records a cut during an operation on a name.
    fn cut(&self, what: String, is_change: bool, operate: impl FnOnce(&SimDisk) -> Result<()>) {
        let copy = self.disk.fork();
        copy.plan(Fault::PowerCut { at: copy.operations() + 1 });
        let _ = operate(&copy); // the power is cut
        copy.cut_power();
        self.recorder.add(self, copy, what, is_change);
    }

    /// Records a cut during an operation on a file.
    fn cut_file(&self, name: &Name, what: &str, operate: impl FnOnce(&dyn File) -> Result<()>) {
        let (copy, name) = (self.disk.fork(), name.lock());
        // Opening fails if the file was removed: then the cut leaves nothing of it.
        if let Ok(file) = copy.open(&name, OpenMode::Existing) {
            copy.plan(Fault::PowerCut { at: copy.operations() + 1 });
            let _ = operate(&*file); // the power is cut
        }
        copy.cut_power();
        self.recorder.add(self, copy, format!("{what} {name}"), true);
    }
}

struct RecordedDisk(Arc<DiskRecorder>);

impl Disk for RecordedDisk {
    fn open(&self, name: &str, mode: OpenMode) -> Result<Arc<dyn File>> {
        let is_change = mode != OpenMode::Existing && !self.0.disk.exists(name)?;
        let open = |disk: &SimDisk| disk.open(name, mode).map(drop);
        self.0.cut(format!("open {name}"), is_change, open);
        let file = self.0.disk.open(name, mode)?;
        Ok(Arc::new(RecordedFile { file, name: self.0.name(name), disk_recorder: self.0.clone() }))
    }

    fn exists(&self, name: &str) -> Result<bool> {
        self.0.disk.exists(name)
    }

    fn rename(&self, from: &str, to: &str) -> Result<()> {
        self.0.cut(format!("rename {from} to {to}"), true, |disk| disk.rename(from, to));
        self.0.disk.rename(from, to)?;
        let mut names = self.0.names.lock();
        if let Some(name) = names.remove(from) {
            *name.lock() = to.to_string();
            names.insert(to.to_string(), name);
        }
        Ok(())
    }

    fn remove(&self, name: &str) -> Result<()> {
        self.0.cut(format!("remove {name}"), true, |disk| disk.remove(name));
        self.0.disk.remove(name)?;
        self.0.names.lock().remove(name);
        Ok(())
    }

    fn list(&self, dir: &str) -> Result<Vec<String>> {
        self.0.disk.list(dir)
    }

    fn create_dir(&self, dir: &str) -> Result<()> {
        self.0.cut(format!("create directory {dir}"), true, |disk| disk.create_dir(dir));
        self.0.disk.create_dir(dir)
    }

    fn sync_dir(&self, dir: &str) -> Result<()> {
        self.0.cut(format!("sync directory {dir:?}"), true, |disk| disk.sync_dir(dir));
        self.0.disk.sync_dir(dir)
    }

    fn lock(&self) -> Result<Box<dyn Send + Sync>> {
        self.0.disk.lock()
    }

    fn random(&self) -> Result<u64> {
        self.0.disk.random()
    }

    fn path(&self) -> PathBuf {
        self.0.disk.path()
    }
}

struct RecordedFile {
    file: Arc<dyn File>,
    name: Name,
    disk_recorder: Arc<DiskRecorder>,
}

impl RecordedFile {
    fn cut(&self, what: &str, operate: impl FnOnce(&dyn File) -> Result<()>) {
        self.disk_recorder.cut_file(&self.name, what, operate);
    }
}

impl File for RecordedFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<usize> {
        self.file.read_at(buf, offset)
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> Result<()> {
        self.cut("write", |file| file.write_at(buf, offset));
        self.file.write_at(buf, offset)
    }

    fn write_durable_at(&self, buf: &[u8], offset: u64) -> Result<()> {
        self.cut("write durably", |file| file.write_durable_at(buf, offset));
        self.file.write_durable_at(buf, offset)
    }

    fn sync_data(&self) -> Result<()> {
        self.cut("sync", |file| file.sync_data());
        self.file.sync_data()
    }

    fn sync_all(&self) -> Result<()> {
        self.cut("sync all of", |file| file.sync_all());
        self.file.sync_all()
    }

    fn len(&self) -> Result<u64> {
        self.file.len()
    }

    fn set_len(&self, len: u64) -> Result<()> {
        self.cut("set the length of", |file| file.set_len(len));
        self.file.set_len(len)
    }

    fn allocate(&self, offset: u64, len: u64) -> Result<()> {
        self.cut("grow", |file| file.allocate(offset, len));
        self.file.allocate(offset, len)
    }

    fn path(&self) -> PathBuf {
        self.file.path()
    }
}
