//! Gives values of a variable that is used for several values names of their own, so that queries
//! need not keep their order because of the name alone (the paper's §4.3).
//!
//! ```text
//!   v = f(); use(v); v = g(v); return v;   ──▶   v = f(); use(v); v_r1 = g(v); return v_r1;
//! ```
//!
//! A *web* is a largest set of definitions and uses of a variable that must share a name: each use
//! with all definitions that may reach it. Definitions that reach a common use are renamed
//! together, or not at all. A use and a definition of one statement have tokens of their own
//! (`x = x + 1`), or else the value is copied before the statement (`v_r1 = v; v_r1 += 5;`).
//!
//! A renaming is a change of the source that does the same as the source before any unit moves. It
//! is made by edits of the text, which the front end reads again, and it is kept only if the best
//! order of the new text costs less.
//!
//! Invariants:
//! - RENAME-1. In the renamed program each read sees the writes that it saw before, by the data
//!   flow of both programs; `rename/check.rs` compares them node by node.
//! - RENAME-2. A new name is no word of the file.
//! - RENAME-3. A renaming that the new order does not need leaves no trace in the text.

mod check;
mod declaration;
mod edits;
mod find;
mod needed;
mod pointers;
mod roles;
mod search;
mod tokens;
mod webs;

#[cfg(test)]
mod tests;

use std::fmt;

pub use self::find::candidates;
pub(crate) use self::search::{Found, Renamed, Setting, pass};
use crate::{ir::VariableIndex, source::Range};

/// A variable of which a part of the definitions and uses got another name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Renaming {
    /// The name of the function.
    pub function: String,
    /// The variable.
    pub variable: String,
    /// Its new name.
    pub name: String,
    /// The lines in which the new name stands.
    pub lines: Vec<usize>,
    /// The reason.
    pub reason: Conflict,
}

/// A write that would change what a read sees in the new order, if both had one name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Conflict {
    /// The line of the unit that writes.
    pub write: usize,
    /// The line of the unit that reads.
    pub read: usize,
}

impl fmt::Display for Renaming {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Renaming { function, variable, name, lines, reason } = self;
        let at = if lines.len() == 1 { "line" } else { "lines" };
        let lines: Vec<String> = lines.iter().map(ToString::to_string).collect();
        write!(
            f,
            "{function}: `{variable}` is `{name}` in {at} {}: in the new order, line {} would \
             overwrite what line {} reads",
            lines.join(", "),
            reason.write,
            reason.read,
        )
    }
}

/// The reason why a variable keeps its name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refusal {
    /// The name of the function.
    pub function: String,
    /// The variable.
    pub variable: String,
    /// The line with the reason.
    pub line: usize,
    /// The fact that forbids the renaming, or that is missing.
    pub reason: String,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Refusal { function, variable, line, reason } = self;
        write!(f, "{function}: `{variable}`: line {line}: {reason}")
    }
}

/// A variable with several values.
#[derive(Clone, PartialEq, Debug)]
pub struct Candidate {
    /// The name of the function.
    pub function: String,
    /// The variable.
    pub variable: String,
    pub(crate) index: VariableIndex,
    /// Its webs, or the reason why it keeps its name.
    pub outcome: Result<Plan, Refusal>,
}

/// The webs of a variable, each of which may have a name of its own.
#[derive(Clone, PartialEq, Debug)]
pub struct Plan {
    /// The webs. The first one keeps the name: it has the declaration.
    pub webs: Vec<Web>,
    /// The statements before which a value is copied from one web to another.
    pub copies: Vec<Copy>,
    /// The `sizeof` expressions with the name: the place of the name, and the web.
    sizes: Vec<(Range, usize)>,
    declaration: declaration::Declared,
}

/// A web: definitions and uses that must share a name.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Web {
    /// The tokens, in the order of the text.
    pub tokens: Vec<Range>,
    /// True if something reads one of its values. A variable that is only written would be a
    /// warning of the compiler, so a web that is not read shares its name with one that is.
    pub is_read: bool,
}

/// A copy of a value, before a statement that reads a web and writes another by one token.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Copy {
    /// The statement.
    pub before: Range,
    /// The web that it reads.
    pub from: usize,
    /// The web that it writes.
    pub to: usize,
}
