//! The memory that functions of a program bind to statements which another function may run.
//!
//! A statement is found as its text is, by the variable or field that holds its handle
//! ([`prepared`]). Memory is named so that each function understands it: a lasting variable, or a
//! field of any structure of a type, since the structure that a handle was bound in may not be the
//! one in which it is found.

use std::collections::BTreeMap;

use super::{
    Flow,
    access::{Bound, BoundPart},
    graph::NodeIndex,
    place::{Place, Root, Step},
    prepared::{self, Handle},
    summary,
};
use crate::{
    api::{Call, Models},
    ir::{ExpressionKind, Function},
};

/// The bindings that the functions of a program make.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Bindings {
    of: BTreeMap<Handle, Vec<Binding>>,
    /// True if memory is bound to a statement that has no known handle.
    has_unknown: bool,
}

/// A call that binds memory or a value.
#[derive(Clone, PartialEq, Debug)]
struct Binding {
    results: bool,
    part: BoundPart,
    memory: Vec<Memory>,
}

/// Bound memory, as another function knows it.
#[derive(Clone, PartialEq, Debug)]
enum Memory {
    Lasting(Place),
    /// A field of a structure, and steps from there.
    Part(Vec<Step>),
    /// A local variable of a function: memory that exists no longer when it is over.
    Local(String),
    Any,
}

impl Bindings {
    /// Adds what a function binds.
    pub(super) fn add(&mut self, flow: &Flow<'_, '_>, function: &Function) {
        for (node, effects) in flow.effects.iter().enumerate() {
            for bound in &effects.bound {
                let handles = handles(flow, bound, node);
                self.has_unknown |= handles.is_empty() && !is_of_caller(flow, bound, function);
                for handle in handles {
                    let memory = |place: &Place| memory(flow, place, function);
                    let memory = bound.memory.iter().map(memory).collect();
                    let Bound { results, part, .. } = *bound;
                    let binding = Binding { results, part, memory };
                    self.of.entry(handle).or_default().push(binding);
                }
            }
        }
    }

    /// Notes that a function is not analysed, if it may bind memory.
    pub(super) fn add_unknown_of(&mut self, models: &Models, function: &Function) {
        summary::for_each_expression(function, &mut |expression| {
            if let ExpressionKind::Call { callee, .. } = &expression.kind {
                self.has_unknown |= models.call(callee).is_some_and(Call::binds_memory);
            }
        });
    }

    /// Returns the memory that functions of the program bind to a statement which exists before a
    /// function is called: its columns, or its parameters, of which there is a number.
    pub(super) fn of(
        &self,
        flow: &Flow<'_, '_>,
        statement: &Place,
        results: bool,
        count: Option<usize>,
    ) -> Vec<Place> {
        let program = flow.around.program;
        let handle = prepared::handle_of(statement);
        let name = handle.as_ref().filter(|one| !one.is_local(program)).map_or_else(
            || "a statement of the caller".to_string(),
            |handle| handle.describe(program),
        );
        let any = || Place::whole(Root::Bound(name.clone()));
        let found = handle.map_or(Vec::new(), |handle| self.of_handle(&handle));
        let found: Vec<&Binding> = found.into_iter().filter(|one| one.results == results).collect();
        if self.has_unknown || !are_complete(&found, count.filter(|_| !results)) {
            return vec![any()];
        }
        let mut places = Vec::new();
        for memory in found.iter().flat_map(|one| &one.memory) {
            places.push(match memory {
                Memory::Lasting(place) => place.clone(),
                Memory::Part(path) => Place { root: Root::Bound(name.clone()), path: path.clone() },
                // What the function itself has bound in an earlier call is gone.
                Memory::Local(function) if *function == flow.name => continue,
                Memory::Local(_) | Memory::Any => any(),
            });
        }
        places
    }

    /// Returns the bindings of a statement. One that is an element of an array may also have those
    /// that any element may have, and any element may have those of each.
    fn of_handle(&self, handle: &Handle) -> Vec<&Binding> {
        let may_be = |other: &Handle| match (handle, other) {
            (Handle::Element(array, index), Handle::Element(of, other)) => {
                array == of && (index == other || index.is_none() || other.is_none())
            }
            _ => handle == other,
        };
        let found = self.of.iter().filter(|(other, _)| may_be(other));
        found.flat_map(|(_, bindings)| bindings).collect()
    }
}

/// Returns true if bindings include each of a number of parameters; if the number is not known, or
/// they are those of columns, all at once.
fn are_complete(bindings: &[&Binding], count: Option<usize>) -> bool {
    let has = |part: BoundPart| bindings.iter().any(|one| one.part == part);
    has(BoundPart::All)
        || count.is_some_and(|count| {
            let has_only = count == 1 && has(BoundPart::One(None));
            has_only || (1..=count as u64).all(|number| has(BoundPart::One(Some(number))))
        })
}

/// Returns what other functions know the statement by that memory is bound to.
fn handles<'a>(flow: &Flow<'a, '_>, bound: &Bound<'a>, node: NodeIndex) -> Vec<Handle> {
    let program = flow.around.program;
    let by_place = bound.statements.iter().filter_map(prepared::handle_of);
    let by_expression = bound.handle.and_then(|one| prepared::handle(program, one));
    let stored = bound.handle.map_or(Vec::new(), |one| prepared::stored(flow, one, node));
    let stored = stored.into_iter().map(|store| store.handle);
    let all = by_place.chain(by_expression).chain(stored);
    let mut handles: Vec<Handle> = all.filter(|handle| !handle.is_local(program)).collect();
    handles.sort();
    handles.dedup();
    handles
}

/// Returns true if all statements that may be meant are those that the function has made and stored
/// nowhere, or come from a parameter: its callers know them.
fn is_of_caller(flow: &Flow<'_, '_>, bound: &Bound<'_>, function: &Function) -> bool {
    fn is_known(flow: &Flow<'_, '_>, root: &Root, function: &Function) -> bool {
        match root {
            Root::Object(_) => true,
            Root::Pointee(variable) => function.parameters.contains(variable),
            Root::Variable(variable) => !flow.is_outer(*variable),
            Root::Behind(behind) => is_known(flow, &behind.pointer.root, function),
            _ => false,
        }
    }
    bound.statements.iter().all(|one| is_known(flow, &one.root, function))
}

/// Returns bound memory as other functions know it.
fn memory(flow: &Flow<'_, '_>, place: &Place, function: &Function) -> Memory {
    let is_field = |step: &Step| matches!(step, Step::Field(..));
    match (&place.root, place.path.iter().rposition(is_field)) {
        (Root::Variable(variable), _) if flow.is_outer(*variable) => Memory::Lasting(place.clone()),
        (Root::Variable(_), _) => Memory::Local(function.name.clone()),
        (_, Some(field)) => Memory::Part(place.path[field..].to_vec()),
        _ => Memory::Any,
    }
}
