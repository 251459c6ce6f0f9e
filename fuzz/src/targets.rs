//! The targets, one file each.

mod api;
mod canary;
mod durable;
mod image;
mod log_record;
mod operation;
mod superblock;
mod torn_page;
mod typed_key;

pub(crate) use api::{drawn, waits};

use crate::target::Target;

/// All targets; the canary comes first.
pub(crate) fn all() -> Vec<Target> {
    vec![
        canary::target(),
        log_record::target(),
        superblock::target(),
        operation::target(),
        torn_page::target(),
        typed_key::target(),
        image::target(),
        api::target(),
    ]
}
