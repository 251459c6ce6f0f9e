//! Changes of a transaction that no order can replace.
//!
//! - *A read that should lock.* The transaction reads a row without a lock and later assigns a
//!   column that it read. Another transaction may change the row in between, and the assignment
//!   overwrites its change (below serializable), or the server rolls one of the two back.
//! - *An update that is an increment.* The program reads a column, adds to it or subtracts from it,
//!   and assigns the result to the same column of the same row. `SET c = c + $1` does it without
//!   the value that was read.
//!
//! Two queries use the same row if both name a key by equal constants or by the same values of the
//! program (`legality::same_row`). Where the values cannot be followed, the first advice says so;
//! the second is not given.

mod increment;

use std::{collections::BTreeSet, fmt};

use crate::{
    api::Server,
    legality::{
        Context, Isolation,
        same_row::{Call, Same, calls, same_row},
    },
    sql::{QueryKind, TableAccess},
};

/// A change of the code that would make a transaction faster or right.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Advice {
    /// A read should lock the row that it reads.
    LockingRead {
        /// The line of the read.
        line: usize,
        /// The table.
        table: String,
        /// The line of the update.
        update: usize,
        /// True if the two name the same row; false if that is not known.
        is_same_row: bool,
    },
    /// An update should increment the column in place.
    Increment {
        /// The line of the update.
        line: usize,
        /// The column.
        column: String,
        /// The line of the read from which the value is computed.
        read: usize,
    },
}

impl fmt::Display for Advice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Advice::LockingRead { line, table, update, is_same_row } => {
                let row = if *is_same_row { "the row" } else { "perhaps the row" };
                write!(
                    f,
                    "line {line}: read `{table}` FOR UPDATE; line {update} updates {row}, and \
                     another transaction may change it in between"
                )
            }
            Advice::Increment { line, column, read } => write!(
                f,
                "line {line}: the new `{column}` is what line {read} read plus or minus something: \
                 `SET {column} = {column} + …` needs no read"
            ),
        }
    }
}

/// Finds them, in the order of the source.
pub fn of(context: &Context<'_, '_, '_>) -> Vec<Advice> {
    let calls = calls(context);
    let mut found = BTreeSet::new();
    for (at, update) in calls.iter().enumerate() {
        found.extend(locking_read(context, &calls[..at], update));
        for read in &calls[..at] {
            found.extend(increment::find(context, read, update));
        }
    }
    found.into_iter().collect()
}

/// Returns the first plain read of a row before its update, if no earlier query locks the row.
fn locking_read(
    context: &Context<'_, '_, '_>,
    earlier: &[Call<'_, '_>],
    update: &Call<'_, '_>,
) -> Option<Advice> {
    if context.server == Server::Sqlite {
        return None;
    }
    for (name, written) in &update.query.query.tables {
        let Some(same) = earlier.iter().find_map(|read| {
            let access = read.query.query.tables.get(name)?;
            let same = same_row(context, name, (read, access), (update, written))?;
            let locks = read.query.query.kind == QueryKind::Write;
            (locks || depends(context, access, written)).then_some((read, same, locks))
        }) else {
            continue;
        };
        if let (read, same, false) = same {
            return Some(Advice::LockingRead {
                line: read.line,
                table: name.clone(),
                update: update.line,
                is_same_row: same == Same::Yes,
            });
        }
    }
    None
}

/// Returns true if a change between a read and an update can make the update wrong, or roll it
/// back: the update overwrites a column that was read with a value that the program has computed.
fn depends(context: &Context<'_, '_, '_>, read: &TableAccess, written: &TableAccess) -> bool {
    let converts = context.server == Server::Mysql && context.isolation == Isolation::Serializable;
    let overwrites = |column: &String| {
        !written.reads.contains(column)
            && !read.equal.contains_key(column)
            && read.reads.contains(column)
    };
    let changes = written.deletes || !written.writes.is_empty();
    changes && converts || written.writes.iter().any(overwrites)
}
