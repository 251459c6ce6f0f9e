//! Accesses of a variable through pointers: an array of parameters that holds the address of a
//! buffer, a statement to which a buffer is bound.
//!
//! The token that takes the address and the accesses that use the address must share a name. The
//! address is followed from the token through the variables that hold it, by the definitions that
//! reach the access. An access that no token is found for forbids the renaming.

use std::collections::BTreeSet;

use super::{
    tokens::Use,
    webs::{End, Ends, Unclear, before, behind},
};
use crate::{
    api::Returns,
    flow::{
        graph::{NodeIndex, NodeKind},
        place::Root,
        reaching::DefinitionIndex,
    },
    ir::{Expression, ExpressionKind as Kind, Type, VariableIndex},
};

pub(super) struct Pointers<'e, 's, 'a, 'p> {
    pub(super) ends: &'e mut Ends<'s, 'a, 'p>,
    pub(super) uses: &'e [Use],
}

impl Pointers<'_, '_, '_, '_> {
    /// Joins the ends of tokens that take the address with those of the accesses that use it.
    pub(super) fn join(&mut self) -> Result<(), Unclear> {
        let with_token: BTreeSet<NodeIndex> = self.uses.iter().map(|one| one.node).collect();
        let accesses: BTreeSet<NodeIndex> =
            self.ends.reads.union(&self.ends.writes).copied().collect();
        let mut found: BTreeSet<NodeIndex> = BTreeSet::new();
        for (holder, definition) in self.carriers() {
            for &site in &accesses {
                if self.uses_carrier(site, definition) {
                    self.join_sites(holder, site);
                    found.extend([holder, site]);
                }
            }
        }
        for &site in &with_token {
            for other in self.bound_from(site) {
                if accesses.contains(&other) {
                    self.join_sites(site, other);
                    found.extend([site, other]);
                }
            }
        }
        for &site in &with_token {
            if !accesses.contains(&site) && !found.contains(&site) {
                self.ends.join_base(before(site));
            }
        }
        let lost = accesses.iter().find(|&&site| {
            !with_token.contains(&site) && !found.contains(&site) && !self.is_first(site)
        });
        match lost {
            Some(&site) => Err((site, "it is reached through a pointer that is not followed")),
            None => Ok(()),
        }
    }

    /// Returns true for the entry of the function and for the declaration.
    fn is_first(&self, site: NodeIndex) -> bool {
        let declares = match self.ends.all.flow.graph.nodes[site].kind {
            NodeKind::Declare(one) => one.variable == self.ends.variable,
            _ => false,
        };
        site == 0 || declares
    }

    fn join_sites(&mut self, token: NodeIndex, access: NodeIndex) {
        let token = self.end_of_token(token);
        for end in self.ends.ends(access) {
            self.ends.join(token, end);
        }
    }

    /// Returns the end of a token that takes an address; the ends of a site that also reads and
    /// writes are joined.
    fn end_of_token(&mut self, site: NodeIndex) -> End {
        if let Some(end) = self.ends.end_of(site) {
            return end;
        }
        self.ends.join(before(site), behind(site));
        before(site)
    }

    /// Returns the definitions that store the address, each with the site whose token takes it.
    fn carriers(&self) -> Vec<(NodeIndex, DefinitionIndex)> {
        let flow = self.ends.all.flow;
        let all = || flow.definitions.all.iter().enumerate();
        let holds = |one: Option<VariableIndex>| {
            let program = self.ends.all.program;
            one.is_some_and(|one| !matches!(program.variable(one).ty, Type::Scalar(_)))
        };
        let mut found: Vec<(NodeIndex, DefinitionIndex)> = all()
            .filter(|(_, one)| one.place.variable() != Some(self.ends.variable))
            .filter(|(_, one)| holds(one.place.variable()))
            .filter(|(_, one)| {
                one.value.is_some_and(|value| self.carries(value, self.ends.variable))
            })
            .map(|(index, one)| (self.ends.site(one.node), index))
            .collect();
        let mut next = 0;
        while let Some(&(site, carrier)) = found.get(next) {
            next += 1;
            let carried = &flow.definitions.all[carrier];
            let Some(holder) = carried.place.variable() else { continue };
            for (index, one) in all() {
                let copies = holds(one.place.variable())
                    && one.value.is_some_and(|value| self.carries(value, holder))
                    && !found.contains(&(site, index))
                    && (one.node == carried.node
                        || flow.reaching(one.node, &carried.place).contains(&carrier));
                if copies {
                    found.push((site, index));
                }
            }
        }
        found
    }

    /// Returns true if the value of an expression may have the address of a variable, or the
    /// address that the variable holds.
    fn carries(&self, value: &Expression, variable: VariableIndex) -> bool {
        let Kind::Call { callee, arguments, .. } = &value.kind else {
            if let Kind::Variable(one) = value.kind {
                return one == variable;
            }
            let mut found = false;
            value.for_each_child(&mut |part| found |= self.carries(part, variable));
            return found;
        };
        let any = |mut all: std::slice::Iter<'_, Expression>| {
            all.any(|argument| self.carries(argument, variable))
        };
        match self.ends.all.models.call(callee).map(|model| model.returns) {
            Some(Returns::Borrowed(one)) => {
                arguments.get(one).is_some_and(|argument| self.carries(argument, variable))
            }
            Some(_) => false,
            None => any(arguments.iter()),
        }
    }

    /// Returns true if a site may use an address where a definition has stored it.
    fn uses_carrier(&self, site: NodeIndex, carrier: DefinitionIndex) -> bool {
        let flow = self.ends.all.flow;
        let carried = &flow.definitions.all[carrier];
        let holder = carried.place.variable();
        let is_mentioned = flow
            .expression_of(site)
            .is_some_and(|one| holder.is_some_and(|holder| mentions(one, holder)));
        is_mentioned
            && (carried.node == site || flow.reaching(site, &carried.place).contains(&carrier))
    }

    /// Returns the nodes that control reaches from a site that binds the variable to a statement,
    /// before another site does.
    fn bound_from(&self, site: NodeIndex) -> Vec<NodeIndex> {
        let flow = self.ends.all.flow;
        let root = Root::Variable(self.ends.variable);
        let binds = |node: NodeIndex| {
            let mut memory = flow.effects[node].bound.iter().flat_map(|one| &one.memory);
            memory.any(|place| place.root == root)
        };
        if !binds(site) {
            return Vec::new();
        }
        let mut seen = BTreeSet::new();
        let mut open = flow.graph.nodes[site].successors.clone();
        while let Some(node) = open.pop() {
            if !binds(node) && seen.insert(node) {
                open.extend(&flow.graph.nodes[node].successors);
            }
        }
        seen.into_iter().map(|node| self.ends.site(node)).collect()
    }
}

/// Returns true if an expression mentions a variable.
fn mentions(expression: &Expression, variable: VariableIndex) -> bool {
    let mut found = false;
    expression.walk(&mut |inner| {
        found |= matches!(inner.kind, Kind::Variable(one) if one == variable);
    });
    found
}
