//! Fuses pieces that exist for one query only.
//!
//! 1. A piece that uses the result of a query (its rows, its status, the error that it left on the
//!    connection) belongs to the query's unit, if it uses the result of no other query.
//! 2. A piece without a query whose values only one unit uses belongs to that unit: it formats a
//!    text, or fills the array of parameters.
//! 3. A piece that only sets a variable to a constant belongs to the unit that wrote the variable
//!    before, if it stands directly behind it: `res = NULL`. If it is the only such piece, and
//!    other units write the variable too, it is for what follows all of them, and belongs to none.
//! 4. A piece that tests a number to find out whether the query before it has succeeded belongs to
//!    the query's unit: `if (rc) goto fail` behind `rc = run(query)`.
//! 5. A unit is contiguous. What stands between its first and its last piece belongs to it, unless
//!    that is a piece of another unit with a query: then the unit ends before it.
//!
//! Fusion is always legal: it only moves less.

use std::collections::{BTreeMap, BTreeSet};

use super::{Piece, Unit, exposed, status};
use crate::{
    flow::{
        Flow,
        access::AccessKind,
        place::{Place, Root},
    },
    ir::{ExpressionKind, Statement, StatementKind, VariableIndex},
};

/// Fuses pieces to units.
pub(super) fn fuse<'a>(flow: &Flow<'a, '_>, pieces: Vec<Piece<'a>>) -> Vec<Unit<'a>> {
    let uses = Uses::of(flow, &pieces);
    let mut owner: Vec<Option<usize>> = (0..pieces.len())
        .map(|at| (!pieces[at].queries.is_empty() && is_free(&pieces[at])).then_some(at))
        .collect();
    join_results(flow, &pieces, &uses, &mut owner);
    join_checks(flow, &pieces, &mut owner);
    join_objects(flow, &pieces, &mut owner);
    join_preparations(&pieces, &uses, &mut owner);
    join_resets(flow, &pieces, &mut owner);
    runs(pieces, &owner)
}

fn is_free(piece: &Piece<'_>) -> bool {
    piece.barriers.is_empty()
}

/// A value that flows from a piece to another.
struct Use {
    from: usize,
    to: usize,
    place: Place,
}

/// The values that flow between pieces.
struct Uses {
    /// The uses, in the order of the pieces that they flow to.
    all: Vec<Use>,
    /// The pieces with a value that is used outside of the transaction.
    used_outside: BTreeSet<usize>,
}

impl Uses {
    fn of(flow: &Flow<'_, '_>, pieces: &[Piece<'_>]) -> Uses {
        let of_node: BTreeMap<usize, usize> = pieces
            .iter()
            .enumerate()
            .flat_map(|(at, piece)| piece.nodes.iter().map(move |&node| (node, at)))
            .collect();
        let (mut all, mut used_outside) = (Vec::new(), BTreeSet::new());
        for (to, piece) in pieces.iter().enumerate() {
            for (node, place) in exposed(flow, piece) {
                for definition in flow.reaching(node, place) {
                    if let Some(&from) = of_node.get(&flow.definitions.all[definition].node)
                        && from != to
                    {
                        all.push(Use { from, to, place: place.clone() });
                    }
                }
            }
        }
        for (at, piece) in pieces.iter().enumerate() {
            let writes_seen_outside = piece.nodes.iter().any(|&node| {
                let accesses = &flow.effects[node].accesses;
                accesses.iter().any(|access| {
                    let root = &access.place.root;
                    let is_own = matches!(root, Root::Variable(_) | Root::Last | Root::LastWrite);
                    !is_own && !root.is_object() && access.kind != AccessKind::Read
                })
            });
            if writes_seen_outside {
                used_outside.insert(at);
            }
        }
        Uses { all, used_outside }
    }

    /// Returns the values that flow to a piece.
    fn to(&self, at: usize) -> &[Use] {
        let (first, end) = (
            self.all.partition_point(|one| one.to < at),
            self.all.partition_point(|one| one.to <= at),
        );
        &self.all[first..end]
    }
}

/// Gives pieces that use the result of exactly one query to that query's unit.
fn join_results(
    flow: &Flow<'_, '_>,
    pieces: &[Piece<'_>],
    uses: &Uses,
    owner: &mut [Option<usize>],
) {
    let error = Place::error();
    for at in 0..pieces.len() {
        if owner[at].is_some() || !is_free(&pieces[at]) {
            continue;
        }
        // Code behind an exit that prints the error does so for any query: the exit belongs to one
        // of which the piece uses something else as well.
        let asks = pieces[at].nodes.iter().any(|&node| flow.exposed_reads(node).contains(&&error));
        let own = uses.to(at);
        let uses_more = |from: usize| own.iter().any(|one| one.from == from && one.place != error);
        let results = own.iter().filter(|one| {
            let root = &one.place.root;
            let is_last = matches!(root, Root::Last | Root::LastWrite);
            let is_asked = one.place != error || asks || uses_more(one.from);
            root.is_object() || is_last && is_asked
        });
        let owners: BTreeSet<Option<usize>> = results.map(|one| owner[one.from]).collect();
        if let [Some(only)] = owners.into_iter().collect::<Vec<_>>()[..] {
            owner[at] = Some(only);
        }
    }
}

/// Gives pieces that check a query by a number to the query's unit.
fn join_checks(flow: &Flow<'_, '_>, pieces: &[Piece<'_>], owner: &mut [Option<usize>]) {
    for at in 0..pieces.len() {
        if owner[at].is_none()
            && is_free(&pieces[at])
            && let Some(query) = status::checked_by_number(flow, pieces, at)
        {
            owner[at] = owner[query];
        }
    }
}

/// Gives pieces that use a result or a statement to the unit of the only query that uses it: those
/// that prepare, bind and finalize.
fn join_objects(flow: &Flow<'_, '_>, pieces: &[Piece<'_>], owner: &mut [Option<usize>]) {
    let mut users: BTreeMap<&Root, BTreeSet<usize>> = BTreeMap::new();
    for (at, piece) in pieces.iter().enumerate() {
        let accesses = piece.nodes.iter().flat_map(|&node| &flow.effects[node].accesses);
        let own = accesses.map(|access| &access.place.root);
        let behind = piece.exits.iter().flat_map(|exit| &exit.reads).map(|place| &place.root);
        for root in own.chain(behind).filter(|root| root.is_object()) {
            users.entry(root).or_default().insert(at);
        }
    }
    for users in users.values() {
        let owners: BTreeSet<usize> = users.iter().filter_map(|&at| owner[at]).collect();
        if let [only] = owners.into_iter().collect::<Vec<_>>()[..] {
            for &at in users.iter().filter(|&&at| is_free(&pieces[at])) {
                owner[at] = owner[at].or(Some(only));
            }
        }
    }
}

/// Gives pieces whose values only one unit uses to that unit, the last ones first.
fn join_preparations(pieces: &[Piece<'_>], uses: &Uses, owner: &mut [Option<usize>]) {
    for at in (0..pieces.len()).rev() {
        let piece = &pieces[at];
        let declares = matches!(piece.statement.kind, StatementKind::Declare(_));
        let stays = declares || !piece.exits.is_empty() || uses.used_outside.contains(&at);
        if owner[at].is_some() || !is_free(piece) || stays {
            continue;
        }
        let users: BTreeSet<Option<usize>> =
            uses.all.iter().filter(|one| one.from == at).map(|one| owner[one.to]).collect();
        if let [Some(only)] = users.into_iter().collect::<Vec<_>>()[..] {
            owner[at] = Some(only);
        }
    }
}

/// Gives pieces that only set a variable to a constant to the unit of the piece before them, if
/// that unit wrote the variable.
fn join_resets(flow: &Flow<'_, '_>, pieces: &[Piece<'_>], owner: &mut [Option<usize>]) {
    let mut resets: Vec<(VariableIndex, usize, usize)> = Vec::new();
    for at in 1..pieces.len() {
        let Some(before) = owner[at - 1].filter(|_| owner[at].is_none() && is_free(&pieces[at]))
        else {
            continue;
        };
        let Some(variable) = reset(pieces[at].statement) else { continue };
        let place = Place::whole(Root::Variable(variable));
        let mut earlier = pieces[..at].iter().zip(&owner[..at]);
        let writes = earlier.any(|(piece, &of)| {
            let mut accesses = piece.nodes.iter().flat_map(|&node| &flow.effects[node].accesses);
            of == Some(before)
                && accesses.any(|one| one.place == place && one.kind != AccessKind::Read)
        });
        if writes {
            resets.push((variable, at, before));
        }
    }
    let joins: Vec<(usize, usize)> = resets
        .iter()
        .filter(|&&(variable, _, before)| {
            let is_only = resets.iter().filter(|(one, ..)| *one == variable).count() == 1;
            !is_only || writers(flow, pieces, owner, variable).all(|unit| unit == before)
        })
        .map(|&(_, at, before)| (at, before))
        .collect();
    joins.into_iter().for_each(|(at, before)| owner[at] = Some(before));
}

/// Returns the units with a piece that writes a variable.
fn writers<'f>(
    flow: &'f Flow<'_, '_>,
    pieces: &'f [Piece<'_>],
    owner: &'f [Option<usize>],
    variable: VariableIndex,
) -> impl Iterator<Item = usize> + 'f {
    let place = Place::whole(Root::Variable(variable));
    let writes = move |piece: &Piece<'_>| {
        let mut accesses = piece.nodes.iter().flat_map(|&node| &flow.effects[node].accesses);
        accesses.any(|one| one.place == place && one.kind != AccessKind::Read)
    };
    pieces.iter().zip(owner).filter_map(move |(piece, of)| of.filter(|_| writes(piece)))
}

/// Returns the variable that a statement only sets to a constant.
fn reset(statement: &Statement) -> Option<VariableIndex> {
    let StatementKind::Evaluate(expression) = &statement.kind else { return None };
    let ExpressionKind::Assign { operator: None, target, value } = &expression.kind else {
        return None;
    };
    match (&target.kind, &value.kind) {
        (ExpressionKind::Variable(variable), ExpressionKind::Constant(_)) => Some(*variable),
        _ => None,
    }
}

/// Makes units of the runs of pieces with the same owner.
fn runs<'a>(pieces: Vec<Piece<'a>>, owner: &[Option<usize>]) -> Vec<Unit<'a>> {
    let mut units: Vec<Unit<'a>> = Vec::new();
    let mut open: Option<usize> = None;
    let mut left: BTreeMap<usize, usize> = BTreeMap::new();
    owner.iter().flatten().for_each(|&one| *left.entry(one).or_default() += 1);
    for (at, piece) in pieces.into_iter().enumerate() {
        // A piece without an owner is carried along if the unit goes on behind it.
        let carried = open.filter(|one| left[one] > 0 && is_free(&piece));
        let of = owner[at].or(carried);
        if let Some(of) = owner[at] {
            *left.entry(of).or_default() -= 1;
        }
        match units.last_mut() {
            Some(unit) if of.is_some() && of == open => unit.pieces.push(piece),
            _ => units.push(Unit { pieces: vec![piece] }),
        }
        open = of;
    }
    units
}
