//! Forms of queries, each with what it does.

use super::*;

use Server::{Mysql, Postgresql, Sqlite};

/// Checks what queries do; the expected text is that of [`describe`], without line ends.
fn check(cases: &[(Server, &str, &str)]) {
    let mut wrong = Vec::new();
    for &(server, text, expected) in cases {
        let does = match analyze(text, server, &shop(server)) {
            Ok(query) => describe(&query).split_whitespace().collect::<Vec<_>>().join(" "),
            Err(bad) => bad.to_string(),
        };
        if does != expected {
            wrong.push(format!("{server:?} {text}\n  does   {does}\n  not    {expected}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn statements_that_are_not_understood_are_barriers() {
    const OTHER: &str = "Other, 0 parameters, returns rows";
    check(&[
        (Postgresql, "SAVEPOINT s", OTHER),
        (Postgresql, "ROLLBACK TO SAVEPOINT s", OTHER),
        (Postgresql, "COMMIT AND CHAIN", OTHER),
        (Postgresql, "PREPARE TRANSACTION 'x'", OTHER),
        (Postgresql, "COMMIT PREPARED 'x'", OTHER),
        (Postgresql, "LOCK TABLE item", OTHER),
        (Postgresql, "TRUNCATE item", OTHER),
        (Postgresql, "SET LOCAL lock_timeout = 1", OTHER),
        (Postgresql, "CREATE INDEX i ON item (i_price)", OTHER),
        (Postgresql, "SELECT i_id INTO copy FROM item", OTHER),
        (Postgresql, "DELETE FROM item; DELETE FROM stock", OTHER),
        (Postgresql, "EXPLAIN ANALYZE DELETE FROM item", OTHER),
        (Mysql, "SELECT @v := i_id FROM item", OTHER),
        (Mysql, "DELETE FROM item /*! WHERE i_id = 1 */", OTHER),
        (Mysql, "CALL pay(1)", OTHER),
        (Sqlite, "PRAGMA foreign_keys = ON", OTHER),
        (Sqlite, "UPDATE OR ROLLBACK item SET i_price = 1", OTHER),
    ]);
}

#[test]
fn begin_and_end_are_recognised_in_all_spellings() {
    check(&[
        (Postgresql, "begin work", "Begin, 0 parameters"),
        (Postgresql, " START TRANSACTION ISOLATION LEVEL SERIALIZABLE ; ", "Begin, 0 parameters"),
        (Mysql, "START TRANSACTION WITH CONSISTENT SNAPSHOT", "Begin, 0 parameters"),
        (Sqlite, "BEGIN IMMEDIATE", "Begin, 0 parameters"),
        (Sqlite, "END TRANSACTION", "Commit, 0 parameters"),
        (Postgresql, "/* done */ COMMIT AND NO CHAIN", "Commit, 0 parameters"),
        (Postgresql, "ABORT", "Rollback, 0 parameters"),
    ]);
}

#[test]
fn locking_clauses_lock_the_tables_that_they_name() {
    check(&[
        (
            Postgresql,
            "SELECT i_price FROM stock s, item i WHERE s_i = i_id AND s_w = 1 FOR UPDATE OF i",
            "Write, 0 parameters, returns rows, depends on rows \
             item: locks reads i_id,i_price stock: reads s_i,s_w equal s_w=1",
        ),
        (
            Postgresql,
            "SELECT i_id FROM item FOR NO KEY UPDATE SKIP LOCKED LIMIT 1",
            "Write, 0 parameters, returns rows, depends on rows \
             item: locks skips locked reads i_id",
        ),
        (
            Mysql,
            "SELECT i_id FROM item WHERE i_id = 3 LOCK IN SHARE MODE",
            "Write, 0 parameters, returns rows, depends on rows \
             item: locks shared reads i_id equal i_id=3",
        ),
        (
            Postgresql,
            "SELECT i_id FROM item WHERE i_id = 3 FOR KEY SHARE",
            "Write, 0 parameters, returns rows, depends on rows \
             item: locks without holding reads i_id equal i_id=3",
        ),
        (
            Postgresql,
            "SELECT a.i_id FROM item a, item b FOR UPDATE OF b NOWAIT",
            "Write, 0 parameters, returns rows, depends on rows \
             item: locks without holding fails if locked reads i_id times 2",
        ),
        (
            Mysql,
            "SELECT a FROM (SELECT i_id AS a FROM item) AS x FOR UPDATE WAIT 3",
            "Write, 0 parameters, returns rows, depends on rows \
             item: locks without holding fails if locked reads i_id",
        ),
        (
            Postgresql,
            "SELECT i_id FROM item, LATERAL (SELECT s_i FROM stock) s FOR UPDATE OF item",
            "Write, 0 parameters, returns rows, depends on rows \
             item: locks reads i_id stock: locks without holding reads s_i",
        ),
        (
            Postgresql,
            "SELECT a FROM (SELECT i_id AS a FROM item) AS x FOR UPDATE",
            "Write, 0 parameters, returns rows, depends on rows item: locks reads i_id",
        ),
        (
            Postgresql,
            "SELECT i_id FROM item WHERE i_id IN (SELECT s_i FROM stock) FOR UPDATE",
            "Write, 0 parameters, returns rows, depends on rows \
             item: locks reads i_id stock: reads s_i",
        ),
    ]);
}

#[test]
fn equalities_are_those_that_every_row_satisfies() {
    check(&[
        (
            Postgresql,
            "DELETE FROM stock WHERE (s_w, s_i) = ($2, '5'::int) AND s_quantity = s_i",
            "Write, 2 parameters stock: deletes reads s_i,s_quantity,s_w equal s_i='5',s_w=#1",
        ),
        (
            Postgresql,
            "DELETE FROM stock WHERE ((s_w = 1 AND s_i = 2))",
            "Write, 0 parameters stock: deletes reads s_i,s_w equal s_i=2,s_w=1",
        ),
        (
            Postgresql,
            "DELETE FROM stock WHERE s_w = 1 OR s_i = 2",
            "Write, 0 parameters stock: deletes reads s_i,s_w",
        ),
        (
            Postgresql,
            "DELETE FROM stock WHERE NOT (s_w = 1) AND s_i IN (2)",
            "Write, 0 parameters stock: deletes reads s_i,s_w equal s_i=2",
        ),
        (
            Postgresql,
            "UPDATE item SET i_id = 7 WHERE i_id = 6",
            "Write, 0 parameters item: reads i_id writes i_id",
        ),
        (
            Mysql,
            "SELECT s_w FROM stock LEFT JOIN item ON i_id = 4 JOIN other o ON stock.s_i = 5",
            "Read, 0 parameters, returns rows, depends on rows item: reads i_id other: reads * \
             stock: reads s_i,s_w equal s_i=5",
        ),
        (
            Sqlite,
            "SELECT i_price FROM item WHERE i_id = ?2 AND i_price = :p AND i_price > ?",
            "Read, 4 parameters, returns rows, depends on rows \
             item: reads i_id,i_price equal i_id=#1,i_price=#2",
        ),
        (
            Postgresql,
            "SELECT a.s_w FROM stock a, stock b WHERE a.s_i = 1 AND b.s_i = 2",
            "Read, 0 parameters, returns rows, depends on rows stock: reads s_i,s_w times 2",
        ),
    ]);
}

#[test]
fn inserts_tell_the_columns_in_which_a_conflicting_row_is_equal() {
    check(&[
        (
            Postgresql,
            "INSERT INTO item VALUES ($1, $2)",
            "Write, 2 parameters item: inserts equal i_id=#0,i_price=#1",
        ),
        (Postgresql, "INSERT INTO item VALUES (1, 2), (3, 4)", "Write, 0 parameters item: inserts"),
        (
            Postgresql,
            "INSERT INTO item VALUES (1, 2) ON CONFLICT (i_id) DO UPDATE \
             SET i_price = item.i_price + excluded.i_price",
            "Write, 0 parameters, depends on rows \
             item: inserts reads i_id,i_price writes i_price equal i_id=1",
        ),
        (
            Postgresql,
            "INSERT INTO item VALUES (1, 'now') ON CONFLICT ON CONSTRAINT item_pkey DO NOTHING",
            "Write, 0 parameters, depends on rows, now() item: inserts reads i_id equal i_id=1",
        ),
        (
            Postgresql,
            "DELETE FROM item WHERE i_price = 'now'",
            "Write, 0 parameters, now() item: deletes reads i_price",
        ),
        (
            Mysql,
            "INSERT INTO stock VALUES (1, 2, 3, 'x') ON DUPLICATE KEY UPDATE s_quantity = 0",
            "Write, 0 parameters, depends on rows \
             stock: inserts reads s_i,s_w writes s_quantity equal s_i=2,s_w=1",
        ),
        (
            Mysql,
            "REPLACE INTO item (i_id, i_price) VALUES (1, 2)",
            "Write, 0 parameters, depends on rows item: inserts deletes reads i_id equal i_id=1",
        ),
        (
            Sqlite,
            "INSERT OR IGNORE INTO elsewhere (a) VALUES (1)",
            "Write, 0 parameters, depends on rows elsewhere: inserts reads *",
        ),
        (
            Postgresql,
            "INSERT INTO item SELECT s_i, s_w FROM stock RETURNING *",
            "Write, 0 parameters, returns rows, depends on rows \
             item: inserts reads * stock: reads s_i,s_w",
        ),
    ]);
}

#[test]
fn names_belong_to_the_innermost_scope_that_has_them() {
    check(&[
        (
            Postgresql,
            "SELECT (SELECT s_data FROM stock WHERE s_i = i_id) FROM item",
            "Read, 0 parameters, returns rows, depends on rows \
             item: reads i_id stock: reads s_data,s_i",
        ),
        (
            Postgresql,
            "WITH item AS (SELECT s_i AS i_id FROM stock) SELECT i_id FROM item",
            "Read, 0 parameters, returns rows, depends on rows stock: reads s_i",
        ),
        (
            Postgresql,
            "WITH item AS (SELECT i_id FROM item) SELECT i_id FROM item",
            "Read, 0 parameters, returns rows, depends on rows item: reads i_id",
        ),
        (
            Postgresql,
            "WITH RECURSIVE item AS (SELECT s_i FROM stock UNION SELECT i_id FROM item) \
             SELECT * FROM item",
            "Read, 0 parameters, returns rows, depends on rows stock: reads s_i",
        ),
        (
            Postgresql,
            "WITH gone AS (DELETE FROM item WHERE i_id = 1 RETURNING i_price) \
             UPDATE stock SET s_quantity = 0 FROM gone WHERE s_w = i_price",
            "Write, 0 parameters, depends on rows item: deletes reads i_id,i_price equal i_id=1 \
             stock: reads s_w writes s_quantity",
        ),
        (
            Postgresql,
            "SELECT * FROM stock JOIN item ON s_i = i_id",
            "Read, 0 parameters, returns rows, depends on rows item: reads * stock: reads *",
        ),
        (
            Postgresql,
            "SELECT i_none FROM item",
            "Read, 0 parameters, returns rows, depends on rows item: reads *",
        ),
        (Postgresql, "UPDATE item SET i_none = 1", "Write, 0 parameters item: writes *"),
        (
            Postgresql,
            "SELECT \"Item\".x, ITEM.i_id FROM public.Item, \"Item\"",
            "Read, 0 parameters, returns rows, depends on rows Item: reads x item: reads i_id",
        ),
        (
            Mysql,
            "SELECT `I_Id` FROM `Item`",
            "Read, 0 parameters, returns rows, depends on rows item: reads i_id",
        ),
        (
            Mysql,
            "UPDATE stock JOIN item ON s_i = i_id SET s_quantity = 1, i_price = 2",
            "Write, 0 parameters, depends on rows \
             item: reads i_id writes i_price stock: reads s_i writes s_quantity",
        ),
    ]);
}

#[test]
fn names_of_results_do_not_hide_columns_in_conditions() {
    check(&[
        (
            Postgresql,
            "SELECT i_id, (SELECT s_w AS i_price FROM stock WHERE i_price = 3) FROM item",
            "Read, 0 parameters, returns rows, depends on rows \
             item: reads i_id,i_price stock: reads s_w",
        ),
        (
            Postgresql,
            "SELECT sum(i_price) AS total FROM item GROUP BY i_id ORDER BY total",
            "Read, 0 parameters, returns rows, depends on rows, sum() item: reads i_id,i_price",
        ),
    ]);
}

#[test]
fn mysql_locks_what_a_change_reads() {
    check(&[
        (
            Mysql,
            "INSERT INTO item SELECT s_i, s_w FROM stock WHERE s_w = 1",
            "Write, 0 parameters, depends on rows \
             item: inserts stock: locks without holding reads s_i,s_w equal s_w=1",
        ),
        (
            Mysql,
            "UPDATE item, stock SET i_price = 1 WHERE i_id = s_i AND s_i IN (2, 3)",
            "Write, 0 parameters, depends on rows \
             item: reads i_id writes i_price stock: locks without holding reads s_i",
        ),
        (Mysql, "SELECT 1 FROM dual", "Read, 0 parameters, returns rows"),
        (
            Postgresql,
            "INSERT INTO item SELECT s_i, s_w FROM stock WHERE s_w = 1",
            "Write, 0 parameters, depends on rows \
             item: inserts stock: reads s_i,s_w equal s_w=1",
        ),
    ]);
}

#[test]
fn triggers_rules_and_views_add_what_they_do() {
    let ddl = "CREATE TABLE t (a int PRIMARY KEY, b int, c timestamp);
               CREATE TABLE u (a int PRIMARY KEY);
               CREATE VIEW v AS SELECT a, now() AS n FROM t;
               CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS
                   $$ BEGIN NEW.c := clock_timestamp(); RETURN NEW; END $$;
               CREATE TRIGGER x BEFORE INSERT OR UPDATE ON t
                   FOR EACH ROW EXECUTE FUNCTION f();
               CREATE RULE r AS ON INSERT TO u DO INSTEAD NOTHING;";
    let schema = schema::parse(ddl, Postgresql).expect("the DDL is understood");
    let does = |text| describe(&analyze(text, Postgresql, &schema).expect("the SQL is understood"));
    assert_eq!(
        does("UPDATE t SET b = 1 WHERE a = 2 AND c = $1"),
        "  Write, 1 parameters, clock_timestamp()\n    t: reads a,c writes b,c equal a=2"
    );
    assert_eq!(
        does("INSERT INTO t (a, c) VALUES (1, $1)"),
        "  Write, 1 parameters, clock_timestamp()\n    t: inserts equal a=1"
    );
    assert_eq!(does("INSERT INTO u VALUES (1)"), "  Write, 0 parameters\n    u: inserts");
    assert_eq!(
        does("SELECT a FROM v"),
        "  Read, 0 parameters, returns rows, depends on rows, now()\n    v: reads *"
    );
}

#[test]
fn functions_and_constants_of_time_are_listed() {
    check(&[
        (
            Postgresql,
            "SELECT Now(), my.pay(i_id), lower('x') || current_user FROM item WHERE i_id = 1",
            "Read, 0 parameters, returns rows, depends on rows, current_user(), lower(), my.pay(), \
             now() item: reads i_id equal i_id=1",
        ),
        (
            Postgresql,
            "UPDATE item SET i_price = 'now'::timestamp",
            "Write, 0 parameters, now() item: writes i_price",
        ),
        (
            Postgresql,
            "SELECT x FROM generate_series(1, 2) AS x",
            "Read, 0 parameters, returns rows, generate_series()",
        ),
    ]);
}

#[test]
fn columns_that_the_server_fills_are_written_and_call_their_functions() {
    let ddl = "CREATE TABLE t (a serial PRIMARY KEY, b timestamp DEFAULT now(), c int,
                               d int GENERATED ALWAYS AS (c + 1) STORED);";
    let schema = schema::parse(ddl, Postgresql).expect("the DDL is understood");
    let does = |text| describe(&analyze(text, Postgresql, &schema).expect("the SQL is understood"));
    assert_eq!(
        does("INSERT INTO t (c) VALUES (1)"),
        "  Write, 0 parameters, nextval(), now()\n    t: inserts equal c=1"
    );
    assert_eq!(
        does("UPDATE t SET c = 2 WHERE a = 1"),
        "  Write, 0 parameters\n    t: reads a writes c,d equal a=1"
    );
    let ddl = "CREATE TABLE t (a int AUTO_INCREMENT PRIMARY KEY, c int,
                               m timestamp DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP);";
    let schema = schema::parse(ddl, Mysql).expect("the DDL is understood");
    let does = |text| describe(&analyze(text, Mysql, &schema).expect("the SQL is understood"));
    assert_eq!(
        does("INSERT INTO t (a, c, m) VALUES (?, 5, ?)"),
        "  Write, 2 parameters, nextval()\n    t: inserts equal c=5,m=#1"
    );
    assert_eq!(does("UPDATE t SET c = 2"), "  Write, 0 parameters, now()\n    t: writes c,m");
}
