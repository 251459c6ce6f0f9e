//! Variants of transactions: range-lock protocols, and the locks that a commit releases early.
//!
//! # Range-lock protocols
//! A protocol determines the mode that is taken for the mode that the tree requests. The tree
//! always requests exactly the parts that an operation touches. The product takes these; the other
//! two protocols take more, so that the benefit of the orthogonal modes can be measured on one
//! engine. They keep TXN-PARTS-1 to TXN-PARTS-3 of `clearway_txn::parts`.
//!
//! Algorithm: "Efficient Locking Techniques for Databases on Modern Hardware", sections 2.1 and
//! 6.3. As there, the older designs are simulated by the next stronger mode that they have:
//!
//! | wanted | NS | XS | NX | SN | XN | SS | SX | XX | probe NX |
//! | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
//! | orthogonal | NS | XS | NX | SN | XN | SS | SX | XX | NX |
//! | Lomet | SS | XX | SX | SN | XN | SS | SX | XX | NX |
//! | next key | SS | XX | XX | SS | XX | SS | XX | XX | XX |
//!
//! Lomet's set has no RangeS-N, RangeS-X and RangeX-N (NS, XS and NX here). It has RangeX-S, so
//! that is what an exclusive gap becomes, and it has RangeI-N, the *insert* lock of instant
//! duration, which conflicts with locks on the gap and with none on the key: that is the probe of
//! an insert. ARIES/KVL as Shore-MT has it knows S and X of a key together with its range.
//!
//! Differences: in those designs a lock covers the gap *before* its key; here, under each protocol,
//! the gap after it. The conflicts are the same except for the neighbour to which a gap belongs.
//! ARIES/KVL's next-key locks of instant duration for inserts are the probe as XX; those that it
//! takes for deletes are left out, since here a delete leaves a ghost.
//!
//! Two locks of one owner on one key add up part by part, under each protocol. Under Lomet that can
//! give XS, which Lomet's set lacks; but then every lock on a gap is at least shared on its key, so
//! XS conflicts with just what XX does.
//!
//! # Early release
//! The product releases all locks of a commit as soon as its record is in the log buffer, as in the
//! same paper, section 5.3. The other choices are as safe (a result still waits for its own commit
//! record and for every tag that it has met); they differ in how long other transactions wait.

use std::sync::Arc;

use clearway::Options;
use clearway_base::{Lsn, Result};
use clearway_lock::{LockOwner, LockTable, Part, RangeMode};
use clearway_log::Log;
use clearway_txn::parts::{CommitRelease, RangeModes, TxnParts};

/// The chosen parts of transactions.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TxnVariant {
    /// The modes of range locks.
    pub protocol: RangeProtocol,
    /// The locks that a commit releases before it is durable.
    pub early_release: EarlyRelease,
}

impl From<RangeProtocol> for TxnVariant {
    fn from(protocol: RangeProtocol) -> TxnVariant {
        TxnVariant { protocol, ..TxnVariant::default() }
    }
}

impl From<EarlyRelease> for TxnVariant {
    fn from(early_release: EarlyRelease) -> TxnVariant {
        TxnVariant { early_release, ..TxnVariant::default() }
    }
}

impl TxnParts for TxnVariant {
    fn range_modes(&self) -> Option<&'static RangeModes> {
        const LOMET: RangeModes = RangeModes {
            taken: |mode| RangeProtocol::Lomet.taken(mode),
            probed: |mode| RangeProtocol::Lomet.probed(mode),
        };
        const NEXT_KEY: RangeModes = RangeModes {
            taken: |mode| RangeProtocol::NextKey.taken(mode),
            probed: |mode| RangeProtocol::NextKey.probed(mode),
        };
        match self.protocol {
            RangeProtocol::Orthogonal => None,
            RangeProtocol::Lomet => Some(&LOMET),
            RangeProtocol::NextKey => Some(&NEXT_KEY),
        }
    }

    fn commit_release(&self) -> Option<Box<dyn CommitRelease>> {
        match self.early_release {
            EarlyRelease::All => None,
            other => Some(Box::new(other)),
        }
    }
}

/// The options that choose the parts of transactions.
pub trait TxnVariants {
    /// Sets the parts of transactions.
    #[must_use]
    fn txn_variant(self, chosen: impl Into<TxnVariant>) -> Self;
}

impl TxnVariants for Options {
    fn txn_variant(self, chosen: impl Into<TxnVariant>) -> Options {
        let chosen = chosen.into();
        self.engine(|engine| engine.parts = Arc::new(chosen))
    }
}

/// The locks that a committing writer releases before its commit record is durable.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum EarlyRelease {
    /// All locks, as soon as the commit record is in the log buffer: the product's choice.
    #[default]
    All,
    /// The shared ones at once, the exclusive ones when the commit record is durable.
    Shared,
    /// None before the commit record is durable.
    None,
}

impl CommitRelease for EarlyRelease {
    fn before_release(
        &self,
        locks: &LockTable,
        owner: &mut LockOwner,
        log: &Log,
        ack: Lsn,
    ) -> Result<()> {
        match self {
            EarlyRelease::All => return Ok(()),
            EarlyRelease::Shared => locks.release_shared(owner),
            EarlyRelease::None => {}
        }
        log.wait_durable(ack)
    }
}

/// The protocol that maps wanted modes to taken modes. The choice changes the number of waits,
/// never what a transaction may see.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum RangeProtocol {
    /// Key and gap are locked independently of one another.
    #[default]
    Orthogonal,
    /// A lock on a gap is at least as strong on its key, as in Lomet's design.
    Lomet,
    /// Key and gap are locked together, shared or exclusively, as in ARIES/KVL.
    NextKey,
}

impl RangeProtocol {
    /// Returns the mode to take for `wanted`.
    pub const fn taken(self, wanted: RangeMode) -> RangeMode {
        match self {
            RangeProtocol::Orthogonal => wanted,
            RangeProtocol::Lomet => match (wanted.key(), wanted.gap()) {
                (Part::N, Part::S) => RangeMode::SS,
                (Part::X, Part::S) => RangeMode::XX,
                (Part::N, Part::X) => RangeMode::SX,
                _ => wanted,
            },
            RangeProtocol::NextKey => together(wanted),
        }
    }

    /// Returns the mode for the probe of an insert, which checks for an instant that it could have
    /// `wanted`.
    pub const fn probed(self, wanted: RangeMode) -> RangeMode {
        match self {
            RangeProtocol::Orthogonal | RangeProtocol::Lomet => wanted,
            RangeProtocol::NextKey => together(wanted),
        }
    }
}

/// Returns the mode that has the stronger of the two parts as both parts.
const fn together(wanted: RangeMode) -> RangeMode {
    if wanted.is_exclusive() {
        RangeMode::XX
    } else if wanted.is_none() {
        RangeMode::NN
    } else {
        RangeMode::SS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROTOCOLS: [RangeProtocol; 3] =
        [RangeProtocol::Orthogonal, RangeProtocol::Lomet, RangeProtocol::NextKey];

    fn modes() -> Vec<RangeMode> {
        let parts = [Part::N, Part::S, Part::X];
        parts.iter().flat_map(|&key| parts.map(|gap| RangeMode::new(key, gap))).collect()
    }

    fn named(name: &str) -> RangeMode {
        *modes().iter().find(|mode| format!("{mode:?}") == name).expect("a mode")
    }

    #[test]
    fn the_table_above_is_what_is_taken() {
        let header = "NS XS NX SN XN SS SX XX";
        let rows =
            ["NS XS NX SN XN SS SX XX", "SS XX SX SN XN SS SX XX", "SS XX XX SS XX SS XX XX"];
        for (protocol, row) in PROTOCOLS.iter().zip(rows) {
            for (wanted, taken) in header.split(' ').zip(row.split(' ')) {
                assert_eq!(protocol.taken(named(wanted)), named(taken), "{protocol:?}");
            }
            assert_eq!(protocol.taken(RangeMode::NN), RangeMode::NN);
        }
        let probed = PROTOCOLS.map(|protocol| protocol.probed(RangeMode::NX));
        assert_eq!(probed, [RangeMode::NX, RangeMode::NX, RangeMode::XX]);
    }

    #[test]
    fn protocols_only_strengthen() {
        for protocol in PROTOCOLS {
            for mode in modes() {
                let (taken, probed) = (protocol.taken(mode), protocol.probed(mode));
                assert!(taken.covers(mode) && probed.covers(mode), "TXN-PARTS-1");
                assert_eq!(protocol.taken(taken), taken, "TXN-PARTS-2");
                assert!(taken.covers(probed), "TXN-PARTS-3");
                for stronger in modes().into_iter().filter(|stronger| stronger.covers(mode)) {
                    assert!(protocol.taken(stronger).covers(taken), "TXN-PARTS-2");
                    assert!(protocol.probed(stronger).covers(probed), "TXN-PARTS-2");
                }
            }
        }
    }

    #[test]
    fn under_lomet_an_exclusive_key_with_a_shared_gap_is_all_exclusive() {
        let taken: Vec<_> =
            modes().into_iter().map(|mode| RangeProtocol::Lomet.taken(mode)).collect();
        let probe = RangeProtocol::Lomet.probed(RangeMode::NX);
        for other in taken.into_iter().chain([probe]) {
            assert_eq!(
                RangeMode::XS.compatible(other),
                RangeMode::XX.compatible(other),
                "{other:?}"
            );
        }
    }
}
