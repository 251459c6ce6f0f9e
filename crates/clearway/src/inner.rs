//! The open database that its handles and the agents of its pipelines share.

use std::{path::PathBuf, sync::Arc};

use clearway_base::{Error, Result};
use clearway_disk::OsDisk;
use clearway_txn::Engine;

use crate::{staging::StagingPolicies, statistics::Statistics};

/// See the module.
pub(crate) struct Inner {
    pub(crate) engine: Arc<Engine>,
    pub(crate) statistics: Statistics,
    pub(crate) staging: StagingPolicies,
    pub(crate) attempts: u32,
    pub(crate) path: PathBuf,
    /// The directory; `None` if the database is on another kind of disk.
    pub(crate) directory: Option<Arc<OsDisk>>,
}

impl Inner {
    /// Fails in a fork of the process that opened the database. Must be called before any latch is
    /// taken: a latch that another thread held at the fork is never released in the child.
    ///
    /// # Errors
    /// [`Error::Forked`].
    #[inline]
    pub(crate) fn check_process(&self) -> Result<()> {
        if self.engine.process().is_current() { Ok(()) } else { Err(Error::Forked) }
    }
}
