//! Places in memory, and which of them may share bytes.
//!
//! Rules (each errs on the side of "may share"):
//! - PLACE-1. Two variables share no bytes.
//! - PLACE-2. Memory behind a pointer may be that of a variable only if the variable's address
//!   escapes, or if the variable is static or global.
//! - PLACE-3. Two fields of one structure share no bytes, unless it is a union. Two elements with
//!   different constant indexes share none. This is compared step by step, as long as both paths
//!   are in the same structure or array. Behind a cast, or a pointer to the first element of an
//!   array, they may not be: the fields of different structures, or a field and an element, may
//!   share bytes.
//! - PLACE-4. Pointers to two different structures, neither of which contains the other, lead to
//!   different memory, and one to a structure leads to no number: a C program that breaks this has
//!   no defined meaning (C11 6.5, paragraph 7). Two pointers to the same structure lead to the same
//!   object or to two that share nothing.
//! - PLACE-5. An object that a call creates is none that a parameter leads to, and none that
//!   another call creates. Nor is it, or a local variable, what a pointer in the caller's memory
//!   led to when the function was called: neither existed then.
//! - PLACE-6. What a pointer to a number leads to shares no bytes with a pointer (C11 6.5,
//!   paragraph 7), and the text behind a `char *` shares none with a pointer or a number. For a
//!   text this is an assumption: a program that writes the bytes of another object through a
//!   pointer of its caller does so by way of a `void *`, an `unsigned char *` or the object's own
//!   type.
//! - PLACE-7. Two prepared statements with different SQL are different statements. If no function
//!   of the file uses a field of their structure, they are the database interface's own: no pointer
//!   to anything else leads into one.

use std::collections::BTreeSet;

use super::{escape::Addresses, summary::Summaries};
use crate::ir::{Program, Type, VariableIndex};

/// Where a place begins.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Root {
    /// A variable.
    Variable(VariableIndex),
    /// The memory that a parameter led to when the function was called.
    Pointee(VariableIndex),
    /// The memory that a pointer in memory which is not the function's own led to when the function
    /// was called.
    Behind(Box<Behind>),
    /// The object that a call of this node created.
    Object(usize),
    /// Memory that the analysis cannot name.
    Unknown,
    /// Memory that was bound, before the function was called, to the statement that the text
    /// names: any of it, or the field of any structure with which the path begins. It exists
    /// longer than the function, and holds no pointers, since no database stores one.
    Bound(String),
    /// The state that the last query left on the connection: its error, its result not yet fetched.
    Last,
    /// The state that the last query which writes left on the connection: the number of a row.
    LastWrite,
    /// Everything outside of the program and the database: output, time, random numbers.
    Outside,
}

/// A pointer in memory of the caller, or in a variable outside of functions.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Behind {
    /// The place of the pointer.
    pub pointer: Place,
    /// If it is the handle of a prepared statement whose SQL is known: the texts of which it has
    /// one, in order.
    pub texts: Vec<String>,
}

impl Root {
    /// Returns true for an object of a database interface that has a state of its own: a result, or
    /// a prepared statement whose SQL is known.
    pub fn is_object(&self) -> bool {
        match self {
            Root::Object(_) => true,
            Root::Behind(behind) => !behind.texts.is_empty(),
            _ => false,
        }
    }

    /// Returns true if the root is one object of the program at a time, so that a write may
    /// overwrite all of it.
    pub(super) fn is_single(&self) -> bool {
        match self {
            Root::Unknown | Root::Bound(_) | Root::Outside => false,
            Root::Behind(behind) => {
                behind.pointer.root.is_single()
                    && !behind.pointer.path.contains(&Step::Element(None))
            }
            _ => true,
        }
    }
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

    /// Returns the error of the connection: a part of what the last query left there.
    pub(crate) fn error() -> Place {
        Place::whole(Root::Last).part(Step::Field("connection".to_string(), "error".to_string()))
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
            && self.root.is_single()
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

/// Returns a path without an index at its begin: of two pointers to the same structure, one may
/// lead to another element of the array that the other one leads to.
fn behind_element(path: &[Step]) -> &[Step] {
    match path {
        [Step::Element(_), rest @ ..] => rest,
        path => path,
    }
}

/// Returns the type of what a root that is memory behind a pointer holds.
pub(super) fn target_type<'a>(program: &'a Program, root: &Root) -> Option<&'a Type> {
    pointer_type(program, root)?.pointee()
}

/// Returns the type of the pointer or reference that leads to a root.
pub(super) fn pointer_type<'a>(program: &'a Program, root: &Root) -> Option<&'a Type> {
    match root {
        Root::Pointee(pointer) => Some(&program.variable(*pointer).ty),
        Root::Behind(behind) => type_of(program, &behind.pointer),
        _ => None,
    }
}

/// Returns the type of a place, if it is known.
pub(crate) fn type_of<'a>(program: &'a Program, place: &Place) -> Option<&'a Type> {
    let ty = match &place.root {
        Root::Variable(variable) => &program.variable(*variable).ty,
        root => target_type(program, root)?,
    };
    // The first index of a pointer to an array selects an array.
    let is_pointer = matches!(pointer_type(program, &place.root), Some(Type::Pointer { .. }));
    let path = match (&place.path[..], ty) {
        ([Step::Element(_), rest @ ..], Type::Array { .. }) if is_pointer => rest,
        (path, _) => path,
    };
    path.iter().try_fold(ty, |ty, step| match step {
        Step::Field(record, name) => field_type(program, record, name),
        Step::Element(_) => Some(element_type(ty)),
    })
}

/// Returns the type of a place, whatever its path begins with.
pub(super) fn type_behind<'a>(program: &'a Program, place: &Place) -> Option<&'a Type> {
    let is_field = |step: &Step| matches!(step, Step::Field(..));
    let Some(last) = place.path.iter().rposition(is_field) else {
        return type_of(program, place);
    };
    let Step::Field(record, name) = &place.path[last] else { return None };
    let ty = field_type(program, record, name)?;
    Some(place.path[last + 1..].iter().fold(ty, |ty, _| element_type(ty)))
}

fn field_type<'a>(program: &'a Program, record: &str, name: &str) -> Option<&'a Type> {
    let record = program.records.iter().find(|one| one.name == *record)?;
    record.fields.iter().find(|(field, _)| field == name).map(|(_, ty)| ty)
}

/// Returns the type of an element of an array, or of the memory behind a pointer.
fn element_type(ty: &Type) -> &Type {
    match ty {
        Type::Array { of, .. } => of,
        _ => ty,
    }
}

/// Returns true for the types whose objects programs use as memory for anything.
fn is_raw(ty: &str) -> bool {
    matches!(ty, "unsigned char" | "signed char" | "std::byte")
}

/// Returns true for the handles of two statements that have no text in common.
fn have_different_texts(one: &Behind, other: &Behind) -> bool {
    let is_known = !one.texts.is_empty() && !other.texts.is_empty();
    is_known && !one.texts.iter().any(|text| other.texts.contains(text))
}

/// The facts about a function that [`Aliases::may_share`] uses.
pub(crate) struct Aliases<'a, 'p> {
    program: &'a Program,
    /// The variables whose address escapes.
    escaped: Vec<bool>,
    /// The variables whose address escapes or is held by another variable.
    held: Vec<bool>,
    /// The structures of which functions of the file use a field.
    used_records: &'p BTreeSet<&'a str>,
}

impl<'a, 'p> Aliases<'a, 'p> {
    pub(crate) fn new(
        program: &'a Program,
        addresses: &Addresses,
        summaries: &'p Summaries<'a>,
    ) -> Aliases<'a, 'p> {
        let escaped = addresses.escaped.clone();
        let held = escaped.iter().zip(&addresses.held).map(|(one, other)| *one || *other);
        let used_records = summaries.used_records();
        Aliases { program, held: held.collect(), escaped, used_records }
    }

    /// Returns true if two places may have bytes in common.
    pub(crate) fn may_share(&self, a: &Place, b: &Place) -> bool {
        use Root::{Behind, Bound, Last, LastWrite, Object, Outside, Pointee, Unknown, Variable};
        // Most pairs are variables.
        if let (Variable(x), Variable(y)) = (&a.root, &b.root)
            && x != y
        {
            return false;
        }
        if a.root != b.root && (self.is_no_pointer(a, b) || self.is_no_pointer(b, a)) {
            return false;
        }
        match (&a.root, &b.root) {
            (x, y) if x == y => *x == Unknown || self.paths_meet(&a.path, &b.path),
            (Last | LastWrite | Outside, _) | (_, Last | LastWrite | Outside) => false,
            (Variable(_), Variable(_)) | (Object(_), Object(_)) => false,
            (Variable(_) | Bound(_), Object(_)) | (Object(_), Variable(_) | Bound(_)) => false,
            (Pointee(_) | Behind(_), Object(_)) | (Object(_), Pointee(_) | Behind(_)) => false,
            (Variable(variable), root @ Pointee(_)) | (root @ Pointee(_), Variable(variable)) => {
                self.is_exposed(*variable) && self.may_lead_to(root, *variable)
            }
            (Variable(variable), root @ Behind(_)) | (root @ Behind(_), Variable(variable)) => {
                self.is_outer(*variable) && self.may_lead_to(root, *variable)
            }
            (Variable(variable), Unknown) | (Unknown, Variable(variable)) => {
                self.held[variable.0] || self.is_exposed(*variable)
            }
            (Unknown, _) | (_, Unknown) => true,
            (Bound(_), _) => self.may_be_bound(&a.path, b),
            (_, Bound(_)) => self.may_be_bound(&b.path, a),
            (Behind(p), Behind(q)) if have_different_texts(p, q) => false,
            _ => self.pointees_meet(a, b) && !self.is_foreign(a, b) && !self.is_foreign(b, a),
        }
    }

    /// Returns true if one place is a prepared statement, whose parts the program cannot reach, and
    /// the other one is what a pointer to something else leads to.
    fn is_foreign(&self, statement: &Place, other: &Place) -> bool {
        let target = |place: &Place| target_type(self.program, &place.root);
        match (target(statement), target(other)) {
            (Some(Type::Record(own)), Some(other)) => {
                let is_same = matches!(other, Type::Record(name) if name == own);
                statement.root.is_object()
                    && !self.used_records.contains(own.as_str())
                    && !is_same
                    && !matches!(other, Type::Void | Type::Other(_))
            }
            _ => false,
        }
    }

    /// Returns true if a place may have bytes in common with memory that was bound to a statement
    /// before the function was called, of which the path is known.
    fn may_be_bound(&self, bound: &[Step], other: &Place) -> bool {
        let is_seen = match &other.root {
            Root::Variable(variable) => self.is_outer(*variable),
            Root::Bound(_) | Root::Pointee(_) | Root::Behind(_) => true,
            _ => false,
        };
        let ty = type_behind(self.program, other);
        if !is_seen || matches!(ty, Some(Type::Pointer { .. })) || self.is_hidden(other) {
            return false;
        }
        let [Step::Field(record, field), ..] = bound else { return true };
        let is_of = |step: &Step| matches!(step, Step::Field(of, _) if of == record);
        if let Some(at) = other.path.iter().position(is_of) {
            return self.paths_meet(bound, &other.path[at..]);
        }
        let is_field = |step: &&Step| matches!(step, Step::Field(..));
        let own = field_type(self.program, record, field);
        let is_within = |around: &str| own.is_none_or(|own| self.type_contains(own, around));
        let holds_all = |ty: Option<&Type>| ty.is_none_or(|ty| self.type_contains(ty, record));
        if let Some(Step::Field(around, _)) = other.path.iter().rfind(is_field) {
            return is_within(around) || holds_all(ty);
        }
        match ty {
            Some(Type::Record(whole)) => is_within(whole) || holds_all(ty),
            Some(Type::Scalar(_)) => !matches!(other.root, Root::Variable(_)),
            _ => true,
        }
    }

    /// Returns true for a structure of a library, whose parts the program cannot reach: a prepared
    /// statement, or a file.
    fn is_hidden(&self, place: &Place) -> bool {
        match target_type(self.program, &place.root) {
            Some(Type::Record(own)) => {
                let is_statement = place.root.is_object() && !self.used_records.contains(&**own);
                is_statement || self.is_opaque(own)
            }
            _ => false,
        }
    }

    fn is_exposed(&self, variable: VariableIndex) -> bool {
        self.escaped[variable.0] || self.is_outer(variable)
    }

    /// Returns true for a variable that exists before the function is called.
    fn is_outer(&self, variable: VariableIndex) -> bool {
        self.program.variable(variable).is_lasting()
    }

    /// Returns true if one place is memory of numbers or of text, and the other holds something
    /// else: a pointer, or a number beside a text.
    fn is_no_pointer(&self, memory: &Place, other: &Place) -> bool {
        let is_number = |ty: &str| !is_raw(ty) && ty != "char" && ty != "bool";
        if !matches!(memory.root, Root::Pointee(_) | Root::Behind(_)) {
            return false;
        }
        match (target_type(self.program, &memory.root), type_of(self.program, other)) {
            (Some(Type::Scalar(ty)), Some(Type::Pointer { .. })) => !is_raw(ty),
            (Some(Type::Scalar(ty)), Some(Type::Scalar(number))) => {
                ty == "char" && is_number(number)
            }
            _ => false,
        }
    }

    fn paths_meet(&self, a: &[Step], b: &[Step]) -> bool {
        for steps in a.iter().zip(b) {
            let may_meet = match steps {
                (Step::Field(of, a), Step::Field(other, b)) if of == other => {
                    if a != b && self.is_union(of) {
                        return true;
                    }
                    a == b
                }
                (Step::Element(Some(a)), Step::Element(Some(b))) => a == b,
                (Step::Element(_), Step::Element(_)) => true,
                // From here on, the steps are those of different structures.
                _ => return true,
            };
            if !may_meet {
                return false;
            }
        }
        true
    }

    fn pointees_meet(&self, a: &Place, b: &Place) -> bool {
        match (target_type(self.program, &a.root), target_type(self.program, &b.root)) {
            (Some(Type::Record(p)), Some(Type::Record(q))) if p == q => {
                self.paths_meet(behind_element(&a.path), behind_element(&b.path))
            }
            (Some(Type::Record(p)), Some(Type::Record(q))) => {
                self.contains(p, q) || self.contains(q, p)
            }
            (Some(Type::Record(record)), Some(Type::Scalar(number)))
            | (Some(Type::Scalar(number)), Some(Type::Record(record))) => {
                is_raw(number) || !self.is_opaque(record)
            }
            _ => true,
        }
    }

    /// Returns true for a structure of a library whose parts no program writes: one without a
    /// definition in sight, such as a connection, or a file of the C library.
    fn is_opaque(&self, record: &str) -> bool {
        let is_defined = self.program.records.iter().any(|one| one.name == record);
        let is_file = matches!(record, "FILE" | "_IO_FILE" | "struct _IO_FILE");
        !is_defined || is_file && !self.used_records.contains(record)
    }

    /// Returns true if a pointer may lead to a variable: one to a structure does not lead to a
    /// number or a pointer.
    fn may_lead_to(&self, root: &Root, variable: VariableIndex) -> bool {
        let ty = &self.program.variable(variable).ty;
        match target_type(self.program, root) {
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
