//! Statements.

use serde::{Deserialize, Serialize};

use super::{Expression, VariableIndex};
use crate::source::Range;

/// A statement.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Statement {
    /// Where it stands, with its semicolon. A statement that a macro makes has the range of the
    /// macro's use and the semicolon behind it.
    pub range: Range,
    /// Its kind, with its parts.
    pub kind: StatementKind,
}

/// The forms of a statement.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum StatementKind {
    /// A declaration of variables.
    Declare(Vec<Declaration>),
    /// An expression.
    Evaluate(Expression),
    /// `if`.
    If {
        /// The condition.
        condition: Expression,
        /// The statement if the condition holds.
        then: Box<Statement>,
        /// The statement if it does not.
        otherwise: Option<Box<Statement>>,
    },
    /// `for`, `while`, `do`.
    Loop {
        /// The form: one of three.
        form: LoopForm,
        /// The initial statement of a `for`.
        initial: Option<Box<Statement>>,
        /// The condition; `None` if the loop has none.
        condition: Option<Expression>,
        /// The last expression of a `for`.
        step: Option<Expression>,
        /// The body.
        body: Box<Statement>,
    },
    /// `switch`: control goes from the value to a labelled statement, or behind the body.
    Switch {
        /// The value that selects.
        value: Expression,
        /// The statements of the body, without the labels.
        body: Vec<Statement>,
        /// The places in `body` of the statements that may have a label.
        labelled: Vec<usize>,
        /// True if one of the labels certainly is `default`.
        has_default: bool,
    },
    /// `{ … }`.
    Block(Vec<Statement>),
    /// The statements of one use of a macro, if they are several or one with others
    /// within it; they move only together, and each has the range of the use.
    Expanded(Vec<Statement>),
    /// `return`.
    Return(Option<Expression>),
    /// `goto label`.
    Goto(String),
    /// `label: statement`.
    Label(String, Box<Statement>),
    /// `break`.
    Break,
    /// `continue`.
    Continue,
    /// `throw`.
    Throw(Option<Expression>),
    /// `;`.
    Empty,
    /// Something that the front end does not represent, with the reason: nothing moves across it.
    Opaque(String),
}

/// The three forms of a loop.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum LoopForm {
    /// `for`.
    For,
    /// `while`.
    While,
    /// `do … while`.
    DoWhile,
}

/// One variable of a declaration.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Declaration {
    /// The variable.
    pub variable: VariableIndex,
    /// Its initializer.
    pub initial: Option<Expression>,
}

impl Statement {
    /// Calls `visit` for this statement and all within it, the outer ones first.
    pub fn walk<'a>(&'a self, visit: &mut impl FnMut(&'a Statement)) {
        visit(self);
        for child in self.children() {
            child.walk(visit);
        }
    }

    /// Returns the statements directly within this one, in the order of the source.
    pub fn children(&self) -> Vec<&Statement> {
        match &self.kind {
            StatementKind::If { then, otherwise, .. } => {
                std::iter::once(&**then).chain(otherwise.as_deref()).collect()
            }
            StatementKind::Loop { initial, body, .. } => {
                initial.as_deref().into_iter().chain([&**body]).collect()
            }
            StatementKind::Switch { body, .. }
            | StatementKind::Block(body)
            | StatementKind::Expanded(body) => body.iter().collect(),
            StatementKind::Label(_, statement) => vec![statement],
            _ => Vec::new(),
        }
    }

    /// Returns the expressions that stand directly in this statement, in the order in which they
    /// are evaluated first.
    pub fn expressions(&self) -> Vec<&Expression> {
        match &self.kind {
            StatementKind::Declare(declarations) => {
                declarations.iter().filter_map(|one| one.initial.as_ref()).collect()
            }
            StatementKind::Evaluate(expression) => vec![expression],
            StatementKind::If { condition, .. } => vec![condition],
            StatementKind::Loop { condition, step, .. } => condition.iter().chain(step).collect(),
            StatementKind::Switch { value, .. } => vec![value],
            StatementKind::Return(value) | StatementKind::Throw(value) => value.iter().collect(),
            _ => Vec::new(),
        }
    }
}
