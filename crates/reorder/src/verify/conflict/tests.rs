use std::collections::BTreeSet;

use super::{
    super::log::{Kind, State, Statement},
    *,
};

fn event(key: &str, parameters: &[Option<&str>]) -> QueryEvent {
    QueryEvent {
        connection: 1,
        kind: Kind::Query,
        statement: Statement::Change,
        sql: String::new(),
        parameters: parameters.iter().map(|value| value.map(str::to_owned)).collect(),
        key: key.to_owned(),
        failed: None,
        injected: false,
        state: State::Active,
        rows: 0,
        changed: String::new(),
        always: false,
        first: Vec::new(),
    }
}

fn some(names: &[&str]) -> Columns {
    Columns::Some(names.iter().map(|&name| name.to_owned()).collect::<BTreeSet<_>>())
}

fn access(reads: Columns, writes: Columns, id: Option<Value>) -> TableAccess {
    let equal = id.map(|value| ("id".to_owned(), value)).into_iter().collect();
    TableAccess { reads, writes, equal, ..TableAccess::default() }
}

fn query(access: TableAccess) -> Option<Query> {
    let tables = BTreeMap::from([("stock".to_owned(), access)]);
    Some(Query { kind: QueryKind::Write, tables, ..Query::default() })
}

/// Returns true if updates of the quantity conflict whose conditions fix the identifier so.
fn updates_conflict(values: [(Value, Option<&str>); 2]) -> bool {
    let events = values.clone().map(|(_, parameter)| event("", &[parameter]));
    let queries = values.map(|(value, _)| query(access(some(&["id"]), some(&["q"]), Some(value))));
    let [first, second] = &events;
    let [one, other] = queries;
    let a = Operation { event: first, query: one };
    let b = Operation { event: second, query: other };
    conflict(&a, &b, &|_| vec!["id".to_owned()])
}

/// Returns true if accesses of unknown rows conflict.
fn accesses_conflict(a: TableAccess, b: TableAccess) -> bool {
    let event = event("", &[]);
    let [a, b] = [a, b].map(|one| Operation { event: &event, query: query(one) });
    let both = [conflict(&a, &b, &|_| Vec::new()), conflict(&b, &a, &|_| Vec::new())];
    assert_eq!(both[0], both[1]);
    both[0]
}

fn constant_value(text: &str) -> (Value, Option<&'static str>) {
    (Value::Constant(text.to_owned()), None)
}

#[test]
fn updates_of_rows_with_different_keys_do_not_conflict() {
    let parameter = Value::Parameter(0);
    assert!(!updates_conflict([(parameter.clone(), Some("1")), (parameter, Some("2"))]));
    assert!(!updates_conflict([constant_value("'a'"), constant_value("'b'")]));
    assert!(!updates_conflict([constant_value("7"), (Value::Parameter(0), Some("8"))]));
    for [a, b] in [["'BC'", "'GC'"], ["'red'", "'green'"], ["'2020-01-02'", "'2020-01-03'"]] {
        assert!(!updates_conflict([constant_value(a), constant_value(b)]), "{a} {b}");
    }
    let large = ["90071992547409930", "90071992547409931"].map(constant_value);
    assert!(!updates_conflict(large));
}

#[test]
fn keys_that_may_be_equal_conflict() {
    let dates = [
        ("'2020-1-2'", "'2020-01-02'"),
        ("'2020-1-02'", "'2020-01-2'"),
        ("'t'", "'YES'"),
        ("1", "'true'"),
    ];
    for (a, b) in dates {
        assert!(updates_conflict([constant_value(a), constant_value(b)]), "{a} {b}");
    }
    for (a, b) in [("1", "1"), ("1", "01"), ("1", "'1.0'"), ("'a'", "'A '"), ("'ä'", "'Ä'")] {
        assert!(updates_conflict([constant_value(a), constant_value(b)]), "{a} {b}");
    }
}

#[test]
fn constants_that_are_not_plain_conflict() {
    for text in ["now()", "'x'::text", "nan", "'a\\'b'"] {
        assert!(updates_conflict([constant_value(text), constant_value("5")]), "{text}");
    }
}

#[test]
fn null_or_missing_parameter_conflicts() {
    let parameter = Value::Parameter(0);
    assert!(updates_conflict([(parameter.clone(), None), (parameter, Some("2"))]));
    let beyond = Value::Parameter(3);
    assert!(updates_conflict([(beyond, Some("1")), (Value::Parameter(0), Some("2"))]));
}

#[test]
fn update_of_the_key_itself_conflicts_with_other_keys() {
    let values = ["1", "2"].map(|text| Value::Constant(text.to_owned()));
    let [first, second] =
        values.map(|value| query(access(some(&["id"]), some(&["id"]), Some(value))));
    let event = event("", &[]);
    let a = Operation { event: &event, query: first };
    let b = Operation { event: &event, query: second };
    assert!(conflict(&a, &b, &|_| vec!["id".to_owned()]));
}

#[test]
fn columns_that_are_not_of_the_key_do_not_tell_rows_apart() {
    let values = ["1", "2"].map(|text| Value::Constant(text.to_owned()));
    let [first, second] = values.map(|value| query(access(some(&[]), some(&["q"]), Some(value))));
    let event = event("", &[]);
    let a = Operation { event: &event, query: first };
    let b = Operation { event: &event, query: second };
    assert!(conflict(&a, &b, &|_| vec!["other".to_owned()]));
}

#[test]
fn only_a_write_of_the_same_column_conflicts() {
    let none = || some(&[]);
    let reads = |column| access(some(&[column]), none(), None);
    let writes = |column| access(none(), some(&[column]), None);
    assert!(!accesses_conflict(reads("q"), reads("q")));
    assert!(accesses_conflict(reads("q"), writes("q")));
    assert!(!accesses_conflict(reads("q"), writes("r")));
    assert!(accesses_conflict(writes("q"), writes("q")));
    assert!(!accesses_conflict(writes("q"), writes("r")));
    assert!(accesses_conflict(access(Columns::All, none(), None), writes("r")));
    assert!(!accesses_conflict(access(Columns::All, none(), None), reads("r")));
}

#[test]
fn insertion_and_deletion_conflict_with_every_access() {
    let reads = || access(some(&["q"]), some(&[]), None);
    let inserts = TableAccess { inserts: true, ..TableAccess::default() };
    let deletes = TableAccess { deletes: true, ..TableAccess::default() };
    assert!(accesses_conflict(inserts.clone(), reads()));
    assert!(accesses_conflict(deletes.clone(), reads()));
    assert!(accesses_conflict(inserts, deletes));
}

#[test]
fn locking_reads_of_the_same_row_do_not_conflict() {
    let locks = || TableAccess { locks: true, ..access(some(&["q"]), some(&[]), None) };
    assert!(!accesses_conflict(locks(), locks()));
}

#[test]
fn unknown_and_other_statements_conflict_with_all() {
    let event = event("", &[]);
    let read = || query(access(some(&["q"]), some(&[]), None));
    let other = Some(Query { kind: QueryKind::Other, ..Query::default() });
    for special in [None, other] {
        let a = Operation { event: &event, query: special };
        let b = Operation { event: &event, query: read() };
        assert!(conflict(&a, &b, &|_| Vec::new()) && conflict(&b, &a, &|_| Vec::new()));
    }
}

#[test]
fn first_swap_names_the_first_conflicting_pair_that_changed_places() {
    let events = ["a", "b", "c"].map(|name| event(name, &[]));
    let accesses = [
        access(some(&[]), some(&["q"]), None),
        access(some(&["r"]), some(&[]), None),
        access(some(&["q"]), some(&[]), None),
    ];
    let operation =
        |at: usize| Operation { event: &events[at], query: query(accesses[at].clone()) };
    let old = [0, 1, 2].map(operation);
    let key = |_: &str| Vec::new();
    assert_eq!(first_swap(&old, &[1, 0, 2].map(operation), &key), None);
    assert_eq!(first_swap(&old, &[1, 2, 0].map(operation), &key), Some((0, 2)));
}
