//! Places in memory, and which of them may share bytes.
//!
//! Rules (each errs on the side of "may share"):
//! - PLACE-1. Two variables share no bytes.
//! - PLACE-2. Memory behind a pointer may be that of a variable only if the variable's address
//!   escapes, or if the variable is static or global.
//! - PLACE-3. Two fields of one structure share no bytes, unless it is a union. Two elements with
//!   different constant indexes share none.
//! - PLACE-4. Pointers to two different structures, neither of which contains the other, lead to
//!   different memory, and one to a structure leads to no number: a C program that breaks this has
//!   no defined meaning (C11 6.5, paragraph 7). Two pointers to the same structure lead to the same
//!   object or to two that share nothing.
//! - PLACE-5. An object that a call creates is none that a parameter leads to, and none that
//!   another call creates.

use super::escape::Addresses;
use crate::ir::{Program, Scope, Type, VariableIndex};

/// Where a place begins.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Root {
    /// A variable.
    Variable(VariableIndex),
    /// The memory that a parameter led to when the function was called.
    Pointee(VariableIndex),
    /// The object that a call of this node created.
    Object(usize),
    /// Memory that the analysis cannot name.
    Unknown,
    /// The state that the last query left on the connection: its error, its result not yet fetched.
    Last,
    /// The state that the last query which writes left on the connection: the number of a row.
    LastWrite,
    /// Everything outside of the program and the database: output, time, random numbers.
    Outside,
}

/// A step from a place to a part of it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Step {
    /// A field, by the structure and the name.
    Field(String, String),
    /// An element of an array; `None` if the index is not a constant.
    Element(Option<u64>),
}

/// A place in memory.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Place {
    /// Where it begins.
    pub root: Root,
    /// The steps to it.
    pub path: Vec<Step>,
}

impl Place {
    /// Returns the whole of a root.
    pub fn whole(root: Root) -> Place {
        Place { root, path: Vec::new() }
    }

    /// Returns a part of this place.
    pub fn part(&self, step: Step) -> Place {
        let mut part = self.clone();
        part.path.push(step);
        part
    }

    /// Returns true if a write of all of this place overwrites all of `other`.
    pub fn covers(&self, other: &Place) -> bool {
        let exact = |step: &Step| !matches!(step, Step::Element(None));
        self.root == other.root
            && !matches!(self.root, Root::Unknown | Root::Outside)
            && other.path.starts_with(&self.path)
            && self.path.iter().all(exact)
    }

    /// Returns the pointer through which the place is reached.
    pub fn pointer(&self) -> Option<VariableIndex> {
        match self.root {
            Root::Pointee(variable) => Some(variable),
            _ => None,
        }
    }

    /// Returns the variable that the place is, or is a part of.
    pub fn variable(&self) -> Option<VariableIndex> {
        match self.root {
            Root::Variable(variable) => Some(variable),
            _ => None,
        }
    }
}

/// The facts about a function that [`Aliases::may_share`] uses.
pub(crate) struct Aliases<'a> {
    program: &'a Program,
    /// The variables whose address escapes.
    escaped: Vec<bool>,
    /// The variables whose address escapes or is held by another variable.
    held: Vec<bool>,
}

impl<'a> Aliases<'a> {
    pub(crate) fn new(program: &'a Program, addresses: &Addresses) -> Aliases<'a> {
        let escaped = addresses.escaped.clone();
        let held = escaped.iter().zip(&addresses.held).map(|(one, other)| *one || *other);
        Aliases { program, held: held.collect(), escaped }
    }

    /// Returns true if two places may have bytes in common.
    pub(crate) fn may_share(&self, a: &Place, b: &Place) -> bool {
        use Root::{Last, LastWrite, Object, Outside, Pointee, Unknown, Variable};
        match (&a.root, &b.root) {
            (x, y) if x == y => *x == Unknown || self.paths_meet(&a.path, &b.path),
            (Last | LastWrite | Outside, _) | (_, Last | LastWrite | Outside) => false,
            (Variable(_), Variable(_)) | (Object(_), Object(_)) => false,
            (Variable(_), Object(_)) | (Object(_), Variable(_)) => false,
            (Pointee(_), Object(_)) | (Object(_), Pointee(_)) => false,
            (Variable(variable), Pointee(pointer)) | (Pointee(pointer), Variable(variable)) => {
                self.is_exposed(*variable) && self.may_lead_to(*pointer, *variable)
            }
            (Variable(variable), Unknown) | (Unknown, Variable(variable)) => {
                self.held[variable.0] || self.is_exposed(*variable)
            }
            (Pointee(p), Pointee(q)) => self.pointees_meet(*p, &a.path, *q, &b.path),
            (Unknown, _) | (_, Unknown) => true,
        }
    }

    fn is_exposed(&self, variable: VariableIndex) -> bool {
        self.escaped[variable.0]
            || matches!(self.program.variable(variable).scope, Scope::Static | Scope::Global)
    }

    fn paths_meet(&self, a: &[Step], b: &[Step]) -> bool {
        a.iter().zip(b).all(|(a, b)| match (a, b) {
            (Step::Field(record, a), Step::Field(_, b)) => a == b || self.is_union(record),
            (Step::Element(Some(a)), Step::Element(Some(b))) => a == b,
            _ => true,
        })
    }

    fn pointees_meet(&self, p: VariableIndex, a: &[Step], q: VariableIndex, b: &[Step]) -> bool {
        let pointee = |variable| self.program.variable(variable).ty.pointee();
        match (pointee(p), pointee(q)) {
            (Some(Type::Record(p)), Some(Type::Record(q))) if p == q => self.paths_meet(a, b),
            (Some(Type::Record(p)), Some(Type::Record(q))) => {
                self.contains(p, q) || self.contains(q, p)
            }
            _ => true,
        }
    }

    /// Returns true if a pointer may lead to a variable: one to a structure does not lead to a
    /// number or a pointer.
    fn may_lead_to(&self, pointer: VariableIndex, variable: VariableIndex) -> bool {
        let ty = &self.program.variable(variable).ty;
        match self.program.variable(pointer).ty.pointee() {
            Some(Type::Record(record)) => match ty {
                Type::Scalar(_) | Type::Pointer { .. } => false,
                Type::Record(other) => {
                    self.contains(record, other) || self.type_contains(ty, record)
                }
                _ => true,
            },
            _ => true,
        }
    }

    fn is_union(&self, name: &str) -> bool {
        self.program.records.iter().all(|record| record.name != name || record.union)
    }

    /// Returns true if a structure may contain another; one whose fields are not known contains
    /// all.
    fn contains(&self, outer: &str, inner: &str) -> bool {
        let Some(record) = self.program.records.iter().find(|record| record.name == outer) else {
            // A structure without a definition in sight, such as a connection, is opaque to the
            // program as well: no pointer to one of its parts can be formed here.
            return false;
        };
        record.fields.iter().any(|(_, ty)| self.type_contains(ty, inner))
    }

    fn type_contains(&self, ty: &Type, inner: &str) -> bool {
        match ty {
            Type::Record(name) => name == inner || self.contains(name, inner),
            Type::Array { of, .. } => self.type_contains(of, inner),
            Type::Other(_) => true,
            _ => false,
        }
    }
}
