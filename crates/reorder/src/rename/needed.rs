//! The names that the new order needs.
//!
//! In the order that is best if each web has a name of its own, two webs of a variable conflict if
//! a write of one comes between a read of the other and the writes that the read sees. Webs without
//! conflict share a name, as values without conflict share a register: each web gets the first name
//! that no web with a conflict has. So a variable keeps its name where the order allows it. Webs
//! that nothing reads come last. They get no name of their own: if they conflict with all names, a
//! web that is read gets a new name with them.

use std::collections::BTreeMap;

use super::{Plan, edits::Named};
use crate::{
    flow::{
        access::AccessKind,
        graph::NodeIndex,
        place::{Place, Root},
    },
    ir::VariableIndex,
    legality::{Context, Read, writers},
    solve::UnitIndex,
};

/// Two statements that conflict, by their offsets in the text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Conflicting {
    pub(super) write: usize,
    pub(super) read: usize,
}

/// The conflicts of a variable's webs: of each pair, the first one.
#[derive(Default, Debug)]
pub(super) struct Conflicts {
    pairs: BTreeMap<(usize, usize), Conflicting>,
}

/// The names that a variable's webs share.
pub(super) struct Shared {
    /// The name of each web, 0 for the variable's own.
    pub(super) of_web: Vec<usize>,
    /// Of each other name, the conflict that demands it.
    pub(super) reasons: Vec<Conflicting>,
    /// Webs that nothing reads and that conflict with all names; they have the variable's own.
    pub(super) unplaced: Vec<usize>,
}

impl Conflicts {
    /// Finds the conflicts of a transaction in which each web has a name of its own, for an order
    /// of its units. `reads` are those of all units.
    pub(super) fn of(
        context: &Context<'_, '_, '_>,
        reads: &[Read],
        order: &[UnitIndex],
        named: &Named<'_>,
    ) -> Conflicts {
        let mut found = Conflicts::default();
        let web_of = webs(context, named);
        let mut place = vec![0; order.len()];
        order.iter().enumerate().for_each(|(at, &unit)| place[unit] = at);
        for read in reads {
            let Root::Variable(variable) = read.place.root else { continue };
            let Some(&own) = web_of.get(&variable) else { continue };
            for (&other, &web) in web_of.iter().filter(|(_, web)| **web != own) {
                let whole = Place::whole(Root::Variable(other));
                for unit in writers(context, &whole) {
                    if unit == read.unit || read.writers.contains(&unit) {
                        continue;
                    }
                    let comes_between = match read.writers.first() {
                        Some(&from) if !read.from_before => {
                            from != read.unit
                                && place[from] <= place[unit]
                                && place[unit] <= place[read.unit]
                        }
                        _ => (place[unit] < place[read.unit]) != (unit < read.unit),
                    };
                    if comes_between {
                        let write = statement(context, unit, other, false);
                        let read = statement(context, read.unit, variable, true);
                        let pair = (own.min(web), own.max(web));
                        found.pairs.entry(pair).or_insert(Conflicting { write, read });
                    }
                }
            }
        }
        found
    }

    /// Adds the conflicts of a later transaction.
    pub(super) fn add(&mut self, later: Conflicts) {
        for (pair, one) in later.pairs {
            self.pairs.entry(pair).or_insert(one);
        }
    }

    fn between(&self, one: usize, other: usize) -> Option<Conflicting> {
        self.pairs.get(&(one.min(other), one.max(other))).copied()
    }

    /// Returns the names of a variable's webs.
    pub(super) fn names(&self, plan: &Plan) -> Shared {
        let mut of_web = vec![None; plan.webs.len()];
        of_web[0] = Some(0);
        let (mut reasons, mut unplaced) = (Vec::new(), Vec::new());
        let (read, unread): (Vec<usize>, Vec<usize>) =
            (1..plan.webs.len()).partition(|&web| plan.webs[web].is_read);
        for &web in read.iter().chain(&unread) {
            let conflict = |name: usize| {
                let sharing = of_web.iter().enumerate().filter(|(_, one)| **one == Some(name));
                sharing.into_iter().find_map(|(other, _)| self.between(web, other))
            };
            let free = (0..=reasons.len()).find(|&name| conflict(name).is_none());
            let shares = |other: &&usize| self.between(web, **other).is_none();
            let partner =
                if plan.webs[web].is_read { Some(&web) } else { read.iter().find(shares) };
            of_web[web] = match (free, partner) {
                (Some(_), _) => free,
                (None, Some(&partner)) => {
                    reasons.extend(conflict(0));
                    of_web[partner] = Some(reasons.len());
                    Some(reasons.len())
                }
                (None, None) => {
                    unplaced.push(web);
                    Some(0)
                }
            };
        }
        let of_web = of_web.into_iter().map(|name| name.unwrap_or(0)).collect();
        Shared { of_web, reasons, unplaced }
    }
}

/// Returns the variables of the webs.
fn webs(context: &Context<'_, '_, '_>, named: &Named<'_>) -> BTreeMap<VariableIndex, usize> {
    let mut of = BTreeMap::new();
    for web in 0..named.plan.webs.len() {
        let name = named.name(web);
        for (index, one) in context.program.variables.iter().enumerate() {
            let variable = VariableIndex(index);
            let is_used = || {
                let root = Root::Variable(variable);
                let mut effects = context.flow.effects.iter().skip(1);
                effects.any(|one| one.accesses.iter().any(|access| access.place.root == root))
            };
            if one.name == name && is_used() {
                of.insert(variable, web);
            }
        }
    }
    of
}

/// Returns the begin of the first statement of a unit that reads or writes a variable.
fn statement(
    context: &Context<'_, '_, '_>,
    unit: UnitIndex,
    variable: VariableIndex,
    reads: bool,
) -> usize {
    let unit = &context.units.units[unit];
    let touches = |node: &NodeIndex| {
        context.flow.effects[*node].accesses.iter().any(|one| {
            one.place.root == Root::Variable(variable) && (one.kind == AccessKind::Read) == reads
        })
    };
    let node = unit.nodes().find(touches);
    node.map_or(unit.range().start, |node| context.flow.graph.nodes[node].range.start)
}
