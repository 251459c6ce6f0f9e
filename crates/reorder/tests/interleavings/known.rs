//! Kinds of transactions that the tool has moved wrongly, each with an example, which a test
//! checks. A kind that it still moves wrongly is not drawn: when the tool is corrected, the test
//! fails until `is_right` is true here.

use super::{
    machine::Level,
    transaction::{
        Action, Assigned, COLUMNS, Conflict, Lock, Selected, Statement, TABLES, Transaction, Value,
    },
};

/// A kind of transaction.
pub(crate) struct Kind {
    pub(crate) name: &'static str,
    /// True if the tool moves such transactions rightly; then they are drawn.
    pub(crate) is_right: bool,
    /// Returns true if a transaction is of the kind.
    pub(crate) has: fn(&Transaction) -> bool,
    /// The example that goes wrong, the rows at its begin, and the level.
    example: fn() -> Vec<Action>,
    pub(crate) rows: &'static [(usize, [i64; COLUMNS])],
    pub(crate) level: Level,
}

/// The kinds.
pub(crate) const KINDS: [Kind; 5] = [
    // An update by a key with a further condition does not find its row in each order: without a
    // lock before it, it does not wait for the transaction that makes the condition true.
    Kind {
        name: "checked update",
        is_right: true,
        has: has_checked_update,
        example: checked_update,
        rows: &[(REGION, [1, 0, 0]), (ITEM, [1, 0, 0])],
        level: Level::PostgresqlReadCommitted,
    },
    // A deletion and an insert of one key access the same row, even if they name different
    // constants in another column. This went wrong in a transaction alone.
    Kind {
        name: "checked deletion",
        is_right: true,
        has: has_checked_delete,
        example: checked_delete,
        rows: &[(REGION, [1, 0, 0]), (ITEM, [2, 0, 1])],
        level: Level::PostgresqlReadCommitted,
    },
    // An update by a key does not find its row in each order, if another query inserts the row
    // unless it is there.
    Kind {
        name: "update of a merged row",
        is_right: true,
        has: updates_merged_row,
        example: merged_row,
        rows: &[(REGION, [1, 0, 0])],
        level: Level::PostgresqlReadCommitted,
    },
    // A locking read of a missing row holds none, and another instance may insert the row: the key
    // that it inserts is not the one that it has read, so that no unique key refuses that.
    Kind {
        name: "insert of another key",
        is_right: true,
        has: inserts_other_key,
        example: other_key,
        rows: &[(REGION, [1, 0, 0])],
        level: Level::PostgresqlReadCommitted,
    },
    // A read on which a write depends moves behind an update that chooses its rows by what the
    // transaction changes. The update may then have seen an older state than the read. The program
    // does not see what the update has found, so that the documentation may be read as allowing it
    // (*Blind writes*); the tables show it. Only costs of a profile lead to this order.
    Kind {
        name: "read before a choosing update",
        is_right: false,
        has: reads_before_choosing,
        example: read_before_choosing,
        rows: &[(REGION, [1, 0, 0]), (SHOP, [1, 0, 0]), (ITEM, [1, 0, 0])],
        level: Level::PostgresqlReadCommitted,
    },
];

/// True as long as the tool lets a violation of a key take the place of a serialization failure, in
/// PostgreSQL at repeatable read: `SELECT max(id) + 1`, `INSERT` behind the update of a hot row
/// fails with 40001, so that the program runs it again; before that update it fails with 23505.
/// Then a violation by a row behind the snapshot has no outcome either.
pub(crate) const VIOLATIONS_ARE_RETRIED: bool = true;

const REGION: usize = 0;
const SHOP: usize = 1;
const ITEM: usize = 2;

/// Returns true if a transaction is of a kind that goes wrong.
pub(crate) fn is_left_out(transaction: &Transaction) -> bool {
    KINDS.iter().any(|kind| !kind.is_right && (kind.has)(transaction))
}

impl Kind {
    /// Returns the example.
    pub(crate) fn example(&self) -> Transaction {
        let actions = (self.example)();
        let statement = |(number, action)| Statement { number, guard: None, helper: false, action };
        Transaction {
            name: "example".to_string(),
            statements: actions.into_iter().enumerate().map(statement).collect(),
            variables: 1,
            returned: Default::default(),
            returns_early: false,
        }
    }
}

fn key(key: i64) -> (usize, Value) {
    (0, Value::Constant(key))
}

/// Returns the increment of the first column behind the key, with more conditions than the key.
fn increment(table: usize, id: i64, mut others: Vec<(usize, Value)>) -> Action {
    others.insert(0, key(id));
    Action::Update { table, assigned: vec![(1, Assigned::Increment(1))], condition: others }
}

/// Returns the update of a hot row, which the examples begin with.
fn hot() -> Action {
    increment(REGION, 1, Vec::new())
}

fn insert(key: Value, price: Value, conflict: Conflict) -> Action {
    let values = [key, price, Value::Constant(0)].map(Assigned::Value);
    Action::Insert { table: ITEM, values, conflict }
}

/// `UPDATE item SET i_price = i_price + 1 WHERE i_id = 1 AND i_stock = 1`, `UPDATE item SET i_stock
/// = 1 WHERE i_id = 1`.
fn checked_update() -> Vec<Action> {
    let checked = increment(ITEM, 1, vec![(2, Value::Constant(1))]);
    let assigned = vec![(2, Assigned::Value(Value::Constant(1)))];
    vec![hot(), checked, Action::Update { table: ITEM, assigned, condition: vec![key(1)] }]
}

/// Returns true if an update by a key has a further condition on a column that another statement
/// changes.
fn has_checked_update(transaction: &Transaction) -> bool {
    transaction.statements.iter().any(|one| {
        let Action::Update { table, condition, .. } = &one.action else { return false };
        let changed = transaction.changes_beside(one, *table).columns;
        condition.iter().any(|(column, _)| *column == 0)
            && condition.iter().any(|(column, _)| changed.contains(column))
    })
}

/// `DELETE FROM item WHERE i_id = 2 AND i_stock = 1`, `INSERT INTO item VALUES (2, 5, 0)`.
fn checked_delete() -> Vec<Action> {
    let condition = vec![key(2), (2, Value::Constant(1))];
    let insert = insert(Value::Constant(2), Value::Constant(5), Conflict::Fails);
    vec![hot(), Action::Delete { table: ITEM, condition }, insert]
}

/// Returns true if a deletion by a key has a further condition, and there is an insert.
fn has_checked_delete(transaction: &Transaction) -> bool {
    transaction.statements.iter().any(|one| {
        let Action::Delete { table, condition } = &one.action else { return false };
        condition.len() > 1 && transaction.changes(*table).inserts
    })
}

/// `UPDATE item SET i_price = i_price + 1 WHERE i_id = 1`, `INSERT INTO item VALUES (1, 1, 0) ON
/// CONFLICT (i_id) DO NOTHING`.
fn merged_row() -> Vec<Action> {
    let insert = insert(Value::Constant(1), Value::Constant(1), Conflict::Nothing);
    vec![hot(), increment(ITEM, 1, Vec::new()), insert]
}

/// Returns true if a transaction updates a row by its key, and inserts rows unless they are there.
fn updates_merged_row(transaction: &Transaction) -> bool {
    transaction.statements.iter().any(|one| {
        let Action::Update { table, condition, .. } = &one.action else { return false };
        transaction.changes(*table).merges && condition.iter().any(|(column, _)| *column == 0)
    })
}

/// `SELECT i_price FROM item WHERE i_id = n FOR UPDATE`, `INSERT INTO item VALUES (v + 1, n, 0)`.
fn other_key() -> Vec<Action> {
    let read = Action::Read {
        table: ITEM,
        selected: Selected::Column(1),
        condition: vec![(0, Value::Parameter)],
        lock: Some(Lock::Exclusive),
        variable: 0,
    };
    let key = Value::Read { variable: 0, plus: 1 };
    vec![hot(), read, insert(key, Value::Parameter, Conflict::Fails)]
}

/// Returns true if a transaction reads a row by its key with a lock, and inserts one with another.
fn inserts_other_key(transaction: &Transaction) -> bool {
    let inserts = |of: usize, key: &Value| {
        transaction.statements.iter().any(|other| match &other.action {
            Action::Insert { table, values, .. } if *table == of => {
                values[0] != Assigned::Value(*key)
            }
            _ => false,
        })
    };
    transaction.statements.iter().any(|one| match &one.action {
        Action::Read { table, condition, lock: Some(_), .. } => {
            let mut keys = condition.iter().filter(|(column, _)| *column == 0);
            keys.any(|(_, key)| inserts(*table, key))
        }
        _ => false,
    })
}

/// `SELECT s_total FROM shop WHERE s_id = 1`, `UPDATE item SET i_price = i_price + 1 WHERE i_stock
/// = 1`, `UPDATE shop SET s_total = v + 1 WHERE s_id = 1`, `UPDATE item SET i_stock = 1 WHERE i_id
/// = 1`.
fn read_before_choosing() -> Vec<Action> {
    let read = Action::Read {
        table: SHOP,
        selected: Selected::Column(1),
        condition: vec![key(1)],
        lock: None,
        variable: 0,
    };
    let update = |table, column, value, condition| Action::Update {
        table,
        assigned: vec![(column, value)],
        condition: vec![condition],
    };
    let chosen = (2, Value::Constant(1));
    let greater = Assigned::Value(Value::Read { variable: 0, plus: 1 });
    vec![
        read,
        update(ITEM, 1, Assigned::Increment(1), chosen),
        update(SHOP, 1, greater, key(1)),
        update(ITEM, 2, Assigned::Value(Value::Constant(1)), key(1)),
    ]
}

/// Returns true if a read on which something depends stands before an update or a deletion that
/// finds other rows behind changes of the transaction.
fn reads_before_choosing(transaction: &Transaction) -> bool {
    let influential = transaction.influential();
    let is_read = |one: &Statement| match one.action {
        Action::Read { variable, .. } => influential.contains(&variable),
        _ => false,
    };
    let Some(first) = transaction.statements.iter().position(is_read) else { return false };
    transaction.statements[first..].iter().any(|one| {
        let (Action::Update { table, condition, .. } | Action::Delete { table, condition }) =
            &one.action
        else {
            return false;
        };
        let by_key = condition.iter().any(|(column, _)| *column == 0 && TABLES[*table].keyed);
        let changes = transaction.changes_beside(one, *table);
        let mut columns = condition.iter().map(|(column, _)| column);
        columns.any(|column| changes.columns.contains(column)) || changes.inserts && !by_key
    })
}
