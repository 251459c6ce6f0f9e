//! Results whose rows the server may still send when the call returns.
//!
//! Until the last row is fetched, the connection takes no other query. The unit that runs such a
//! query must therefore also fetch its rows; otherwise both parts become barriers. Code behind the
//! end of the transaction does not count: between the query and that code stands the commit, unless
//! an exit of the query's own unit leads there.

use std::collections::BTreeSet;

use super::{Barrier, Unit, exposed};
use crate::flow::{
    Flow,
    place::{Place, Root},
};

/// Makes barriers of the units that share a result whose rows may still be on the way.
pub(super) fn stop_at_open_results(flow: &Flow<'_, '_>, units: &mut [Unit<'_>]) {
    let mut open = BTreeSet::new();
    for (at, unit) in units.iter().enumerate() {
        let streaming: Vec<usize> = unit.nodes().filter(|&node| flow.may_stream(node)).collect();
        for (other, later) in units.iter().enumerate().skip(at + 1) {
            if later.barriers().any(|barrier| *barrier == Barrier::Outside) {
                continue;
            }
            if streaming.iter().any(|&node| fetches(flow, later, node)) {
                open.extend([at, other]);
            }
        }
    }
    for at in open {
        let reason = "rows of a result may still be on the way".to_string();
        units[at].pieces[0].barriers.push(Barrier::Because(reason));
    }
}

/// Returns true if a unit uses an object or a statement that a node has written.
fn fetches(flow: &Flow<'_, '_>, unit: &Unit<'_>, node: usize) -> bool {
    let is_result = |place: &Place| {
        !matches!(place.root, Root::Variable(_) | Root::Last | Root::LastWrite | Root::Outside)
    };
    unit.pieces.iter().flat_map(|piece| exposed(flow, piece)).any(|(at, place)| {
        is_result(place)
            && flow.reaching(at, place).iter().any(|&one| flow.definitions.all[one].node == node)
    })
}
