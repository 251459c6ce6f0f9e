//! Expressions, without parentheses and without conversions that change no meaning.

use serde::{Deserialize, Serialize};

use super::{Type, VariableIndex};
use crate::source::Range;

/// An expression.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Expression {
    /// Where it stands, without parentheses around it; `None` if a macro's definition or the
    /// compiler made it, so that its text cannot be edited. All that a use of a macro makes has the
    /// range of the use, unless it is a variable: the range of a variable is that of its name.
    pub range: Option<Range>,
    /// Its kind, with its parts.
    pub kind: ExpressionKind,
}

/// The forms of an expression.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum ExpressionKind {
    /// A variable.
    Variable(VariableIndex),
    /// A number, enumerator, null pointer, `sizeof` or function that is not called. An integer or
    /// character literal is its value in decimal, `true` is `1`, an enumerator or a function is its
    /// name, a null pointer is `NULL` (a literal `0` stays `0`); all others stay as written.
    Constant(String),
    /// A string literal, joined and without escapes. One that is not UTF-8 is opaque.
    Text(String),
    /// `&operand`, and a reference's binding to its operand: a declaration's, an argument's, or
    /// that of the result of a function which returns a reference.
    Address(Box<Expression>),
    /// `*operand`.
    Dereference(Box<Expression>),
    /// `base[index]`.
    Element {
        /// The array or pointer.
        base: Box<Expression>,
        /// The index.
        index: Box<Expression>,
    },
    /// `base.field`, and `base->field` as the field of a [`ExpressionKind::Dereference`].
    Field {
        /// The structure.
        base: Box<Expression>,
        /// The canonical name of its type: `struct payment_input`.
        record: String,
        /// The name of the field.
        name: String,
        /// The type of the field.
        ty: Type,
    },
    /// A call.
    Call {
        /// The function or method.
        callee: Callee,
        /// The arguments in order; for a method, its object is the first.
        arguments: Vec<Expression>,
        /// The type of the result.
        result: Type,
    },
    /// `-a`, `!a`, `~a`, by the operator.
    Unary(String, Box<Expression>),
    /// An operator with two operands and no effect of its own, by the operator. Those of `&&` and
    /// `||` may not be evaluated both.
    Binary(String, Box<Expression>, Box<Expression>),
    /// `target = value`, and `target op= value` by the operator without its `=`.
    Assign {
        /// The operator without `=`; `None` for the plain assignment.
        operator: Option<String>,
        /// The place that is written.
        target: Box<Expression>,
        /// The value.
        value: Box<Expression>,
    },
    /// `++a`, `a++`, `--a`, `a--`, by the operator.
    Increment(String, Box<Expression>),
    /// `condition ? yes : no`.
    Conditional(Box<Expression>, Box<Expression>, Box<Expression>),
    /// `first, second`.
    Comma(Box<Expression>, Box<Expression>),
    /// A conversion to a type.
    Cast(Type, Box<Expression>),
    /// `{ a, b }`, in the order of the fields or elements.
    List(Vec<Expression>),
    /// A C++ object that is constructed from arguments, by the class.
    Construct(String, Vec<Expression>),
    /// Something that the front end does not represent, with the reason.
    Opaque(String),
}

/// The function or method that a call calls.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Callee {
    /// A function, by its name; for C++, by the qualified name without template arguments:
    /// `std::basic_string::c_str`. If the file defines another function of that name, the types of
    /// the parameters stand behind it: `shop::count(db *, long)`.
    Function(String),
    /// A function pointer in a structure, by the structure's name and the field's:
    /// `struct database_operations.query`. The structure is not among the arguments.
    Field(String),
    /// Any other function pointer.
    Pointer,
}

impl Expression {
    /// Calls `visit` for this expression and all within it, the outer ones first.
    pub fn walk<'a>(&'a self, visit: &mut impl FnMut(&'a Expression)) {
        visit(self);
        self.for_each_child(&mut |child| child.walk(visit));
    }

    /// Calls `visit` for each operand, in the order of the source.
    pub fn for_each_child<'a>(&'a self, visit: &mut dyn FnMut(&'a Expression)) {
        use ExpressionKind as Kind;
        match &self.kind {
            Kind::Variable(_) | Kind::Constant(_) | Kind::Text(_) | Kind::Opaque(_) => {}
            Kind::Address(a)
            | Kind::Dereference(a)
            | Kind::Unary(_, a)
            | Kind::Increment(_, a)
            | Kind::Cast(_, a)
            | Kind::Field { base: a, .. } => visit(a),
            Kind::Element { base: a, index: b }
            | Kind::Binary(_, a, b)
            | Kind::Assign { target: a, value: b, .. }
            | Kind::Comma(a, b) => [a, b].into_iter().for_each(|child| visit(child)),
            Kind::Conditional(a, b, c) => [a, b, c].into_iter().for_each(|child| visit(child)),
            Kind::Call { arguments: all, .. } | Kind::List(all) | Kind::Construct(_, all) => {
                all.iter().for_each(visit);
            }
        }
    }

    /// Returns the expression without the conversions around it.
    pub fn without_casts(&self) -> &Expression {
        match &self.kind {
            ExpressionKind::Cast(_, operand) => operand.without_casts(),
            _ => self,
        }
    }

    /// Returns true if the expression has an effect besides its value: a call, an assignment, an
    /// increment, or something opaque.
    pub fn has_effect(&self) -> bool {
        let mut effect = false;
        self.walk(&mut |inner| {
            use ExpressionKind as Kind;
            effect |= matches!(
                inner.kind,
                Kind::Call { .. }
                    | Kind::Assign { .. }
                    | Kind::Increment(..)
                    | Kind::Construct(..)
                    | Kind::Opaque(_)
            );
        });
        effect
    }
}
