use super::*;
use crate::{
    explain::report_of,
    legality::{Constraint, Demand, Rule},
    schema,
    solve::Before,
    sql,
};

/// Returns a report on units that lock one table each, in the order of their letters; the weight of
/// each is its second part.
fn report(function: &str, units: &[(&str, u64)]) -> Report {
    let mut report = report_of(function, units.iter().map(|&(_, weight)| (weight, 1)));
    for (unit, (table, _)) in report.units.iter_mut().zip(units) {
        let line = unit.lines.0;
        unit.locks = table.chars().map(|table| Lock { table: table.to_string(), line }).collect();
    }
    report
}

fn before(report: &mut Report, first: UnitIndex, later: UnitIndex) {
    let demand = Demand::Before(Before { first, later });
    let reason = "a test demands it".to_owned();
    report.constraints.push(Constraint { demand, rule: Rule::SameTable, reason });
    solve(report);
}

fn solve(report: &mut Report) {
    report.solution = report.problem().solve(Default::default()).unwrap();
}

fn order(report: &Report) -> String {
    first_locks(report, &report.solution.order).into_iter().map(|lock| lock.table).collect()
}

#[test]
fn order_of_all_transactions_has_each_shared_table_once() {
    let reports = [
        report("one", &[("a", 1), ("b", 2), ("x", 9)]),
        report("two", &[("b", 1), ("c", 1), ("b", 1)]),
        report("three", &[("a", 1), ("c", 1)]),
    ];
    let tables = ["a", "b", "c"].map(str::to_owned).to_vec();
    assert_eq!(of(&reports), LockOrder::Order(tables));
}

#[test]
fn cycle_names_the_locks_of_each_transaction() {
    let reports = [
        report("one", &[("a", 1), ("b", 2)]),
        report("two", &[("b", 1), ("c", 1)]),
        report("three", &[("c", 1), ("a", 1)]),
    ];
    let LockOrder::Cycle(steps) = of(&reports) else { panic!("no cycle") };
    let text = |step: &Step| {
        let (held, wanted) = (&step.held, &step.wanted);
        let Step { function, .. } = step;
        format!("{function} {}{} {}{}", held.table, held.line, wanted.table, wanted.line)
    };
    let steps: Vec<String> = steps.iter().map(text).collect();
    assert_eq!(steps, ["one a1 b2", "two b1 c2", "three c1 a2"]);
}

#[test]
fn first_lock_of_a_table_counts() {
    let reports = [report("one", &[("a", 1), ("b", 1), ("a", 1)]), report("two", &[("ab", 1)])];
    assert_eq!(of(&reports), LockOrder::Order(vec!["a".to_owned(), "b".to_owned()]));
}

/// Two transactions whose cheapest orders lock two tables crosswise: one weighs `a`, the other `b`.
fn crossed() -> [Report; 2] {
    let mut reports = [report("one", &[("a", 9), ("b", 1)]), report("two", &[("a", 1), ("b", 4)])];
    reports.iter_mut().for_each(solve);
    reports
}

#[test]
fn demand_chooses_the_cheapest_common_order() {
    let mut reports = crossed();
    assert!(matches!(of(&reports), LockOrder::Cycle(_)));
    let imposed = impose(&mut reports);
    // One: b a costs 2 + 9, a b 18 + 1. Two: a b costs 2 + 4, b a 8 + 1.
    assert_eq!(imposed, Imposed::Order { cost_before: 17, cost: 20, is_best: true });
    assert_eq!(reports.each_ref().map(order), ["ba", "ba"]);
    let tables = ["b", "a"].map(str::to_owned).to_vec();
    assert_eq!(of(&reports), LockOrder::Order(tables));
    // The demand belongs to the problem.
    assert_eq!(reports[1].problem().before, [Before { first: 1, later: 0 }]);
}

#[test]
fn demand_obeys_the_constraints_of_each_transaction() {
    let mut reports = crossed();
    before(&mut reports[1], 0, 1);
    assert_eq!(impose(&mut reports), Imposed::Order { cost_before: 17, cost: 25, is_best: true });
    assert_eq!(reports.each_ref().map(order), ["ab", "ab"]);
}

#[test]
fn demand_that_cannot_be_obeyed_changes_nothing() {
    let mut reports = crossed();
    reports[0] = report("one", &[("ba", 1)]);
    before(&mut reports[1], 0, 1);
    let orders = reports.each_ref().map(|report| report.solution.clone());
    assert_eq!(impose(&mut reports), Imposed::Impossible);
    assert_eq!(reports.each_ref().map(|report| report.solution.clone()), orders);
    assert!(reports.iter().all(|report| report.lock_order.is_empty()));
}

#[test]
fn many_tables_are_ordered_by_swaps() {
    let units = |tables: &'static str, weights: [u64; 8]| {
        let units = tables.char_indices().zip(weights);
        units.map(|((at, table), weight)| (&tables[at..at + table.len_utf8()], weight)).collect()
    };
    let all: [Vec<(&str, u64)>; 2] =
        [units("abcdefgh", [8, 7, 6, 5, 4, 3, 2, 1]), units("abcdefgh", [1, 1, 1, 1, 1, 1, 1, 9])];
    let mut reports = all.each_ref().map(|units| report("one", units));
    reports.iter_mut().for_each(solve);
    assert!(matches!(of(&reports), LockOrder::Cycle(_)));
    assert!(matches!(impose(&mut reports), Imposed::Order { is_best: false, .. }));
    assert!(matches!(of(&reports), LockOrder::Order(_)));
    assert_eq!(order(&reports[0]), order(&reports[1]));
}

#[test]
fn locked_tables_depend_on_the_server() {
    let ddl = "CREATE TABLE p (id integer PRIMARY KEY);
               CREATE TABLE t (id integer PRIMARY KEY, p integer REFERENCES p (id), n integer);";
    let cases = [
        ("UPDATE t SET n = 1 WHERE id = 1", "t", "t", "t"),
        ("DELETE FROM t", "t", "t", "t"),
        ("INSERT INTO t (id, p, n) VALUES (1, 1, 1)", "", "p t", "p t"),
        ("UPDATE t SET p = 2 WHERE id = 1", "t", "p t", "p t"),
        ("SELECT n FROM t", "", "", "t"),
        ("SELECT n FROM t FOR UPDATE", "t", "t", "t"),
    ];
    for (text, postgresql, mysql, serializable) in cases {
        let levels = [
            (Server::Postgresql, Isolation::Serializable, postgresql),
            (Server::Mysql, Isolation::RepeatableRead, mysql),
            (Server::Mysql, Isolation::Serializable, serializable),
        ];
        for (server, isolation, expected) in levels {
            let schema = match server {
                Server::Postgresql => schema::parse(ddl, server),
                _ => schema::parse(
                    "CREATE TABLE p (id integer PRIMARY KEY);
                     CREATE TABLE t (id integer PRIMARY KEY, p integer, n integer,
                         FOREIGN KEY (p) REFERENCES p (id));",
                    server,
                ),
            }
            .unwrap();
            let query = sql::analyze(text, server, &schema).unwrap();
            let tables = locked(&query, &schema, server, isolation);
            let tables: Vec<String> = tables.into_iter().collect();
            assert_eq!(tables.join(" "), expected, "{text} {server:?} {isolation:?}");
        }
    }
}
