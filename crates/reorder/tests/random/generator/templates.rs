//! The queries of the random programs.

/// A value that a query takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Parameter {
    /// The key of a row that is likely to exist.
    Key,
    /// A key that is likely to be new.
    NewKey,
    /// A number.
    Amount,
    /// A text.
    Text,
}

use Parameter::{Amount, Key, NewKey, Text};

/// A query with `?` for its parameters.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Template {
    /// The SQL.
    pub(crate) sql: &'static str,
    /// The parameters.
    pub(crate) parameters: &'static [Parameter],
    /// The number of columns, all numbers; 0 of a write.
    pub(crate) columns: usize,
}

const fn write(sql: &'static str, parameters: &'static [Parameter]) -> Template {
    Template { sql, parameters, columns: 0 }
}

const fn read(sql: &'static str, parameters: &'static [Parameter], columns: usize) -> Template {
    Template { sql, parameters, columns }
}

/// An account of a branch that is not likely to exist.
pub(crate) const OF_NEW_BRANCH: &str = "INSERT INTO account VALUES (?, ?, 7, 0, ?)";

/// Writes.
pub(crate) const WRITES: &[Template] = &[
    write("UPDATE branch SET total = total + ? WHERE id = ?", &[Amount, Key]),
    write("UPDATE branch SET total = ? WHERE id = ?", &[Amount, Key]),
    write("UPDATE branch SET quota = quota + ? WHERE id = ?", &[Amount, Key]),
    write("UPDATE branch SET quota = total + 1 WHERE id = ?", &[Key]),
    write("INSERT INTO branch (id, name, total, quota) VALUES (?, 'new', ?, 0)", &[NewKey, Amount]),
    write("DELETE FROM branch WHERE id = ?", &[NewKey]),
    write("UPDATE account SET balance = balance - ? WHERE id = ?", &[Amount, Key]),
    write("UPDATE account SET balance = ? WHERE id = ?", &[Amount, Key]),
    write("UPDATE account SET held = held + ? WHERE branch_id = ?", &[Amount, Key]),
    write("UPDATE account SET balance = balance + 1 WHERE id BETWEEN ? AND 4", &[Key]),
    write("UPDATE account SET branch_id = ? WHERE id = ?", &[Key, Key]),
    write("UPDATE account SET branch_id = ? WHERE id = ?", &[NewKey, Key]),
    write("UPDATE account SET code = ? WHERE id = ?", &[NewKey, Key]),
    write("INSERT INTO account VALUES (?, ?, ?, 0, 0)", &[NewKey, Key, Amount]),
    write(OF_NEW_BRANCH, &[NewKey, NewKey, NewKey]),
    write("DELETE FROM account WHERE id = ?", &[Key]),
    write(
        "INSERT INTO entry (account_id, seq, amount, note) VALUES (?, ?, ?, ?)",
        &[Key, NewKey, Amount, Text],
    ),
    write("DELETE FROM entry WHERE account_id = ? AND seq = 1", &[Key]),
    write("DELETE FROM entry WHERE amount < ?", &[Amount]),
    write("UPDATE entry SET amount = amount * 2 % 1000 WHERE account_id = ?", &[Key]),
    write("UPDATE item SET stock = stock - ? WHERE id = ?", &[Amount, Key]),
    write("UPDATE item SET price = ? WHERE id = ?", &[Amount, Key]),
    write("DELETE FROM audit WHERE item_id = ?", &[Key]),
    write("UPDATE setting SET value = value + ? WHERE id = 1", &[Amount]),
    write("UPDATE setting SET value = value * 2 % 1000 WHERE id = ?", &[Key]),
    write("UPDATE setting SET value = ? WHERE id = 2", &[Amount]),
    write("INSERT INTO journal VALUES (?, ?)", &[Key, Amount]),
    write("UPDATE journal SET value = value + 1 WHERE id = ?", &[Key]),
    write("INSERT INTO journal SELECT id, balance FROM rich WHERE branch_id = ?", &[Key]),
];

/// Writes and reads with a function that the tool does not know.
pub(crate) const CALLING: &[Template] = &[
    write("UPDATE setting SET value = value + next_number() WHERE id = ?", &[Key]),
    write("INSERT INTO journal VALUES (?, next_number())", &[Key]),
    read("SELECT price + next_number() FROM item WHERE id = ?", &[Key], 1),
];

/// Reads.
pub(crate) const READS: &[Template] = &[
    read("SELECT total FROM branch WHERE id = ?", &[Key], 1),
    read("SELECT quota FROM branch WHERE id = ?", &[Key], 1),
    read("SELECT total, quota FROM branch WHERE id = ?", &[Key], 2),
    read("SELECT COUNT(*), COALESCE(SUM(total), 0) FROM branch", &[], 2),
    read("SELECT balance FROM account WHERE id = ?", &[Key], 1),
    read("SELECT held FROM account WHERE id = ?", &[Key], 1),
    read("SELECT COUNT(*), COALESCE(SUM(held), 0) FROM account WHERE branch_id = ?", &[Key], 2),
    read("SELECT COUNT(*), COALESCE(SUM(balance), 0) FROM rich WHERE branch_id = ?", &[Key], 2),
    read("SELECT COALESCE(SUM(amount), 0) FROM entry WHERE account_id = ?", &[Key], 1),
    read("SELECT COALESCE(MAX(seq), 0) + 1 FROM entry WHERE account_id = ?", &[Key], 1),
    read("SELECT stock, price FROM item WHERE id = ?", &[Key], 2),
    read("SELECT price FROM item WHERE id = ?", &[Key], 1),
    read("SELECT COUNT(*), COALESCE(SUM(new_stock), 0) FROM audit", &[], 2),
    read("SELECT COUNT(*) FROM audit WHERE item_id = ?", &[Key], 1),
    read("SELECT value FROM setting WHERE id = 1", &[], 1),
    read("SELECT value FROM setting WHERE id = ?", &[Key], 1),
    read("SELECT COALESCE(SUM(value), 0) FROM journal WHERE id = ?", &[Key], 1),
    read(
        "SELECT COALESCE(SUM(a.balance + b.quota), 0) FROM account a JOIN branch b \
         ON a.branch_id = b.id WHERE b.id = ?",
        &[Key],
        1,
    ),
];

/// Reads of several rows with one number.
pub(crate) const LISTS: &[Template] = &[
    read("SELECT balance FROM account WHERE branch_id = ? ORDER BY id", &[Key], 1),
    read("SELECT amount FROM entry WHERE account_id = ? ORDER BY seq", &[Key], 1),
    read("SELECT id FROM account WHERE held > ? ORDER BY id", &[Amount], 1),
    read("SELECT stock FROM item WHERE price > ? ORDER BY id", &[Amount], 1),
];
