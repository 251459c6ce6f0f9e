//! Reads, and the faults that affect them.

use std::io;

use clearway_base::Result;

use super::{
    contents::sectors,
    fault::{ReadFault, SimEvent, SimOperation},
    names::FileId,
    state::{State, failure},
};
use crate::Random;

/// Makes the draws for reads differ from those for other operations of the same number.
const READ_SALT: u64 = 0x5EAD;

impl State {
    pub(super) fn read(
        &mut self,
        (id, name): (FileId, &str),
        buf: &mut [u8],
        offset: u64,
    ) -> Result<usize> {
        let operation = SimOperation::Read;
        self.check_power(operation.verb(), name)?;
        self.reads += 1;
        let live = &self.files[id].live;
        let got = live.len.saturating_sub(offset).min(buf.len() as u64) as usize;
        live.copy_to(&mut buf[..got], offset);
        let fault = self.plan.effect_on_read(self.seed ^ READ_SALT, self.reads);
        if let Some(fault) = fault {
            self.apply_read_fault(id, &mut buf[..got], offset, fault);
        }
        let failed = fault == Some(ReadFault::Fail);
        let (number, len, bytes) = (self.reads, buf.len() as u64, &buf[..got]);
        self.show(&SimEvent { number, operation, name, offset, len, bytes, failed });
        if failed { Err(failure(operation, name, io::ErrorKind::Other)) } else { Ok(got) }
    }

    fn apply_read_fault(&self, id: FileId, buf: &mut [u8], offset: u64, fault: ReadFault) {
        let mut draws = Random::stream(self.seed ^ READ_SALT, self.reads);
        match fault {
            ReadFault::Fail => (),
            ReadFault::FlipBit => {
                let bit = draws.below(buf.len() as u64 * 8) as usize;
                if let Some(byte) = buf.get_mut(bit / 8) {
                    *byte ^= 1 << (bit % 8);
                }
            }
            ReadFault::StaleSector => self.make_stale(id, buf, offset, draws),
            ReadFault::Misdirected => {
                if let Some(other) = self.elsewhere(id, offset, buf.len(), &mut draws) {
                    self.files[id].live.copy_to(buf, other);
                }
            }
        }
    }

    /// Replaces one sector by its previous contents. The sector is drawn from those whose previous
    /// contents differ.
    fn make_stale(&self, id: FileId, buf: &mut [u8], offset: u64, mut draws: Random) {
        let end = offset + buf.len() as u64;
        let stale: Vec<_> = sectors(offset, end)
            .filter_map(|sector| {
                let (from, to) = (sector.start.max(offset), sector.end.min(end));
                let mut old = vec![0; (to - from) as usize];
                self.files[id].old.copy_to(&mut old, from);
                let at = (from - offset) as usize;
                (buf[at..at + old.len()] != old[..]).then_some((at, old))
            })
            .collect();
        if let Some((at, old)) = stale.get(draws.below(stale.len() as u64) as usize) {
            buf[*at..at + old.len()].copy_from_slice(old);
        }
    }
}
