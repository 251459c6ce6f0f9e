//! The intermediate representation (IR): what the tool knows of a C or C++ source file.
//!
//! A front end makes it, and nothing behind the front end knows a compiler. It is a tree of
//! statements and expressions as they stand in the source, with the range of each; everything that
//! follows from the tree (control flow, definitions, uses) is computed behind it. It can be written
//! and read as text ([`text`]), so that everything behind the front end is tested without one.
//!
//! What the front end cannot represent exactly it represents as [`StatementKind::Opaque`] or
//! [`ExpressionKind::Opaque`], with the reason. Nothing moves across such a statement.

mod expression;
mod statement;
pub mod text;
mod types;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

pub use self::{
    expression::{Callee, Expression, ExpressionKind},
    statement::{Declaration, LoopForm, Statement, StatementKind},
    types::Type,
};
use crate::source::Range;

/// The language of a source file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Language {
    /// C.
    C,
    /// C++.
    Cpp,
}

/// One source file, without the headers that it includes.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Program {
    /// The path of the file as the user gave it.
    pub path: String,
    /// Its language.
    pub language: Language,
    /// The variables of all functions, and the global ones that functions of the file use.
    pub variables: Vec<Variable>,
    /// The structures and unions that variables of the file have or lead to, with their fields.
    pub records: Vec<Record>,
    /// The functions that are defined in the file, in the order of the source.
    pub functions: Vec<Function>,
    /// The uses of macros in the file, in the order of the source; not those within the expansions
    /// of others.
    pub macros: Vec<MacroUse>,
    /// The preprocessor directives of the file, each from its `#` to the end of its last line.
    pub directives: Vec<Range>,
    /// The values of the enumerators that functions of the file use; `None` for a name that several
    /// enumerators with different values have.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub enumerators: BTreeMap<String, Option<i64>>,
    /// The types whose sizes functions of the file use, by the `sizeof` as it stands in
    /// [`ExpressionKind::Constant`]; `None` for one that has several meanings.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub sizes: BTreeMap<String, Option<Type>>,
    /// The facts of functions whose bodies were left out of the text that was read.
    #[serde(default, skip_serializing_if = "LeftOut::is_empty")]
    pub left_out: LeftOut,
}

/// The facts of functions of a file that the analysis of its other functions uses.
#[derive(Clone, Default, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct LeftOut {
    /// The names of the variables outside of functions, and of the static ones, that they assign
    /// or whose address they take.
    pub assigned: BTreeSet<String>,
    /// The names of the structures of which they use a field.
    pub used_records: BTreeSet<String>,
    /// The facts of the callers of the function that the rest is for.
    #[serde(default)]
    pub callers: Callers,
}

/// The facts of the callers of a function.
#[derive(Clone, Default, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Callers {
    /// True if they may call it again behind a call of it.
    pub again: bool,
    /// The one that asks behind a call what a query has left on the connection, and of which
    /// queries it does.
    pub asking: Option<(String, LastSeen)>,
    /// True if one reads the error of a connection.
    pub read_error: bool,
}

/// The queries whose order a caller may see from what the last of them leaves on the connection.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub enum LastSeen {
    /// Those that insert rows.
    Inserts,
    /// All that write.
    Writes,
    /// All.
    Queries,
}

impl LeftOut {
    fn is_empty(&self) -> bool {
        *self == LeftOut::default()
    }
}

impl Program {
    /// Returns a variable.
    pub fn variable(&self, index: VariableIndex) -> &Variable {
        &self.variables[index.0]
    }

    /// Returns the value of a constant that is no negative integer: a literal or an enumerator.
    pub fn index(&self, expression: &Expression) -> Option<u64> {
        match &expression.kind {
            ExpressionKind::Constant(text) => text.parse().ok().or_else(|| {
                let value = self.enumerators.get(text).copied().flatten();
                value.and_then(|value| u64::try_from(value).ok())
            }),
            ExpressionKind::Cast(_, operand) => self.index(operand),
            _ => None,
        }
    }

    /// Returns the value of an integer constant that fits an `int`, with its sign: a literal or an
    /// enumerator.
    pub fn integer(&self, expression: &Expression) -> Option<i64> {
        match &expression.kind {
            ExpressionKind::Constant(text) => {
                let value = text.parse::<i64>().ok();
                let value = value.or_else(|| self.enumerators.get(text).copied().flatten());
                value.filter(|&value| i32::try_from(value).is_ok())
            }
            ExpressionKind::Unary(operator, operand) if operator == "-" => {
                Some(-self.integer(operand)?)
            }
            _ => None,
        }
    }

    /// Returns a function by its name; for C++, by the qualified name.
    pub fn function(&self, name: &str) -> Option<&Function> {
        self.functions.iter().find(|function| function.name == name)
    }
}

/// A variable, by its place in [`Program::variables`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct VariableIndex(pub usize);

/// Where a variable lives.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Scope {
    /// A parameter of a function.
    Parameter,
    /// A local variable with automatic storage.
    Local,
    /// A local variable with static storage, or one of a thread.
    Static,
    /// A variable outside of functions.
    Global,
}

/// A variable.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Where it lives.
    pub scope: Scope,
    /// Its type.
    pub ty: Type,
    /// True if it is declared `const` (its own value, not that of its pointee).
    pub constant: bool,
    /// True if it is declared `volatile`.
    pub volatile: bool,
    /// True if code that the IR does not represent may name it, and so take its address.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub hidden: bool,
    /// The end of the object that the variable owns, of a `std::unique_ptr`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<Owner>,
    /// The initializer of a constant global variable, if it stands in the file.
    pub initial: Option<Expression>,
}

/// The end of the object that a variable owns, where the scope of the variable ends.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Owner {
    /// A function gets the object, by its name. The variable is a pointer to the object, which
    /// it owns until then.
    Ends(String),
    /// Something else, with the fact that is missing. The variable is an object of its class.
    Unknown(String),
}

impl Variable {
    /// Returns true if it keeps its value from one call of a function to the next.
    pub fn is_lasting(&self) -> bool {
        matches!(self.scope, Scope::Static | Scope::Global)
    }
}

/// A structure or union whose definition is known.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Record {
    /// The name, as in [`Type::Record`].
    pub name: String,
    /// True if it is a union: its fields share their bytes.
    pub union: bool,
    /// The fields in order, behind the base classes, which have no name here.
    pub fields: Vec<(String, Type)>,
}

/// A function that is defined in the file.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Function {
    /// The name; for C++, the qualified name, as in `shop::Payment::run`.
    pub name: String,
    /// From the first token of the declaration to the closing brace of the body.
    pub range: Range,
    /// The type of the result.
    pub result: Type,
    /// True for a method that has an object: its first parameter is `this`.
    #[serde(default)]
    pub method: bool,
    /// The reason why a call of its name may run another function, such as "is weak: another
    /// definition may replace it".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaceable: Option<String>,
    /// The names of functions, without their scopes, that stand in code which the IR does not
    /// represent.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub hidden: BTreeSet<String>,
    /// The parameters, in order, as a call has its arguments.
    pub parameters: Vec<VariableIndex>,
    /// The body: a [`StatementKind::Block`].
    pub body: Statement,
}

impl Function {
    /// Returns its own name and the names in its body that may be those of functions, without their
    /// scopes.
    pub(crate) fn named(&self) -> BTreeSet<&str> {
        let mut named = BTreeSet::from([plain(&self.name)]);
        self.body.walk(&mut |statement| {
            for expression in statement.expressions() {
                expression.walk(&mut |one| match &one.kind {
                    ExpressionKind::Call { callee: Callee::Function(name), .. }
                    | ExpressionKind::Call { callee: Callee::Field(name), .. }
                    | ExpressionKind::Construct(name, _)
                    | ExpressionKind::Constant(name) => {
                        named.insert(plain(name));
                    }
                    _ => {}
                });
            }
        });
        named
    }

    /// Returns the parameters that the function declares: all but the object of a method.
    pub fn declared(&self) -> &[VariableIndex] {
        &self.parameters[usize::from(self.method)..]
    }
}

/// Returns a name without the scopes before it and the types of parameters behind it.
pub(crate) fn plain(name: &str) -> &str {
    let name = name.split('(').next().unwrap_or(name);
    name.rsplit("::").next().unwrap_or(name)
}

/// A use of a macro in the file.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct MacroUse {
    /// The name of the macro.
    pub name: String,
    /// The range of the use, with the arguments.
    pub range: Range,
}
