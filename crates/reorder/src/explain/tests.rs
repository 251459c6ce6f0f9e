mod images;

use std::time::{Duration, Instant};

use super::*;
use crate::{
    legality::{Constraint, Demand, Isolation, Rule},
    lock_order::Lock,
    solve::{Before, Limits, Outside, UnitCost},
    source::Range,
};

/// Returns a report on units without constraints, one a line, each of a weight and a length. Unit
/// `n` updates table `tn`.
pub(crate) fn report_of(function: &str, costs: impl IntoIterator<Item = (u64, u64)>) -> Report {
    let unit = |(number, (weight, length)): (usize, (u64, u64))| {
        let (line, table) = (number + 1, format!("t{number}"));
        UnitReport {
            range: Range::new(line * 10, line * 10 + 9),
            lines: (line, line),
            queries: vec![format!("UPDATE {table} SET n = n + 1")],
            locks: vec![Lock { table: table.clone(), line }],
            tables: vec![table],
            barriers: Vec::new(),
            cost: UnitCost { weight, length },
            outside: false,
        }
    };
    let units: Vec<UnitReport> = costs.into_iter().enumerate().map(unit).collect();
    let source: Vec<UnitIndex> = (0..units.len()).collect();
    let mut report = Report {
        function: function.to_owned(),
        line: 1,
        server: crate::api::Server::Postgresql,
        isolation: Isolation::ReadCommitted,
        units,
        constraints: Vec::new(),
        lock_order: Vec::new(),
        advice: Vec::new(),
        scale: Scale::Estimated,
        unmeasured: Vec::new(),
        cost_before: 0,
        solution: crate::solve::Solution { order: source.clone(), cost: 0, bound: 0 },
    };
    report.cost_before = report.problem().cost(&source);
    solve(&mut report);
    report
}

fn solve(report: &mut Report) {
    report.solution = report.problem().solve(Limits::default()).unwrap();
}

fn demand(report: &mut Report, demand: Demand, rule: Rule, reason: &str) {
    report.constraints.push(Constraint { demand, rule, reason: reason.to_owned() });
    solve(report);
}

fn before(report: &mut Report, first: UnitIndex, later: UnitIndex, rule: Rule, reason: &str) {
    demand(report, Demand::Before(Before { first, later }), rule, reason);
}

#[test]
fn unit_that_moved_has_an_arrow_and_both_holds() {
    let mut report = report_of("f", [(9, 1), (1, 2), (0, 1)]);
    report.units[2].queries = vec!["SELECT n\n FROM t2".to_owned()];
    report.units[2].locks.clear();
    before(&mut report, 1, 2, Rule::Exit, "it leaves");
    let text = explain(&report);
    let table: Vec<&str> = text.lines().skip_while(|line| !line.contains("new")).take(4).collect();
    let expected = [
        "  new  old  lines  weight   hold  query",
        "    1    2  2           1  3 → 4  UPDATE t1 SET n = n + 1",
        "    2    3  3                     SELECT n FROM t2",
        "↓   3    1  1           9  4 → 1  UPDATE t0 SET n = n + 1",
    ];
    assert_eq!(table, expected, "{text}");
}

#[test]
fn reasons_are_those_of_pairs_that_no_others_imply() {
    let mut report = report_of("f", [(9, 1), (0, 1), (1, 1)]);
    before(&mut report, 0, 1, Rule::SameTable, "both use `t`");
    before(&mut report, 1, 2, Rule::ReadOrder, "both read");
    before(&mut report, 0, 2, Rule::Exit, "it leaves");
    before(&mut report, 0, 1, Rule::ReadAfterWrite, "it writes `x`");
    let text = explain(&report);
    let expected = "\nwhy not later:\n  line 1 (t0) before line 2 (t1)\n      same table: both use \
                    `t`\n      read after write: it writes `x`\n";
    assert!(text.contains(expected), "{text}");
    assert!(!text.contains("it leaves") && !text.contains("both read"), "{text}");
}

#[test]
fn many_reasons_of_a_pair_stand_once_for_each_memory() {
    let mut report = report_of("f", [(9, 1), (0, 1)]);
    before(&mut report, 0, 1, Rule::SameTable, "both use `t`");
    for name in ["`x`", "`y`", "`z`"] {
        before(&mut report, 0, 1, Rule::ReadAfterWrite, &format!("it writes {name}"));
        before(&mut report, 0, 1, Rule::WriteAfterWrite, &format!("both write {name}"));
    }
    let text = explain(&report);
    let expected = "  line 1 (t0) before line 2 (t1)\n      same table: both use `t`\n      read \
                    after write, write after write: `x`\n";
    assert!(text.contains(expected), "{text}");
    assert_eq!(text.matches("`y`").count(), 1, "{text}");
}

#[test]
fn reasons_lead_through_units_without_queries() {
    let mut report = report_of("f", [(9, 1), (0, 0), (1, 1), (0, 0)]);
    for unit in [1, 3] {
        report.units[unit].queries.clear();
        report.units[unit].tables.clear();
        report.units[unit].locks.clear();
    }
    before(&mut report, 0, 1, Rule::ReadAfterWrite, "it writes `x`");
    before(&mut report, 1, 2, Rule::ReadAfterWrite, "it writes `y`");
    before(&mut report, 0, 3, Rule::ReadAfterWrite, "it writes `z`");
    let text = explain(&report);
    let expected = "  line 1 (t0) before line 2\n      read after write: it writes `x`\n  line 2 \
                    before line 3 (t2)\n      read after write: it writes `y`\n";
    assert!(text.contains(expected) && !text.contains('z'), "{text}");
}

#[test]
fn dependency_of_two_rules_is_gained_only_without_both() {
    let mut report = report_of("f", [(9, 1), (1, 1)]);
    before(&mut report, 0, 1, Rule::SameTable, "both use `t`");
    before(&mut report, 0, 1, Rule::ReadOrder, "both read");
    let best = Gain { constraints: vec![0, 1], cost: 2 + 9 };
    assert_eq!(gains(&report), [best]);
    assert!(explain(&report).contains("  11 (−42 %)  line 1 (t0) before line 2 (t1): "));
}

#[test]
fn gains_are_sorted_and_name_the_smallest_dependency() {
    let mut report = report_of("f", [(9, 1), (5, 1), (0, 1), (0, 1)]);
    before(&mut report, 0, 2, Rule::ReadOrder, "both read");
    before(&mut report, 0, 3, Rule::ReadOrder, "both read");
    before(&mut report, 1, 3, Rule::SameTable, "both use `t`");
    let gains = gains(&report);
    assert!(gains.is_sorted_by_key(|gain| gain.cost), "{gains:?}");
    assert_eq!(gains[0].constraints, [0, 1], "the whole rule gains most: {gains:?}");
    assert!(explain(&report).contains("all of the rule read order: both read (--relaxed-reads)"));
    for gain in &gains {
        let mut without = report_of("f", [(9, 1), (5, 1), (0, 1), (0, 1)]);
        let kept = report.constraints.iter().enumerate();
        let kept = kept.filter(|(at, _)| !gain.constraints.contains(at));
        without.constraints = kept.map(|(_, constraint)| constraint.clone()).collect();
        solve(&mut without);
        assert_eq!(without.solution.cost, gain.cost);
        assert!(gain.cost < report.solution.cost);
    }
}

#[test]
fn gain_of_a_range_is_found() {
    let mut report = report_of("f", [(9, 1), (0, 1), (0, 1), (1, 1)]);
    before(&mut report, 0, 2, Rule::Exit, "it leaves");
    before(&mut report, 1, 2, Rule::ReadAfterWrite, "it writes `x`");
    let range = Demand::Outside(Outside { unit: 0, from: 1, to: 2 });
    demand(&mut report, range, Rule::WriteAfterRead, "it writes `x`");
    let gains = gains(&report);
    let of_range = gains.iter().find(|gain| gain.constraints == [2]).unwrap();
    // From the orders 3 0 1 2 and 1 3 0 2.
    assert_eq!((report.solution.cost, of_range.cost), (31, 21));
    let text = explain(&report);
    let expected = "line 1 (t0) not between line 2 (t1) and line 3 (t2): write after read";
    assert!(text.contains(expected), "{text}");
}

#[test]
fn gains_of_121_units_are_found_fast() {
    let mut report = report_of("f", (0..121).map(|unit| ((unit * 37) % 101, 1 + (unit * 13) % 7)));
    let mut state = 1u64;
    let mut random = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize
    };
    for _ in 0..3_500 {
        let (a, b) = (random() % 121, random() % 121);
        if a < b {
            let demand = Demand::Before(Before { first: a, later: b });
            let reason = format!("`{a}`");
            report.constraints.push(Constraint { demand, rule: Rule::ReadAfterWrite, reason });
        }
    }
    solve(&mut report);
    let start = Instant::now();
    let found = gains(&report);
    assert_eq!(found.len(), 10);
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
}

#[test]
fn measured_costs_have_units() {
    let mut report = report_of("f", [(2_500_000, 1_000_000), (0, 12_340_000)]);
    report.scale = Scale::Hold;
    let text = explain(&report);
    assert!(text.contains("expected cost: 33.4 ms² before, 2.500 ms² after (−93 %)"), "{text}");
    assert!(text.contains("2.500 ms  13.3 ms → 1.000 ms"), "{text}");
    assert!(text.contains("hold: expected time from the lock"), "{text}");
}

#[test]
fn other_order_of_locks_warns_of_deadlocks() {
    let text = explain(&report_of("f", [(9, 1), (1, 1)]));
    assert!(text.contains("before t0, t1; now t1, t0\n") && text.contains("deadlock"), "{text}");
    assert!(!explain(&report_of("f", [(1, 1), (9, 1)])).contains("deadlock"));
}

#[test]
fn order_of_several_transactions_is_printed() {
    let rewritten = |reports: Vec<Report>| Rewritten {
        text: String::new(),
        moved: Default::default(),
        splits: Vec::new(),
        sorted: Vec::new(),
        unsorted: Vec::new(),
        renamings: Vec::new(),
        refusals: Vec::new(),
        unstated: Vec::new(),
        left_open: Vec::new(),
        transactions: reports,
        lock_order: None,
    };
    let both = || vec![report_of("f", [(1, 1), (9, 1)]), report_of("g", [(9, 1), (1, 1)])];
    let text = explain_all("x.c", &rewritten(both()));
    assert!(text.contains("f locks t0 (x.c:1), then t1 (x.c:2)\n"), "{text}");
    assert!(text.contains("g locks t1 (x.c:2), then t0 (x.c:1)\n"), "{text}");
    let mut imposed = rewritten(both());
    imposed.lock_order = Some(lock_order::impose(&mut imposed.transactions));
    let text = explain_all("x.c", &imposed);
    assert!(text.contains("all transactions lock tables in the order t0, t1"), "{text}");
    assert!(text.contains("--lock-order: expected cost 22 without it, 30 with it\n"), "{text}");
}
