//! Errors say of which table and key they are, in both stages, for threads and for tasks.

use std::collections::BTreeSet;

use clearway::{Database, Error, ErrorKind, Options, Stage, Staging, Table};
use clearway_sync::block_on;

fn database(staging: Staging) -> (Database, Table) {
    let db = Options::in_memory().staging(staging).open("names").unwrap();
    let table = db.table("orders").unwrap();
    db.transact("fill", |tx| tx.insert(&table, "present", "1")).unwrap();
    (db, table)
}

fn text<T: std::fmt::Debug>(result: Result<T, Error>) -> String {
    result.unwrap_err().to_string()
}

const PRESENT: &str = "key \"present\" of table \"orders\" exists already";
const ABSENT: &str = "key \"absent\" of table \"orders\" does not exist";

#[test]
fn refused_writes_of_threads_name_their_key() {
    for staging in [Staging::Conventional, Staging::TwoStage] {
        let (db, table) = database(staging);
        let mut stages = BTreeSet::new();
        db.transact("refused", |tx| {
            stages.insert(tx.stage() == Stage::Fetch);
            assert_eq!(text(tx.insert(&table, "present", "2")), PRESENT);
            assert_eq!(text(tx.update(&table, "absent", "2")), ABSENT);
            assert_eq!(text(tx.delete(&table, "absent")), ABSENT);
            Ok(())
        })
        .unwrap();
        assert_eq!(stages.len(), if staging == Staging::TwoStage { 2 } else { 1 });
    }
}

#[test]
fn refused_writes_of_tasks_name_their_key() {
    for staging in [Staging::Conventional, Staging::TwoStage] {
        let (db, table) = database(staging);
        let table = &table;
        block_on(db.transact_async("refused", async |mut tx| {
            assert_eq!(text(tx.insert(table, "present", "2").await), PRESENT);
            assert_eq!(text(tx.update(table, "absent", "2").await), ABSENT);
            assert_eq!(text(tx.delete(table, "absent").await), ABSENT);
            Ok(())
        }))
        .unwrap();
    }
}

#[test]
fn keys_in_errors_are_cut_and_are_printed_in_one_line() {
    let (db, table) = database(Staging::Conventional);
    let key = [b"line\n".repeat(50), vec![0; 50]].concat();
    let refused = db.transact("refused", |tx| tx.delete(&table, &key)).unwrap_err();
    let Error::NotFound { at: Some(at) } = &refused else { panic!("{refused:?}") };
    assert_eq!((at.table.as_str(), at.key.key_len()), ("orders", 300));
    assert!(!refused.to_string().contains('\n'), "{refused}");
}

#[test]
fn errors_are_compared_by_kind() {
    let (db, table) = database(Staging::Conventional);
    let refused = db.transact("refused", |tx| tx.insert(&table, "present", "2"));
    assert_eq!(refused.map_err(|error| error.kind()), Err(ErrorKind::DuplicateKey));
    let absent = db.transact("absent", |tx| tx.get(&table, "absent")?.ok_or_else(Error::not_found));
    assert_eq!(absent.as_ref().map_err(Error::kind), Err(ErrorKind::NotFound));
    assert_eq!(text(absent), "the key does not exist");
    let kinds: BTreeSet<ErrorKind> = ErrorKind::ALL.iter().copied().collect();
    assert_eq!(kinds.len(), ErrorKind::ALL.len());
    assert_eq!(ErrorKind::NotFound.to_string(), "NotFound");
}
