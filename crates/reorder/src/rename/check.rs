//! Compares the data flow of a function before and after a renaming (RENAME-1).
//!
//! Both functions must have the same nodes, but for the declarations of new variables and the
//! copies `new = old;`, with the same expressions, the same accesses and the same next nodes, if
//! each new name stands for its old one. Each read must see the same definitions; one that sees a
//! copy sees what the copy reads. So each node computes what it computed before, whatever made the
//! edits.

use std::collections::{BTreeMap, BTreeSet};

use super::tokens::words;
use crate::{
    flow::{
        Flow,
        graph::{NodeIndex, NodeKind},
        place::{Place, Root},
        reaching::DefinitionIndex,
    },
    ir::{Expression, ExpressionKind as Kind, Program, VariableIndex},
};

/// The new names of a program.
#[derive(Default)]
pub(super) struct Names {
    /// Of each new name of the function, the name and the variable that it stands for.
    pub(super) own: BTreeMap<String, (String, VariableIndex)>,
    /// The new names of other functions.
    pub(super) others: BTreeSet<String>,
}

/// A function of a program.
#[derive(Clone, Copy)]
pub(super) struct Side<'s, 'a, 'p> {
    pub(super) program: &'a Program,
    pub(super) flow: &'s Flow<'a, 'p>,
}

/// Compares a function with itself before a renaming.
///
/// # Errors
/// The first difference.
pub(super) fn same(
    old: Side<'_, '_, '_>,
    new: Side<'_, '_, '_>,
    names: &Names,
) -> Result<(), String> {
    let variables = variables(old, new, names)?;
    let mut check = Check { old, new, names, variables, nodes: Vec::new(), inserted: Vec::new() };
    check.pair_nodes()?;
    for node in 0..new.flow.graph.nodes.len() {
        if let Some(before) = check.nodes[node] {
            check.nodes(before, node)?;
            check.accesses(before, node)?;
            check.reads(before, node)?;
        }
    }
    Ok(())
}

/// Maps the variables of the new program to those of the old one.
fn variables(
    old: Side<'_, '_, '_>,
    new: Side<'_, '_, '_>,
    names: &Names,
) -> Result<Vec<VariableIndex>, String> {
    let mut all = old.program.variables.iter().enumerate();
    let mentioned = mentioned(new.flow);
    let mut map = Vec::new();
    for (at, one) in new.program.variables.iter().enumerate() {
        let of_other = || names.others.contains(&one.name);
        let own = names.own.get(&one.name).filter(|_| mentioned.contains(&VariableIndex(at)));
        let (index, is_same) = if let Some((_, variable)) = own {
            (*variable, old.program.variable(*variable).ty == one.ty)
        } else if of_other() {
            (VariableIndex(usize::MAX), true)
        } else {
            let (index, before) = all.next().ok_or("a variable is new")?;
            (VariableIndex(index), (&before.name, before.scope) == (&one.name, one.scope))
        };
        if !is_same {
            return Err(format!("`{}` is another variable", one.name));
        }
        map.push(index);
    }
    match all.next() {
        Some(_) => Err("a variable is gone".to_string()),
        None => Ok(map),
    }
}

/// Returns the variables that a function declares or mentions.
fn mentioned(flow: &Flow<'_, '_>) -> BTreeSet<VariableIndex> {
    let mut found = BTreeSet::new();
    for (node, point) in flow.graph.nodes.iter().enumerate() {
        if let NodeKind::Declare(one) = point.kind {
            found.insert(one.variable);
        }
        let expression = flow.expression_of(node);
        expression.into_iter().for_each(|one| {
            one.walk(&mut |inner| {
                if let Kind::Variable(variable) = inner.kind {
                    found.insert(variable);
                }
            });
        });
    }
    found
}

struct Check<'c, 's, 'a, 'p> {
    old: Side<'s, 'a, 'p>,
    new: Side<'s, 'a, 'p>,
    names: &'c Names,
    /// Of each new variable, the old one.
    variables: Vec<VariableIndex>,
    /// Of each new node, the old one; `None` if it was inserted.
    nodes: Vec<Option<NodeIndex>>,
    inserted: Vec<bool>,
}

impl Check<'_, '_, '_, '_> {
    fn is_new(&self, variable: VariableIndex) -> bool {
        self.names.own.contains_key(&self.new.program.variable(variable).name)
    }

    /// Returns the variable that a node copies to a new one.
    fn copied(&self, node: NodeIndex) -> Option<VariableIndex> {
        let NodeKind::Evaluate(expression) = self.new.flow.graph.nodes[node].kind else {
            return None;
        };
        let Kind::Assign { operator: None, target, value } = &expression.kind else { return None };
        let (Kind::Variable(to), Kind::Variable(from)) = (&target.kind, &value.kind) else {
            return None;
        };
        let same = self.variables[to.0] == self.variables[from.0];
        (same && to != from).then_some(*from)
    }

    fn pair_nodes(&mut self) -> Result<(), String> {
        let mut next = 0..self.old.flow.graph.nodes.len();
        for (node, point) in self.new.flow.graph.nodes.iter().enumerate() {
            let declares =
                matches!(point.kind, NodeKind::Declare(one) if self.is_new(one.variable));
            let inserted = declares || self.copied(node).is_some();
            self.inserted.push(inserted);
            let old = if inserted { None } else { Some(next.next().ok_or("a node is new")?) };
            self.nodes.push(old);
        }
        next.next().map_or(Ok(()), |_| Err("a node is gone".to_string()))
    }

    /// Compares the actions of two nodes and the nodes behind them.
    fn nodes(&self, old: NodeIndex, new: NodeIndex) -> Result<(), String> {
        let (before, after) = (&self.old.flow.graph.nodes[old], &self.new.flow.graph.nodes[new]);
        let is_same = match (before.kind, after.kind) {
            (NodeKind::Declare(one), NodeKind::Declare(other)) => {
                one.variable == self.variables[other.variable.0]
            }
            (
                NodeKind::Outcome { condition: one, holds: a, .. },
                NodeKind::Outcome { condition: other, holds: b, .. },
            ) => Some(one) == self.nodes[other] && a == b,
            (NodeKind::Opaque(one), NodeKind::Opaque(other)) => one == other,
            (one, other) => std::mem::discriminant(&one) == std::mem::discriminant(&other),
        };
        let expressions = (self.old.flow.expression_of(old), self.new.flow.expression_of(new));
        let is_equal = match expressions {
            (Some(one), Some(other)) => {
                shape(one, &|one| one, &Names::default())
                    == shape(other, &|one| self.variables[one.0], self.names)
            }
            (None, None) => true,
            _ => false,
        };
        let next: Vec<Option<NodeIndex>> =
            after.successors.iter().map(|&next| self.nodes[self.skipped(next)]).collect();
        let before_next: Vec<Option<NodeIndex>> =
            before.successors.iter().map(|&next| Some(next)).collect();
        if is_same && is_equal && next == before_next {
            return Ok(());
        }
        Err("a node is another one".to_string())
    }

    /// Returns the first node from a node on that was not inserted.
    fn skipped(&self, mut node: NodeIndex) -> NodeIndex {
        while self.inserted[node] {
            match self.new.flow.graph.nodes[node].successors[..] {
                [next] => node = next,
                _ => return node,
            }
        }
        node
    }

    /// Returns the old place of a new one.
    fn place(&self, place: &Place) -> Place {
        let root = match &place.root {
            Root::Variable(one) => Root::Variable(self.variables[one.0]),
            Root::Pointee(one) => Root::Pointee(self.variables[one.0]),
            Root::Object(node) => Root::Object(self.nodes[*node].unwrap_or(usize::MAX)),
            other => other.clone(),
        };
        Place { root, path: place.path.clone() }
    }

    fn accesses(&self, old: NodeIndex, new: NodeIndex) -> Result<(), String> {
        let before = self.old.flow.effects[old].accesses.iter();
        let before: Vec<_> = before.map(|one| (one.place.clone(), one.kind)).collect();
        let after = self.new.flow.effects[new].accesses.iter();
        let after: Vec<_> = after.map(|one| (self.place(&one.place), one.kind)).collect();
        if before == after { Ok(()) } else { Err("a node has other accesses".to_string()) }
    }

    /// Compares the definitions that the reads of two nodes see.
    fn reads(&self, old: NodeIndex, new: NodeIndex) -> Result<(), String> {
        type Seen = BTreeSet<(NodeIndex, usize)>;
        let flow = self.old.flow;
        let of_old = |place: &&Place| {
            let seen = flow.reaching(old, place).into_iter().map(|one| ordinal(flow, one));
            ((*place).clone(), seen.collect::<Seen>())
        };
        let before: Vec<(Place, Seen)> = flow.exposed_reads(old).iter().map(of_old).collect();
        let of_new = |place: &&Place| -> Option<(Place, Seen)> {
            let mut seen = Seen::new();
            self.seen(new, place, &mut seen, &mut BTreeSet::new())?;
            Some((self.place(place), seen))
        };
        let after: Option<Vec<(Place, Seen)>> =
            self.new.flow.exposed_reads(new).iter().map(of_new).collect();
        if after.as_ref() == Some(&before) {
            Ok(())
        } else {
            Err("a read sees other values".into())
        }
    }

    /// Collects the old definitions that a read of a new node sees.
    fn seen(
        &self,
        node: NodeIndex,
        place: &Place,
        found: &mut BTreeSet<(NodeIndex, usize)>,
        copies: &mut BTreeSet<NodeIndex>,
    ) -> Option<()> {
        let flow = self.new.flow;
        for one in flow.reaching(node, place) {
            let at = flow.definitions.all[one].node;
            match (self.nodes[at], self.copied(at)) {
                (Some(before), _) => {
                    found.insert((before, ordinal(flow, one).1));
                }
                (None, Some(from)) => {
                    if copies.insert(at) {
                        let from = Place::whole(Root::Variable(from));
                        self.seen(at, &from, found, copies)?;
                    }
                }
                // The new variable has no value yet.
                (None, None) => return None,
            }
        }
        Some(())
    }
}

/// Returns the node of a definition, and its number among those of the node.
fn ordinal(flow: &Flow<'_, '_>, index: DefinitionIndex) -> (NodeIndex, usize) {
    let all = &flow.definitions.all;
    let node = all[index].node;
    let before = all[..index].iter().rev().take_while(|one| one.node == node).count();
    (node, before)
}

/// Returns the parts of an expression, the outer ones first, each with the number of its operands.
fn shape(
    expression: &Expression,
    variable: &dyn Fn(VariableIndex) -> VariableIndex,
    names: &Names,
) -> Vec<(String, usize)> {
    let mut parts = Vec::new();
    expression.walk(&mut |inner| {
        let text = match &inner.kind {
            Kind::Variable(one) => format!("variable {:?}", variable(*one)),
            Kind::Constant(text) => format!("constant {}", with_old_names(text, names)),
            Kind::Text(text) => format!("text {text}"),
            Kind::Address(_) => "address".to_string(),
            Kind::Dereference(_) => "dereference".to_string(),
            Kind::Element { .. } => "element".to_string(),
            Kind::Field { record, name, .. } => format!("field {record} {name}"),
            Kind::Call { callee, .. } => format!("call {callee:?}"),
            Kind::Unary(operator, _) => format!("unary {operator}"),
            Kind::Binary(operator, ..) => format!("binary {operator}"),
            Kind::Assign { operator, .. } => format!("assign {operator:?}"),
            Kind::Increment(operator, _) => format!("increment {operator}"),
            Kind::Conditional(..) => "conditional".to_string(),
            Kind::Comma(..) => "comma".to_string(),
            Kind::Cast(ty, _) => format!("cast {ty:?}"),
            Kind::List(_) => "list".to_string(),
            Kind::Construct(class, _) => format!("construct {class}"),
            Kind::Opaque(reason) => format!("opaque {reason}"),
        };
        let mut operands = 0;
        inner.for_each_child(&mut |_| operands += 1);
        parts.push((text, operands));
    });
    parts
}

/// Returns a constant as it was before the renaming: `sizeof` has a name in it.
fn with_old_names(text: &str, names: &Names) -> String {
    let mut out = text.to_string();
    let new: BTreeSet<&str> = words(text).filter(|word| names.own.contains_key(*word)).collect();
    for word in new {
        out = out.replace(word, &names.own[word].0);
    }
    out
}
