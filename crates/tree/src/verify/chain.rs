//! The overflow pages of one value.

use clearway_base::{Lsn, PageId, Result};
use clearway_pool::SharedPage;
use clearway_sync::Backoff;

use super::TreeReport;
use crate::need::drive_reads;
use crate::node::Node;
use crate::overflow::{self, OverflowRef};
use crate::{LeafHint, Tree};

/// The number of reads of a chain that seems damaged while its leaf changes between all of them.
/// Two are enough for damage if the leaf does not change.
const READS_MAX: usize = 100;

/// A value that stands in overflow pages.
pub(super) struct Value {
    pub(super) key: Vec<u8>,
    pub(super) reference: Vec<u8>,
}

impl Tree {
    /// Reads a value through and counts its pages. Without latch or lock, the chain may be freed
    /// meanwhile: a chain that seems damaged is judged by [`read_while_led_to`].
    pub(super) fn verify_value(&self, value: &Value, report: &mut TreeReport) -> Result<()> {
        let read = read_while_led_to(|| self.read_through(value), || self.leads_to(value))?;
        if let Some((pages, len)) = read {
            report.overflow_pages += pages.len() as u64;
            report.value_bytes += len;
            report.pages.extend(pages);
        }
        Ok(())
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

    /// Returns the page LSN of the leaf if the record, live, has this very reference.
    fn leads_to(&self, value: &Value) -> Result<Option<Lsn>> {
        drive_reads(&self.pool, || {
            let leaf: SharedPage<'_> =
                self.leaf(&value.key, &mut LeafHint::default(), &mut None)?;
            let node = Node::new(&*leaf);
            let leads = node.find(&value.key).is_ok_and(|slot| {
                let is_reference = !node.is_ghost(slot) && node.is_overflow(slot);
                is_reference && node.value(slot) == value.reference
            });
            Ok(leads.then(|| leaf.page_lsn()))
        })
    }
}

/// Reads a chain with `read` as long as it seems damaged and a record leads to it. `leads_to`
/// returns the page LSN of the record's leaf while it does. Returns `None` once no record leads
/// there.
///
/// A chain is freed only after its record has changed, and with it the leaf's page LSN. So a chain
/// is damaged if the leaf is the same before and after the read. If it is not, the value may have
/// been replaced by itself, in the very pages of the old chain, while they were read.
fn read_while_led_to<T>(
    mut read: impl FnMut() -> Result<T>,
    mut leads_to: impl FnMut() -> Result<Option<Lsn>>,
) -> Result<Option<T>> {
    let backoff = Backoff::new();
    let mut before = None;
    for reads in 1.. {
        let error = match read() {
            Ok(value) => return Ok(Some(value)),
            Err(error) => error,
        };
        let after = leads_to()?;
        if after.is_none() {
            return Ok(None);
        }
        if after == before || reads == READS_MAX {
            return Err(error);
        }
        before = after;
        backoff.snooze();
    }
    Ok(None)
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use clearway_base::Error;

    use super::*;

    fn damaged<T>() -> Result<T> {
        Err(Error::corrupt("data", "page 7: of another tree"))
    }

    /// A run of `read_while_led_to`: the results of the reads, and the leaf's LSN after each.
    fn run(reads: &[bool], leaf: &[Option<u64>]) -> (Result<Option<()>>, usize) {
        let (mut done, mut leaf) = (0, leaf.iter());
        let read = || {
            done += 1;
            if reads[(done - 1).min(reads.len() - 1)] { Ok(()) } else { damaged() }
        };
        let result = read_while_led_to(read, || Ok(leaf.next().unwrap().map(Lsn)));
        (result, done)
    }

    #[test]
    fn chain_below_an_unchanged_leaf_is_damaged() {
        let (result, reads) = run(&[false], &[Some(5), Some(5)]);
        assert!(matches!(result, Err(Error::Corrupt { .. })), "{result:?}");
        assert_eq!(reads, 2);
    }

    #[test]
    fn chain_whose_value_is_replaced_by_itself_is_not() {
        let leaf: Vec<_> = (0..50).map(Some).collect();
        let reads: Vec<_> = (0..50).map(|read| read == 49).collect();
        assert!(matches!(run(&reads, &leaf), (Ok(Some(())), 50)));
        assert!(matches!(run(&[false], &[Some(1), Some(2), None]), (Ok(None), 3)));
    }

    #[test]
    fn damage_below_a_leaf_that_never_rests_is_found() {
        let leaf: Vec<_> = (0..200).map(Some).collect();
        let (result, reads) = run(&[false], &leaf);
        assert!(matches!(result, Err(Error::Corrupt { .. })), "{result:?}");
        assert_eq!(reads, READS_MAX);
    }
}
