//! The statements of a loop that may be sorted.
//!
//! - Its body has only declarations, expressions and conditional statements. So each iteration runs
//!   to its end or takes an exit, and no statement of the body is one that a `break`, a `continue`
//!   or a label makes depend on other iterations.
//! - An exit is the body of an `if` without `else`: calls, and then a `goto` or a `return`. All
//!   exits are written alike, so that the first failed query of another order leaves the same
//!   status and does the same.

use super::{Loop, Obstacle};
use crate::ir::{Statement, StatementKind};

/// Refuses any other statement.
pub(super) fn check(looping: &Loop<'_, '_, '_, '_>) -> Result<(), Obstacle> {
    let mut form = Form { looping, exit: None };
    looping.part.statements.iter().try_for_each(|one| form.statement(one))
}

struct Form<'f, 'l, 'c, 'a, 'p> {
    looping: &'f Loop<'l, 'c, 'a, 'p>,
    /// The words of the first exit.
    exit: Option<String>,
}

impl Form<'_, '_, '_, '_, '_> {
    fn statement(&mut self, statement: &Statement) -> Result<(), Obstacle> {
        let refused = |reason: &str| Err(self.looping.obstacle(statement.range, reason));
        match &statement.kind {
            StatementKind::Declare(_) | StatementKind::Evaluate(_) | StatementKind::Empty => Ok(()),
            StatementKind::Block(list) => list.iter().try_for_each(|one| self.statement(one)),
            StatementKind::If { then, otherwise: None, .. } if leaves(then) => self.exit(then),
            StatementKind::If { then, otherwise, .. } => {
                self.statement(then)?;
                otherwise.iter().try_for_each(|one| self.statement(one))
            }
            StatementKind::Loop { .. } => refused("a loop within it"),
            StatementKind::Goto(_) | StatementKind::Return(_) | StatementKind::Throw(_) => {
                refused("an exit that is not the body of an `if` on a failed query")
            }
            StatementKind::Break | StatementKind::Continue => {
                refused("a `break` or `continue` ends some iterations early")
            }
            _ => refused("a statement that is none of a declaration, an expression and an `if`"),
        }
    }

    /// Checks the body of an `if` that leaves the loop.
    fn exit(&mut self, body: &Statement) -> Result<(), Obstacle> {
        let inner = list(body);
        let (last, before) = inner.split_last().expect("it leaves");
        let is_plain = |one: &Statement| matches!(one.kind, StatementKind::Evaluate(_));
        let refused = |reason: &str| Err(self.looping.obstacle(body.range, reason));
        if !before.iter().all(is_plain) || matches!(last.kind, StatementKind::Throw(_)) {
            return refused("an exit that is more than calls and a `goto` or `return`");
        }
        let text = self.looping.context.text;
        let words = inner.iter().flat_map(|one| one.range.of(text).split_whitespace());
        let words = words.collect::<Vec<&str>>().join(" ");
        match &self.exit {
            Some(exit) if *exit != words => refused("the exits of the loop differ"),
            _ => {
                self.exit = Some(words);
                Ok(())
            }
        }
    }
}

fn list(body: &Statement) -> &[Statement] {
    match &body.kind {
        StatementKind::Block(list) => list,
        _ => std::slice::from_ref(body),
    }
}

/// Returns true if a body ends with a jump out of the loop.
fn leaves(body: &Statement) -> bool {
    list(body).last().is_some_and(|last| {
        matches!(
            last.kind,
            StatementKind::Goto(_) | StatementKind::Return(_) | StatementKind::Throw(_)
        )
    })
}
