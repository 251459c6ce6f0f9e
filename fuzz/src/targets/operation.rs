//! Redo of arbitrary log bodies, on the pages of a real tree.
//!
//! Must hold: a typed error or a change; the pages stay readable for `verify`.

use std::sync::Arc;

use clearway_base::{Lsn, LsnSpan};
use clearway_disk::{Disk, MemoryDisk, OpenMode};
use clearway_pool::{Pool, PoolOptions};
use clearway_tree::{check_redo, for_each_page, redo, tree_of_body};

use super::{
    durable::Durable,
    image::{base_image, base_log},
};
use crate::target::Target;

pub(crate) fn target() -> Target {
    Target { name: "operation", examples, take, must_fail: false }
}

/// The bodies of the base image's log.
fn examples() -> Vec<Vec<u8>> {
    base_log()
}

fn take(input: &[u8]) -> Result<(), String> {
    let _ = tree_of_body(input);
    let mut pages = 0;
    for_each_page(input, |page| pages += usize::from(page.0 < 10_000));
    if pages == 0 {
        // Bodies that name pages far beyond the end of the file would only make it long.
        return Ok(());
    }
    let disk: MemoryDisk = base_image();
    disk.open("data", OpenMode::Existing).map_err(|error| error.to_string())?;
    let options = PoolOptions {
        cache_bytes: 2 << 20,
        max_bytes: 1 << 30,
        background_cleaner: false,
        ..PoolOptions::default()
    };
    let pool = Pool::open(&disk, Arc::new(Durable), options).map_err(|error| error.to_string())?;
    let span = LsnSpan { start: Lsn(1 << 30), end: Lsn((1 << 30) + 512) };
    let _ = redo(&pool, input, span);
    // Use the input as a page image, too: of a page that is at its LSN, and of one that is not.
    let _ = check_redo(&pool, input, span.end);
    let _ = check_redo(&pool, input, Lsn::ZERO);
    let _ = redo(&pool, input, span);
    Ok(())
}
