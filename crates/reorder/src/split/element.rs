//! Elements of arrays that belong to one iteration of a loop: `a[i]`, with the variable that counts
//! the iterations as the index.
//!
//! An element belongs to its iteration if each mention of the array in the loop has the same index
//! (`i`, or `i` plus or minus one constant) behind the same fields, nothing takes the address of
//! the element, and no other pointer in the loop leads to the array, unless it is a variable that
//! gets its value from such a mention in the same iteration.
//!
//! **Safe because** the loop adds a constant other than zero to its variable in each iteration, and
//! nothing else writes the variable, so that two iterations use different elements.

use std::{cell::RefCell, collections::BTreeMap};

use crate::{
    flow::{
        graph::{NodeIndex, NodeKind},
        place::{Place, Root, Step},
    },
    ir::{Expression, ExpressionKind as Kind, Scope, Type, VariableIndex},
    legality::Context,
};

/// The elements of one loop.
pub(super) struct Elements<'c, 'a, 'p> {
    context: &'c Context<'c, 'a, 'p>,
    /// The variable that counts.
    counter: VariableIndex,
    /// The node of the loop's condition.
    test: NodeIndex,
    /// The nodes of the loop's body.
    nodes: Vec<NodeIndex>,
    known: RefCell<BTreeMap<Place, bool>>,
}

/// A step of a mention of an array, from the variable outwards.
enum Part<'a> {
    Field(&'a str),
    Element(&'a Expression),
    Dereference,
}

impl<'c, 'a, 'p> Elements<'c, 'a, 'p> {
    /// Makes the elements of a loop whose variable only the loop's step writes.
    pub(super) fn of(
        context: &'c Context<'c, 'a, 'p>,
        counter: VariableIndex,
        test: NodeIndex,
        nodes: Vec<NodeIndex>,
    ) -> Elements<'c, 'a, 'p> {
        Elements { context, counter, test, nodes, known: RefCell::default() }
    }

    /// Returns true if each iteration uses a part of the place that no other one uses.
    pub(super) fn are_of_iteration(&self, place: &Place) -> bool {
        let Some((array, fields)) = array_of(place) else { return false };
        let mut of_array = place.clone();
        of_array.path.truncate(fields.len() + 1);
        if let Some(&known) = self.known.borrow().get(&of_array) {
            return known;
        }
        let answer =
            self.is_reached_by_array_only(array, &of_array) && self.has_one_index(array, &fields);
        self.known.borrow_mut().insert(of_array, answer);
        answer
    }

    /// Returns true if all accesses of the elements are by the array itself.
    fn is_reached_by_array_only(&self, array: VariableIndex, elements: &Place) -> bool {
        let flow = self.context.flow;
        let variable = self.context.program.variable(array);
        if !matches!(variable.scope, Scope::Local | Scope::Parameter) || flow.is_escaped(array) {
            return false;
        }
        self.nodes.iter().all(|&node| {
            let own = flow.effects[node].accesses.iter().all(|access| {
                !flow.may_share(&access.place, elements)
                    || access.place.root == elements.root
                        && access.place.path.starts_with(&elements.path)
            });
            own && !self.is_led_to_by_another(node, array, elements)
        })
    }

    /// Returns true if another variable that a node mentions leads to the elements.
    fn is_led_to_by_another(
        &self,
        node: NodeIndex,
        array: VariableIndex,
        elements: &Place,
    ) -> bool {
        let flow = self.context.flow;
        let mut found = false;
        if let Some(expression) = self.expression(node) {
            expression.walk(&mut |inner| {
                let Kind::Variable(variable) = inner.kind else { return };
                let ty = &self.context.program.variable(variable).ty;
                if variable == array || matches!(ty, Type::Scalar(_)) {
                    return;
                }
                let led = flow.led_to_at(&Place::whole(Root::Variable(variable)), node);
                found |= led.iter().any(|place| flow.may_share(place, elements))
                    && !is_array_of_numbers(ty)
                    && !self.is_set_in_iteration(variable, elements);
            });
        }
        found
    }

    /// Returns true if a pointer leads into the elements only, and each read of it in the loop sees
    /// a value that the same iteration gave it: one from a mention of the array, whose index is
    /// checked. What is added to the pointer does not lead to another element, since the pointer
    /// leads to a part of one that is an array of its own.
    fn is_set_in_iteration(&self, pointer: VariableIndex, elements: &Place) -> bool {
        let flow = self.context.flow;
        let is_local = self.context.program.variable(pointer).scope == Scope::Local;
        let place = Place::whole(Root::Variable(pointer));
        let leads_inside = |node: NodeIndex| {
            let led = flow.led_to_at(&place, node);
            led.iter().all(|one| {
                one.root == elements.root
                    && one.path.len() > elements.path.len()
                    && one.path.starts_with(&elements.path)
            })
        };
        is_local
            && !flow.is_escaped(pointer)
            && self.nodes.iter().all(|&node| {
                let set: Vec<NodeIndex> = flow
                    .reaching(node, &place)
                    .into_iter()
                    .map(|one| flow.definitions.all[one].node)
                    .filter(|one| self.nodes.contains(one))
                    .collect();
                !flow.exposed_reads(node).contains(&&place)
                    || leads_inside(node) && flow.graph.passes(self.test, node, &set)
            })
    }

    /// Returns true if each mention of the array that may mean the elements has the same index.
    fn has_one_index(&self, array: VariableIndex, fields: &[&str]) -> bool {
        let mut indexes = Vec::new();
        let all = self.nodes.iter().filter_map(|&node| self.expression(node));
        let plain = all
            .collect::<Vec<_>>()
            .into_iter()
            .all(|one| self.collect(one, array, fields, &mut indexes));
        indexes.dedup();
        plain && indexes.len() == 1
    }

    /// Collects the indexes of an expression; returns false if a mention has none.
    fn collect(
        &self,
        expression: &'a Expression,
        array: VariableIndex,
        fields: &[&str],
        indexes: &mut Vec<String>,
    ) -> bool {
        if let Kind::Address(inner) = &expression.kind
            && chain(inner).is_some_and(|(root, _)| root == array)
        {
            return false;
        }
        let mut fine = true;
        if let Some((root, parts)) = chain(expression) {
            if root == array {
                match self.index(&parts, fields) {
                    Mention::Element(index) => indexes.push(index),
                    Mention::Other => {}
                    Mention::Unclear => return false,
                }
            }
            for part in &parts {
                if let Part::Element(index) = part {
                    fine &= self.collect(index, array, fields, indexes);
                }
            }
            return fine;
        }
        expression.for_each_child(&mut |child| {
            fine &= self.collect(child, array, fields, indexes);
        });
        fine
    }

    fn index(&self, parts: &[Part<'_>], fields: &[&str]) -> Mention {
        let mut parts = parts.iter().peekable();
        parts.next_if(|part| matches!(part, Part::Dereference));
        for field in fields {
            match parts.next() {
                Some(Part::Field(name)) if name == field => {}
                Some(Part::Field(_)) => return Mention::Other,
                _ => return Mention::Unclear,
            }
        }
        match parts.next() {
            Some(Part::Element(index)) => {
                self.counted(index).map_or(Mention::Unclear, Mention::Element)
            }
            _ => Mention::Unclear,
        }
    }

    /// Returns a name for an index that is the counter, or differs from it by a constant.
    fn counted(&self, index: &Expression) -> Option<String> {
        match &index.kind {
            Kind::Variable(variable) if *variable == self.counter => Some(String::new()),
            Kind::Binary(operator, left, right) if operator == "+" || operator == "-" => {
                match (&left.kind, &right.kind) {
                    (Kind::Variable(variable), Kind::Constant(constant))
                        if *variable == self.counter =>
                    {
                        Some(format!("{operator}{constant}"))
                    }
                    _ => None,
                }
            }
            _ => None,
        }
    }

    fn expression(&self, node: NodeIndex) -> Option<&'a Expression> {
        match self.context.flow.graph.nodes[node].kind {
            NodeKind::Evaluate(expression) => Some(expression),
            NodeKind::Declare(declaration) => declaration.initial.as_ref(),
            NodeKind::Return(value) | NodeKind::Throw(value) => value,
            NodeKind::Outcome { .. } | NodeKind::Nothing | NodeKind::Opaque(_) => None,
        }
    }
}

/// A mention of an array.
enum Mention {
    /// One of the elements, by its index.
    Element(String),
    /// Another part of the same object.
    Other,
    /// It is not known which element.
    Unclear,
}

/// Returns the array of a place, with the fields between the variable and the elements.
fn array_of(place: &Place) -> Option<(VariableIndex, Vec<&str>)> {
    let array = place.variable().or(place.pointer())?;
    let mut fields = Vec::new();
    for step in &place.path {
        match step {
            Step::Field(_, name) => fields.push(name.as_str()),
            Step::Element(None) => return Some((array, fields)),
            Step::Element(Some(_)) => return None,
        }
    }
    None
}

/// Returns the variable that an expression is a part of, with the steps to the part.
fn chain(expression: &Expression) -> Option<(VariableIndex, Vec<Part<'_>>)> {
    let (inner, step) = match &expression.kind {
        Kind::Variable(variable) => return Some((*variable, Vec::new())),
        Kind::Field { base, name, .. } => (base, Part::Field(name)),
        Kind::Element { base, index } => (base, Part::Element(index)),
        Kind::Dereference(inner) => (inner, Part::Dereference),
        _ => return None,
    };
    let (variable, mut parts) = chain(inner)?;
    parts.push(step);
    Some((variable, parts))
}

fn is_array_of_numbers(ty: &Type) -> bool {
    match ty {
        Type::Array { of, .. } => is_array_of_numbers(of),
        Type::Scalar(_) => true,
        _ => false,
    }
}
