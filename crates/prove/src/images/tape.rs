//! A disk that keeps, for each operation, what the power would have left had it gone there.
//!
//! The operation is done on a copy first, on which the power goes in the middle of it; the copy is
//! the cut. So a script runs once, however many crashes are looked at: the engine has no thread of
//! its own, so a second run that is cut there would have come the same way.
//!
//! A file is written through a handle that was opened under another name, perhaps; the copy knows
//! names of now. So names are followed through renames.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use clearway_base::Result;
use clearway_disk::{Disk, File, OpenMode};
use clearway_sync::Mutex;
use clearway_testkit::disk::{Fault, SimDisk};

use crate::oracles::Bounds;

/// What a disk holds, when the power goes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) enum Standing {
    /// A database that is being created.
    #[default]
    Creating,
    /// A database.
    Whole,
    /// A copy of one that is being made.
    Copying,
}

/// What must be known of the database at a moment to judge what a crash leaves of it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Moment {
    pub(crate) standing: Standing,
    /// Which of the script's histories holds.
    pub(crate) era: usize,
    pub(crate) bounds: Bounds,
}

/// An operation at which the power may go.
pub(crate) struct Cut {
    /// The disk without power.
    pub(crate) disk: SimDisk,
    pub(crate) moment: Moment,
    /// Which of the script's disks it is, and the operation's and the next read's number there.
    pub(crate) disk_index: usize,
    pub(crate) operation: u64,
    pub(crate) read: u64,
    /// The operation, for people.
    pub(crate) what: String,
    /// Whether it changes anything.
    pub(crate) is_change: bool,
}

/// The cuts of one run; clones share it.
#[derive(Clone, Default)]
pub(crate) struct Tape(Arc<Mutex<Recorded>>);

#[derive(Default)]
struct Recorded {
    cuts: Vec<Cut>,
    moment: Moment,
    disks: usize,
}

impl Tape {
    /// `disk`, with every operation on it taped.
    pub(crate) fn over(&self, disk: &SimDisk) -> Arc<dyn Disk> {
        self.attach(disk, None)
    }

    /// A disk to which a backup goes, with every operation on it taped.
    pub(crate) fn over_copy(&self, disk: &SimDisk) -> Arc<dyn Disk> {
        self.attach(disk, Some(Standing::Copying))
    }

    fn attach(&self, disk: &SimDisk, standing: Option<Standing>) -> Arc<dyn Disk> {
        let mut recorded = self.0.lock();
        recorded.disks += 1;
        let (disk, index, tape) = (disk.clone(), recorded.disks - 1, self.clone());
        Arc::new(TapedDisk(Arc::new(Taped {
            disk,
            index,
            standing,
            tape,
            names: Mutex::default(),
        })))
    }

    /// What holds from now on.
    pub(crate) fn set_moment(&self, moment: Moment) {
        self.0.lock().moment = moment;
    }

    /// All cuts so far, the tape being empty afterwards.
    pub(crate) fn take_cuts(&self) -> Vec<Cut> {
        std::mem::take(&mut self.0.lock().cuts)
    }

    fn add(&self, taped: &Taped, disk: SimDisk, what: String, is_change: bool) {
        let mut recorded = self.0.lock();
        let (operation, read) = (taped.disk.operations() + 1, taped.disk.reads() + 1);
        let (mut moment, disk_index) = (recorded.moment, taped.index);
        moment.standing = taped.standing.unwrap_or(moment.standing);
        recorded.cuts.push(Cut { disk, moment, disk_index, operation, read, what, is_change });
    }
}

type Name = Arc<Mutex<String>>;

struct Taped {
    disk: SimDisk,
    index: usize,
    /// What it holds, if that is not what the moment says.
    standing: Option<Standing>,
    tape: Tape,
    names: Mutex<BTreeMap<String, Name>>,
}

impl Taped {
    fn name(&self, name: &str) -> Name {
        let new = || Arc::new(Mutex::new(name.to_string()));
        self.names.lock().entry(name.to_string()).or_insert_with(new).clone()
    }

    /// An operation on a name.
    fn cut(&self, what: String, is_change: bool, operate: impl FnOnce(&SimDisk) -> Result<()>) {
        let copy = self.disk.fork();
        copy.plan(Fault::PowerCut { at: copy.operations() + 1 });
        let _ = operate(&copy); // the power goes
        copy.cut_power();
        self.tape.add(self, copy, what, is_change);
    }

    /// An operation on a file.
    fn cut_file(&self, name: &Name, what: &str, operate: impl FnOnce(&dyn File) -> Result<()>) {
        let (copy, name) = (self.disk.fork(), name.lock());
        // Gone, if it has lost its name.
        if let Ok(file) = copy.open(&name, OpenMode::Existing) {
            copy.plan(Fault::PowerCut { at: copy.operations() + 1 });
            let _ = operate(&*file); // the power goes
        }
        copy.cut_power();
        self.tape.add(self, copy, format!("{what} {name}"), true);
    }
}

struct TapedDisk(Arc<Taped>);

impl Disk for TapedDisk {
    fn open(&self, name: &str, mode: OpenMode) -> Result<Arc<dyn File>> {
        let is_change = mode != OpenMode::Existing && !self.0.disk.exists(name)?;
        let open = |disk: &SimDisk| disk.open(name, mode).map(drop);
        self.0.cut(format!("open {name}"), is_change, open);
        let file = self.0.disk.open(name, mode)?;
        Ok(Arc::new(TapedFile { file, name: self.0.name(name), taped: self.0.clone() }))
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

struct TapedFile {
    file: Arc<dyn File>,
    name: Name,
    taped: Arc<Taped>,
}

impl TapedFile {
    fn cut(&self, what: &str, operate: impl FnOnce(&dyn File) -> Result<()>) {
        self.taped.cut_file(&self.name, what, operate);
    }
}

impl File for TapedFile {
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
