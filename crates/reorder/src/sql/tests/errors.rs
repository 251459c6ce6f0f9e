//! Texts that are refused: each error has its place and says what to do.

use super::*;

fn bad(text: &str, server: Server) -> BadQuery {
    match analyze(text, server, &shop(server)) {
        Ok(query) => panic!("{text}: {query:?}"),
        Err(bad) => bad,
    }
}

#[test]
fn errors_name_the_place_and_the_remedy() {
    use Server::{Mysql, Postgresql, Sqlite};
    let cases: &[(Server, &str, (usize, usize), &str)] = &[
        (Postgresql, "", (1, 1), "correct the SQL text"),
        (Postgresql, "-- nothing\n", (1, 1), "correct the SQL text"),
        (Postgresql, "\n  SELCT 1", (2, 3), "correct the SQL text"),
        (Postgresql, "SELECT 1\nFROM item WHERE 'open", (2, 17), "correct the SQL"),
        (Postgresql, "SELECT $0", (1, 8), "`$0` is no parameter of this server: correct the SQL"),
        (Postgresql, "SELECT $70000", (1, 8), "is no parameter of this server: correct the SQL"),
        (Postgresql, "SELECT i_id FROM item\nWHERE i_id = ", (0, 0), "or write it in a plainer"),
        (Postgresql, "DELETE FROM item WHERE\n  i_id = = 1", (2, 10), "in a plainer form"),
        (
            Postgresql,
            "SELECT i_id FROM item WHERE i_id = 1 1",
            (1, 38),
            "write the query without it",
        ),
        (Postgresql, "SELECT 1 FROM item FOR UPDATE OF stock", (0, 0), "correct the SQL"),
        (Mysql, "SELECT i_id FROM item WHERE i_id = :id", (1, 36), "correct the SQL"),
        (Mysql, "DELETE other FROM item", (1, 1), "write the query in a plainer form"),
        (Sqlite, "SELECT ?70000", (1, 8), "is no parameter of this server"),
    ];
    for &(server, text, place, remedy) in cases {
        let bad = bad(text, server);
        assert_eq!((bad.line, bad.column), place, "{text}: {bad}");
        assert!(bad.to_string().contains(remedy), "{text}: {bad}");
    }
}

#[test]
fn error_without_a_place_is_written_without_one() {
    let bad = BadQuery { line: 0, column: 0, message: "m".to_owned() };
    assert_eq!(bad.to_string(), "in the SQL: m");
    let bad = BadQuery { line: 2, column: 3, ..bad };
    assert_eq!(bad.to_string(), "in the SQL, line 2, column 3: m");
}

#[test]
fn name_of_two_tables_needs_a_prefix() {
    let ddl = "CREATE TABLE a.t (x int); CREATE TABLE b.t (y int);";
    let schema = schema::parse(ddl, Server::Postgresql).expect("the DDL is understood");
    let bad = analyze("SELECT\nx FROM t", Server::Postgresql, &schema).expect_err("two tables");
    assert_eq!((bad.line, bad.column), (2, 8));
    assert!(bad.message.ends_with("write the name with its prefix"), "{bad}");
    let found = analyze("SELECT x FROM a.t", Server::Postgresql, &schema).expect("one table");
    assert_eq!(found.tables["a.t"].reads, columns(&["x"]));
}

#[test]
fn deep_and_long_texts_are_refused_or_analysed_but_never_overflow() {
    let count = 2_400;
    let nested = [
        format!("SELECT {}1{}", "(".repeat(count), ")".repeat(count)),
        format!("SELECT {}1", "NOT ".repeat(count)),
        format!("SELECT {}1", "- ".repeat(count)),
        format!("{}1{}", "SELECT (".repeat(1_200), ")".repeat(1_200)),
        format!("SELECT 1 FROM {}item{}", "(".repeat(count), ")".repeat(count)),
        format!("SELECT {}1{}", "CASE WHEN 1 THEN ".repeat(450), " END".repeat(450)),
    ];
    let chains = [
        format!("SELECT i_id{} FROM item", "+i_id".repeat(count)),
        format!("SELECT i_id FROM item WHERE i_id = 1{}", " AND i_id=1".repeat(800)),
        format!("SELECT 1{}", " UNION SELECT 1".repeat(800)),
        format!("SELECT 1 FROM item{}", " CROSS JOIN stock".repeat(800)),
        format!("SELECT i_id{} FROM item", "::int".repeat(count)),
    ];
    for server in [Server::Postgresql, Server::Mysql, Server::Sqlite] {
        for text in &nested {
            let bad = bad(text, server);
            assert!(bad.message.contains(": write "), "{bad}");
        }
        for text in &chains {
            if let Err(bad) = analyze(text, server, &shop(server)) {
                assert!(bad.message.contains("write "), "{bad}");
            }
        }
        let long = format!("SELECT i_id{} FROM item", "+i_id".repeat(5_000));
        let bad = bad(&long, server);
        assert!(bad.message.ends_with("more than 5000 words and signs: split it"), "{bad}");
    }
    let sum = query(&chains[0], Server::Postgresql);
    assert_eq!(sum.tables["item"].reads, columns(&["i_id"]));
}
