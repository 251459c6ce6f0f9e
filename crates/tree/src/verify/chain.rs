//! The overflow pages of one value.

use clearway_base::{PageId, Result};
use clearway_pool::SharedPage;
use clearway_sync::Backoff;

use super::TreeReport;
use crate::need::drive_reads;
use crate::node::Node;
use crate::overflow::{self, OverflowRef};
use crate::{LeafHint, Tree};

/// The maximum number of reads of a chain that seems damaged. If it is not damaged, another thread
/// has replaced the value by an equal one during each read, and the new chain has got the very
/// pages of the old one.
const LOOKS_MAX: usize = 10;

/// A value that stands in overflow pages.
pub(super) struct Value {
    pub(super) key: Vec<u8>,
    pub(super) reference: Vec<u8>,
}

impl Tree {
    /// Reads a value through and counts its pages. Without latch or lock, the chain may be freed
    /// meanwhile; a damaged chain counts only if the record still leads to it afterwards, and then
    /// only if it stays damaged.
    pub(super) fn verify_value(&self, value: &Value, report: &mut TreeReport) -> Result<()> {
        let backoff = Backoff::new();
        let mut result = self.read_through(value);
        for _ in 1..LOOKS_MAX {
            if result.is_ok() || !self.still_leads(value)? {
                break;
            }
            backoff.snooze();
            result = self.read_through(value);
        }
        match result {
            Ok((pages, len)) => {
                report.overflow_pages += pages.len() as u64;
                report.value_bytes += len;
                report.pages.extend(pages);
                Ok(())
            }
            Err(error) if self.still_leads(value)? => Err(error),
            Err(_) => Ok(()),
        }
    }

    fn read_through(&self, value: &Value) -> Result<(Vec<PageId>, u64)> {
        let chain = OverflowRef::of_record(&value.reference)?;
        overflow::load(&self.pool, self.id, chain, &mut Vec::new())?;
        let (mut pages, mut rest) = (Vec::new(), chain);
        while !rest.is_empty() {
            let (some, next) = overflow::front(&self.pool, self.id, rest)?;
            pages.extend(some);
            rest = next;
        }
        for &page in &pages {
            if !self.space.is_allocated(page)? {
                return Err(self.misplaced(page, "in use, but free in the space map".into()));
            }
        }
        Ok((pages, chain.len))
    }

    /// Whether the record, live, still has this very reference.
    fn still_leads(&self, value: &Value) -> Result<bool> {
        drive_reads(&self.pool, || {
            let leaf: SharedPage<'_> =
                self.leaf(&value.key, &mut LeafHint::default(), &mut None)?;
            let node = Node::new(&*leaf);
            Ok(node.find(&value.key).is_ok_and(|slot| {
                let is_reference = !node.is_ghost(slot) && node.is_overflow(slot);
                is_reference && node.value(slot) == value.reference
            }))
        })
    }
}
