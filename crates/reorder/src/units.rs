//! Divides a transaction into units, which are moved as a whole.
//!
//! Each statement of the transaction's list is a *piece*. Pieces that exist for one query only
//! (formatting, executing, checking, fetching, freeing) are fused into one unit, so that a variable
//! that several queries reuse does not tie them together.
//!
//! Invariants:
//! - UNITS-1. Each piece belongs to one unit, and the pieces of a unit follow each other in the
//!   source.
//! - UNITS-2. A piece with a barrier is a unit of its own, and no unit moves across it.

mod fuse;
mod obstacle;
mod only_ended;
mod piece;
mod status;
mod stream;

use std::collections::BTreeSet;

pub use self::piece::{Asks, Barrier, Exit, Piece, UnitQuery};
use crate::{
    flow::{Flow, access::AccessKind, graph::NodeIndex, place::Place},
    schema::Schema,
    solve::UnitIndex,
    source::Range,
    transaction::Transaction,
};

/// A part of a transaction that is moved as a whole.
#[derive(Debug)]
pub struct Unit<'a> {
    /// Its pieces, in the order of the source.
    pub pieces: Vec<Piece<'a>>,
}

impl<'a> Unit<'a> {
    /// Returns the range from the first piece to the last.
    pub fn range(&self) -> Range {
        let last = self.pieces.last().expect("a unit has a piece");
        Range::new(self.pieces[0].range.start, last.range.end)
    }

    /// Returns its queries.
    pub fn queries(&self) -> impl Iterator<Item = &UnitQuery> + '_ {
        self.pieces.iter().flat_map(|piece| &piece.queries)
    }

    /// Returns why nothing may move across the unit.
    pub fn barriers(&self) -> impl Iterator<Item = &Barrier> + '_ {
        self.pieces.iter().flat_map(|piece| &piece.barriers)
    }

    /// Returns true if nothing may move across the unit.
    pub fn is_barrier(&self) -> bool {
        self.barriers().next().is_some()
    }

    /// Returns the ways out of the transaction.
    pub fn exits(&self) -> impl Iterator<Item = &Exit> + '_ {
        self.pieces.iter().flat_map(|piece| &piece.exits)
    }

    /// Returns the nodes of its pieces.
    pub fn nodes(&self) -> impl Iterator<Item = NodeIndex> + '_ {
        self.pieces.iter().flat_map(|piece| piece.nodes.iter().copied())
    }

    /// Returns the nodes of its pieces behind which the transaction may go on. What the others do
    /// no later unit sees, since control takes an exit behind them.
    pub fn continuing_nodes(&self) -> impl Iterator<Item = NodeIndex> + '_ {
        let of_piece = |piece: &'_ Piece<'a>| {
            let continues = |node: &NodeIndex| !piece.leaving.contains(node);
            piece.nodes.iter().copied().filter(continues).collect::<Vec<_>>()
        };
        self.pieces.iter().flat_map(of_piece)
    }
}

/// The units of a transaction, in the order of the source.
#[derive(Debug)]
pub struct Units<'a> {
    /// The units.
    pub units: Vec<Unit<'a>>,
    /// Of each node of the function, the unit that it belongs to.
    of_node: Vec<Option<UnitIndex>>,
    /// Of each unit, what it writes where the transaction may go on behind.
    written: Vec<BTreeSet<Place>>,
}

impl<'a> Units<'a> {
    /// Divides a transaction.
    pub fn of(
        flow: &Flow<'a, '_>,
        transaction: &Transaction<'a>,
        schema: &Schema,
        text: &str,
        directives: &[Range],
    ) -> Units<'a> {
        let pieces = piece::pieces(flow, transaction, schema, text, directives);
        let mut units = fuse::fuse(flow, pieces);
        stream::stop_at_open_results(flow, &mut units);
        Units::of_units(flow, units)
    }

    /// Makes units of a function from their pieces.
    pub(crate) fn of_units(flow: &Flow<'a, '_>, units: Vec<Unit<'a>>) -> Units<'a> {
        let mut of_node = vec![None; flow.graph.nodes.len()];
        for (index, unit) in units.iter().enumerate() {
            unit.nodes().for_each(|node| of_node[node] = Some(index));
        }
        let written = units.iter().map(|unit| written(flow, unit)).collect();
        Units { units, of_node, written }
    }

    /// Returns the places that a unit writes where the transaction may go on behind, each once.
    pub(crate) fn written(&self, unit: UnitIndex) -> &BTreeSet<Place> {
        &self.written[unit]
    }

    /// Returns true if the transaction may go on behind a unit on a path on which a query of the
    /// unit has failed.
    pub(crate) fn hides_failure(&self, flow: &Flow<'a, '_>, unit: UnitIndex) -> bool {
        let behind = self.units[unit + 1..].iter().find_map(|unit| unit.nodes().next());
        behind.is_some_and(|behind| status::hides_failure(flow, &self.units[unit], behind))
    }

    /// Returns the unit that a node belongs to; `None` if it is not of the transaction.
    pub fn of_node(&self, node: NodeIndex) -> Option<UnitIndex> {
        self.of_node[node]
    }
}

fn written(flow: &Flow<'_, '_>, unit: &Unit<'_>) -> BTreeSet<Place> {
    let accesses = unit.continuing_nodes().flat_map(|node| &flow.effects[node].accesses);
    let writes = accesses.filter(|access| access.kind != AccessKind::Read);
    writes.map(|access| access.place.clone()).collect()
}

/// Returns the reads of a piece that may see writes of other pieces: its own, and those of the
/// code that an exit leads to. Each with the node at which it reads.
pub(crate) fn exposed<'f>(
    flow: &'f Flow<'_, '_>,
    piece: &'f Piece<'_>,
) -> Vec<(NodeIndex, &'f Place)> {
    let own = piece
        .nodes
        .iter()
        .flat_map(|&node| flow.exposed_reads(node).into_iter().map(move |place| (node, place)))
        .filter(|(node, place)| !piece.only_ended.contains(&(*node, (*place).clone())));
    let behind =
        piece.exits.iter().flat_map(|exit| exit.reads.iter().map(move |place| (exit.node, place)));
    let all: BTreeSet<(NodeIndex, &Place)> = own.chain(behind).collect();
    all.into_iter().collect()
}
