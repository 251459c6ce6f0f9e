//! Keys that can be read before the iterations that use them: an earlier loop with the same head
//! has used the key of each iteration.
//!
//! **Safe because**
//! - nothing from the begin of the earlier loop to the end of the later one writes what the heads
//!   read, and no body writes the counter, so that both loops have the same iterations;
//! - control comes to the later loop only behind the end of the earlier one, which no `break` or
//!   `continue` shortens: the earlier loop has run all its iterations;
//! - each of them has read or written the element, so that its index is in the range of the array,
//!   and the number of iterations is at most the length of the array;
//! - nothing has written the elements since.

use std::collections::BTreeSet;

use super::{Loop, Obstacle};
use crate::{
    flow::{
        access::AccessKind,
        graph::NodeIndex,
        place::{Place, Root, Step},
    },
    ir::{
        Expression, ExpressionKind as Kind, Scope, Statement, StatementKind, Type, VariableIndex,
    },
    source::Range,
    split::{fission::Counting, shape, skipped::Jumps},
    units::Piece,
};

/// The keys of a loop.
pub(super) struct Filled {
    /// The number of the iterations, at most.
    pub(super) length: u64,
}

/// Finds the loop that has used the keys.
pub(super) fn of<'a>(
    looping: &Loop<'_, '_, 'a, '_>,
    before: &[&Piece<'a>],
    key: &'a Expression,
) -> Result<Filled, Obstacle> {
    let range = looping.counting.piece.range;
    let text = looping.context.text;
    let written = key.range.map_or("", |range| range.of(text));
    let Some(length) = length(looping, key) else {
        let reason = format!("the length of the array of `{written}` is not known");
        return Err(looping.obstacle(range, reason));
    };
    for piece in before.iter().rev() {
        let Ok(earlier) = Counting::of(looping.context, piece) else { continue };
        if !has_same_head(looping, &earlier) || !uses(looping, &earlier, key) {
            continue;
        }
        return match changed(looping, &earlier, key) {
            Some(node) => {
                let reason = "it may change which keys the loop has, or in which iterations";
                Err(looping.obstacle(looping.range_of(node), reason))
            }
            None => Ok(Filled { length }),
        };
    }
    let reason =
        format!("no loop before it has the same head and uses `{written}` in each iteration");
    Err(looping.obstacle(range, reason))
}

/// Returns the length of the array that an element belongs to. An array of one element may stand
/// for one of any length.
fn length<'a>(looping: &Loop<'_, '_, 'a, '_>, key: &'a Expression) -> Option<u64> {
    let mut inner = key;
    while let Kind::Field { base, .. } = &inner.kind {
        inner = base;
    }
    let Kind::Element { base, .. } = &inner.kind else { return None };
    let program = looping.context.program;
    let mut is_volatile = false;
    key.walk(&mut |part| {
        if let Kind::Variable(variable) = part.kind {
            is_volatile |= program.variable(variable).volatile;
        }
    });
    let ty = match &base.kind {
        Kind::Variable(variable) => {
            let variable = program.variable(*variable);
            (variable.scope != Scope::Parameter).then_some(&variable.ty)?
        }
        Kind::Field { ty, .. } => ty,
        _ => return None,
    };
    match ty {
        Type::Array { length: Some(length), .. } if *length > 1 && !is_volatile => Some(*length),
        _ => None,
    }
}

/// Returns true if the head of another loop is written alike and means the same variables.
fn has_same_head(looping: &Loop<'_, '_, '_, '_>, earlier: &Counting<'_, '_, '_>) -> bool {
    let own = looping.counting;
    let variables = |one: &Counting<'_, '_, '_>| {
        let mut found = Vec::new();
        for expression in one.head.initial.expressions() {
            found.extend(others(expression, one.head.counter));
        }
        found.extend(others(one.head.condition, one.head.counter));
        found.extend(others(one.head.step, one.head.counter));
        found
    };
    own.text == earlier.text && variables(own) == variables(earlier)
}

/// Returns the variables of an expression in their order; `None` for the counter.
fn others(expression: &Expression, counter: VariableIndex) -> Vec<Option<VariableIndex>> {
    let mut found = Vec::new();
    expression.walk(&mut |inner| {
        if let Kind::Variable(variable) = inner.kind {
            found.push((variable != counter).then_some(variable));
        }
    });
    found
}

/// Returns true if each iteration of another loop that comes to its end uses the key.
fn uses(looping: &Loop<'_, '_, '_, '_>, earlier: &Counting<'_, '_, '_>, key: &Expression) -> bool {
    let text = looping.context.text;
    let Some(list) = shape::list(earlier.body, text) else { return false };
    let jumps = Jumps::of(list);
    let is_key = |one: &Expression| {
        let written = |one: &Expression| one.range.map(|range| range.of(text));
        written(one).is_some()
            && written(one) == written(key)
            && others(one, earlier.head.counter) == others(key, looping.counter())
    };
    let of_statement = |one: &Statement| match &one.kind {
        // A static variable gets its value once.
        StatementKind::Declare(all) => all.iter().any(|one| {
            looping.context.program.variable(one.variable).scope != Scope::Static
                && one.initial.as_ref().is_some_and(|initial| evaluates(initial, &is_key))
        }),
        StatementKind::Evaluate(_) | StatementKind::If { .. } => {
            one.expressions().into_iter().any(|expression| evaluates(expression, &is_key))
        }
        _ => false,
    };
    jumps.continues.is_empty() && jumps.other.is_none() && list.iter().any(of_statement)
}

/// Returns true if the evaluation of an expression accesses a certain one.
fn evaluates(expression: &Expression, is_key: &dyn Fn(&Expression) -> bool) -> bool {
    let of = |inner: &Expression| evaluates(inner, is_key);
    match &expression.kind {
        // The second operand may not be evaluated; an address is no access.
        Kind::Binary(operator, left, _) if operator == "&&" || operator == "||" => of(left),
        Kind::Conditional(condition, ..) => of(condition),
        Kind::Address(_) | Kind::Opaque(_) => false,
        _ if is_key(expression) => true,
        _ => {
            let mut found = false;
            expression.for_each_child(&mut |child| found |= of(child));
            found
        }
    }
}

/// Returns a node that may change the iterations or the keys between the use of the keys and their
/// last use in the loop, or by which control comes to the loop in another way.
fn changed<'a>(
    looping: &Loop<'_, '_, 'a, '_>,
    earlier: &Counting<'_, 'a, '_>,
    key: &'a Expression,
) -> Option<NodeIndex> {
    let flow = looping.context.flow;
    let within = |start, end| flow.graph.within(Range::new(start, end)).collect::<BTreeSet<_>>();
    let (first, last) = (earlier.piece.range, looping.counting.piece.range);
    let (all, behind) = (within(first.start, last.end), within(first.end, last.end));
    let counters = [earlier.head.counter, looping.counter()];
    let is_counter = |place: &Place| counters.iter().any(|one| place.root == Root::Variable(*one));
    let reads = |nodes: &[NodeIndex]| -> Vec<Place> {
        let accesses = nodes.iter().flat_map(|&node| &flow.effects[node].accesses);
        accesses.map(|access| access.place.clone()).filter(|place| !is_counter(place)).collect()
    };
    let of_key: Vec<Place> = looping
        .part
        .nodes
        .iter()
        .find(|&&node| holds(flow.expression_of(node), key))
        .map(|&node| flow.accesses_of(key, node))
        .unwrap_or_default()
        .into_iter()
        .map(|access| access.place)
        .filter(|place| !is_counter(place))
        .collect();
    if of_key.is_empty() {
        return all.first().copied();
    }
    let is_element =
        |place: &&Place| place.path.iter().any(|step| matches!(step, Step::Element(_)));
    let mut of_heads = reads(&looping.counting.header);
    of_heads.extend(reads(&earlier.header));
    of_heads.extend(of_key.iter().filter(|place| !is_element(place)).cloned());
    let writes = |node: NodeIndex, places: &[Place]| {
        let effects = &flow.effects[node];
        let mut accesses = effects.accesses.iter().filter(|one| one.kind != AccessKind::Read);
        effects.writes_anything
            || !effects.barriers.is_empty()
            || accesses.any(|one| places.iter().any(|place| flow.may_share(&one.place, place)))
    };
    let counts = |node: NodeIndex| {
        let mut accesses = flow.effects[node].accesses.iter();
        let bodies = [earlier.body, looping.counting.body];
        let in_body = bodies.iter().any(|body| body.range.contains(looping.range_of(node)));
        in_body && accesses.any(|one| one.kind != AccessKind::Read && is_counter(&one.place))
    };
    let enters = |node: NodeIndex| {
        let mut next = flow.graph.nodes[node].successors.iter();
        let may_enter = behind.contains(&node) || earlier.header.contains(&node);
        !may_enter && next.any(|one| behind.contains(one))
    };
    let mut nodes = 0..flow.graph.nodes.len();
    nodes.find(|&node| {
        enters(node)
            || all.contains(&node) && (writes(node, &of_heads) || counts(node))
            || behind.contains(&node) && writes(node, &of_key)
    })
}

/// Returns true if an expression has another one as a part of it.
fn holds(expression: Option<&Expression>, part: &Expression) -> bool {
    let mut found = false;
    if let Some(expression) = expression {
        expression.walk(&mut |inner| found |= std::ptr::eq(inner, part));
    }
    found
}
