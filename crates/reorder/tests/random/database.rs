//! The database of the random programs: tables with keys, foreign keys, a view and a trigger, and
//! what stands in the tables when a program starts.

use clearway_testkit::Random;

/// The DDL, for SQLite and for the tool.
pub(crate) const DDL: &str = "\
CREATE TABLE branch (
    id INT PRIMARY KEY, name TEXT NOT NULL, total INT NOT NULL, quota INT NOT NULL
);
CREATE TABLE account (id INT PRIMARY KEY, branch_id INT NOT NULL REFERENCES branch (id), \
balance INT NOT NULL, held INT NOT NULL, code INT NOT NULL UNIQUE);
CREATE TABLE entry (account_id INT NOT NULL REFERENCES account (id) ON DELETE CASCADE, \
seq INT NOT NULL, amount INT NOT NULL, note TEXT NOT NULL, PRIMARY KEY (account_id, seq));
CREATE TABLE item (id INT PRIMARY KEY, stock INT NOT NULL, price INT NOT NULL);
CREATE TABLE audit (item_id INT NOT NULL, old_stock INT NOT NULL, new_stock INT NOT NULL);
CREATE TABLE setting (id INT PRIMARY KEY, value INT NOT NULL);
CREATE TABLE journal (id INT NOT NULL, value INT NOT NULL);
CREATE VIEW rich AS SELECT id, branch_id, balance FROM account WHERE balance > 50;
CREATE TRIGGER item_stock AFTER UPDATE OF stock ON item BEGIN \
INSERT INTO audit VALUES (old.id, old.stock, new.stock); END;
";

/// The tables, with the columns by which a dump is ordered.
pub(crate) const TABLES: [(&str, &str); 7] = [
    ("branch", "1, 2, 3, 4"),
    ("account", "1, 2, 3, 4, 5"),
    ("entry", "1, 2, 3, 4"),
    ("item", "1, 2, 3"),
    ("audit", "1, 2, 3"),
    ("setting", "1, 2"),
    ("journal", "1, 2"),
];

/// Returns statements that fill the tables.
pub(crate) fn rows(random: &mut Random) -> String {
    let mut sql = String::new();
    for id in 1..=4 {
        let (total, quota) = (random.below(100), random.below(60));
        sql += &format!("INSERT INTO branch VALUES ({id}, 'b{id}', {total}, {quota});");
    }
    for id in 1..=6 {
        let (branch, balance, held) = (random.between(1, 3), random.below(120), random.below(20));
        let code = 100 + id;
        sql += &format!("INSERT INTO account VALUES ({id}, {branch}, {balance}, {held}, {code});");
        for seq in 1..=random.below(4) {
            let amount = random.below(40);
            sql += &format!("INSERT INTO entry VALUES ({id}, {seq}, {amount}, 'n{seq}');");
        }
    }
    for id in 1..=5 {
        let (stock, price) = (random.below(50), random.between(1, 30));
        sql += &format!("INSERT INTO item VALUES ({id}, {stock}, {price});");
    }
    for id in 1..=3 {
        let value = random.below(30);
        sql += &format!("INSERT INTO setting VALUES ({id}, {value});");
    }
    sql
}

/// Returns the fields of an input, as C initializers.
pub(crate) fn input(random: &mut Random) -> String {
    let keys: Vec<String> = (0..4).map(|_| random.between(1, 4).to_string()).collect();
    let list: Vec<String> = (0..4).map(|_| random.between(1, 6).to_string()).collect();
    let n = random.below(60) as i64 - 10;
    let count = random.below(5);
    let text = random.pick(&["", "x", "pay", "refund"]);
    // Different keys, from what is drawn already: another draw would change all programs' inputs.
    let different: Vec<String> = (0..4).map(|at| ((at * 3 + count) % 4 + 1).to_string()).collect();
    format!(
        "{{ {}, {n}, {count}, {{ {} }}, \"{text}\", {{ {} }} }}",
        keys.join(", "),
        list.join(", "),
        different.join(", ")
    )
}
