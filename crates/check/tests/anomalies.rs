//! The smallest history with each kind of anomaly, and a similar valid one.

use clearway_check::{Class, Kind, check, format};

/// Checks a history given as lines `id invoked ended|- outcome ops`.
fn kinds(lines: &[&str]) -> Vec<String> {
    let mut text = "{\"clearway-history\":1}\n".to_owned();
    for line in lines {
        let mut parts = line.splitn(5, ' ');
        let mut part = || parts.next().unwrap();
        let (id, begin, end, outcome, ops) = (part(), part(), part(), part(), part());
        if outcome == "crash" {
            text += &format!("{{\"type\":\"crash\",\"time\":{begin}}}\n");
            continue;
        }
        let event = |phase: &str, time: &str| {
            format!(
                "{{\"id\":{id},\"process\":{id},\"type\":\"{phase}\",\"time\":{time},\
                 \"ops\":{ops}}}\n"
            )
        };
        text += &event("invoke", begin);
        if outcome != "open" {
            text += &event(outcome, end);
        }
    }
    let report = check(&format::read(text.as_bytes()).unwrap()).unwrap();
    assert_eq!(report.undecided, 0);
    for anomaly in &report.anomalies {
        assert!(!anomaly.explanation.is_empty() && !anomaly.transactions.is_empty());
    }
    report.kinds().iter().map(Kind::to_string).collect()
}

#[track_caller]
fn valid(lines: &[&str]) {
    assert_eq!(kinds(lines), [""; 0]);
}

#[track_caller]
fn has(kind: &str, lines: &[&str]) {
    let found = kinds(lines);
    assert!(found.iter().any(|found| found == kind), "{kind} is not among {found:?}");
}

#[track_caller]
fn only(kind: &str, lines: &[&str]) {
    assert_eq!(kinds(lines), [kind]);
}

#[test]
fn serial_history_is_valid() {
    valid(&[
        "1 0 9 ok [[\"append\",1,1],[\"list\",1,[1]],[\"append\",1,2]]",
        "2 10 19 ok [[\"list\",1,[1,2]],[\"list\",2,[]],[\"write\",1,3],[\"read\",1,3]]",
        "3 20 29 ok [[\"read\",1,3],[\"write\",1,4],[\"insert\",5,50]]",
        "4 30 39 ok [[\"rows\",0,9,\"up\",[[5,50]]],[\"delete\",5,51],[\"rows\",5,5,\"up\",[]]]",
        "5 40 49 ok [[\"rows\",0,9,\"down\",[]],[\"ledger\",5,[50,51]],[\"read\",1,4]]",
    ]);
}

#[test]
fn writes_in_two_orders_are_g0() {
    let writers = [
        "1 0 9 ok [[\"append\",1,1],[\"append\",2,1]]",
        "2 0 9 ok [[\"append\",1,2],[\"append\",2,2]]",
    ];
    only("G0", &[writers[0], writers[1], "3 10 19 ok [[\"list\",1,[1,2]],[\"list\",2,[2,1]]]"]);
    valid(&[writers[0], writers[1], "3 10 19 ok [[\"list\",1,[2,1]],[\"list\",2,[2,1]]]"]);
}

#[test]
fn read_of_a_rolled_back_write_is_g1a() {
    has("G1a", &["1 0 9 fail [[\"append\",1,1]]", "2 10 19 ok [[\"list\",1,[1]]]"]);
    valid(&["1 0 9 info [[\"append\",1,1]]", "2 10 19 ok [[\"list\",1,[1]]]"]);
    valid(&["1 0 9 fail [[\"append\",1,1]]", "2 10 19 ok [[\"list\",1,[]]]"]);
}

#[test]
fn read_of_a_replaced_write_is_g1b() {
    let writer = "1 0 9 ok [[\"append\",1,1],[\"append\",1,2]]";
    has("G1b", &[writer, "2 0 9 ok [[\"list\",1,[1]]]", "3 10 19 ok [[\"list\",1,[1,2]]]"]);
    has("G1b", &["1 0 9 ok [[\"write\",1,1],[\"write\",1,2]]", "2 0 9 ok [[\"read\",1,1]]"]);
    valid(&[writer, "2 0 9 ok [[\"list\",1,[]]]", "3 10 19 ok [[\"list\",1,[1,2]]]"]);
}

#[test]
fn two_that_read_each_other_are_g1c() {
    only(
        "G1c",
        &[
            "1 0 9 ok [[\"append\",1,1],[\"list\",2,[2]]]",
            "2 0 9 ok [[\"append\",2,2],[\"list\",1,[1]]]",
        ],
    );
    valid(&[
        "1 0 9 ok [[\"append\",1,1],[\"list\",2,[]]]",
        "2 0 9 ok [[\"append\",2,2],[\"list\",1,[1]]]",
    ]);
}

#[test]
fn half_of_a_transaction_seen_is_g_single() {
    only(
        "G-single",
        &[
            "1 0 9 ok [[\"append\",1,1],[\"append\",2,1]]",
            "2 0 9 ok [[\"list\",1,[1]],[\"list\",2,[]]]",
        ],
    );
    only(
        "G-single",
        &[
            "1 0 9 ok [[\"write\",1,1],[\"write\",2,1]]",
            "2 0 9 ok [[\"read\",1,1],[\"read\",2,null]]",
        ],
    );
}

#[test]
fn lost_update_is_named() {
    let (one, other) = (
        "1 0 9 ok [[\"list\",1,[]],[\"append\",1,1]]",
        "2 0 9 ok [[\"list\",1,[]],[\"append\",1,2]]",
    );
    has("lost-update", &[one, other, "3 10 19 ok [[\"list\",1,[2]]]"]);
    let (one, other) = (
        "1 0 9 ok [[\"read\",1,null],[\"write\",1,1]]",
        "2 0 9 ok [[\"read\",1,null],[\"write\",1,2]]",
    );
    has("lost-update", &[one, other]);
    valid(&[one, "2 0 9 ok [[\"read\",1,1],[\"write\",1,2]]"]);
}

#[test]
fn write_skew_is_g2_item() {
    only(
        "G2-item",
        &[
            "1 0 9 ok [[\"list\",1,[]],[\"append\",2,1]]",
            "2 0 9 ok [[\"list\",2,[]],[\"append\",1,2]]",
        ],
    );
    only(
        "G2-item",
        &[
            "1 0 9 ok [[\"read\",1,null],[\"write\",2,1]]",
            "2 0 9 ok [[\"read\",2,null],[\"write\",1,2]]",
        ],
    );
}

#[test]
fn phantoms_are_g2() {
    let insert_blind = |other: &str| {
        vec![
            "1 0 9 ok [[\"rows\",0,9,\"up\",[]],[\"insert\",15,1]]".to_owned(),
            format!("2 0 9 ok [[\"rows\",10,19,\"down\",{other}],[\"insert\",5,2]]"),
        ]
    };
    let lines = insert_blind("[]");
    only("G2", &[&lines[0], &lines[1]]);
    let lines = insert_blind("[[15,1]]");
    valid(&[&lines[0], &lines[1]]);
    // The same with ranges of lists, and one transaction that sees half of another.
    only(
        "G-single-predicate",
        &[
            "1 0 9 ok [[\"append\",1,1],[\"append\",2,1]]",
            "2 0 9 ok [[\"lists\",0,1,\"up\",[[1,[1]]]],[\"lists\",2,3,\"up\",[]]]",
        ],
    );
}

#[test]
fn row_that_was_there_all_the_time_is_not_missed() {
    let insert = "1 0 9 ok [[\"insert\",5,1]]";
    let delete = "3 30 39 ok [[\"delete\",5,2]]";
    let end = "4 50 59 ok [[\"ledger\",5,[1,2]]]";
    only(
        "G-single-predicate-realtime",
        &[insert, "2 10 19 ok [[\"rows\",0,9,\"up\",[]]]", delete, end],
    );
    // Before the insertion, and after the removal, it is rightly absent.
    valid(&[insert, "2 5 19 ok [[\"rows\",0,9,\"up\",[]]]", delete, end]);
    valid(&[insert, "2 10 35 ok [[\"rows\",0,9,\"up\",[]]]", delete, end]);
}

#[test]
fn sums_are_judged_by_the_versions_that_they_add_up() {
    let both = "1 0 9 ok [[\"insert\",1,1000],[\"insert\",2,200]]";
    let transfer = "2 10 29 ok [[\"insert\",1,3000],[\"insert\",2,400]]";
    let end = "9 50 59 ok [[\"ledger\",1,[1000,3000]],[\"ledger\",2,[200,400]]]";
    let with = |begin: u64, rows: u64, sum: u64| {
        let read = format!("3 {begin} 39 ok [[\"sum\",0,9,\"up\",[{rows},{sum}]]]");
        [both.to_owned(), transfer.to_owned(), read, end.to_owned()]
    };
    let found = |lines: [String; 4]| kinds(&lines.each_ref().map(String::as_str));
    assert_eq!(found(with(20, 2, 3400)), [""; 0]);
    assert_eq!(found(with(20, 2, 1200)), [""; 0]);
    // Half of the transfer.
    assert_eq!(found(with(20, 2, 3200)), ["G-single-predicate"]);
    assert_eq!(found(with(20, 2, 1400)), ["G-single-predicate"]);
    // The state before it, long after it was acknowledged; and before the rows were there.
    assert_eq!(found(with(30, 2, 1200)), ["G-single-predicate-realtime"]);
    assert_eq!(found(with(10, 0, 0)), ["G-single-predicate-realtime"]);
    // No state at all.
    assert_eq!(found(with(20, 2, 3401)), ["impossible-sum"]);
    assert_eq!(found(with(20, 3, 3400)), ["impossible-sum"]);
}

#[test]
fn sums_that_miss_each_others_insertions_are_g2() {
    let lines = |one: &str, other: &str| {
        [
            format!("1 0 9 ok [[\"sum\",0,9,\"up\",{one}],[\"insert\",15,1]]"),
            format!("2 0 9 ok [[\"sum\",10,19,\"down\",{other}],[\"insert\",5,2]]"),
            "3 10 19 ok [[\"ledger\",5,[2]],[\"ledger\",15,[1]]]".to_owned(),
        ]
    };
    let found = |lines: [String; 3]| kinds(&lines.each_ref().map(String::as_str));
    assert_eq!(found(lines("[0,0]", "[0,0]")), ["G2"]);
    assert_eq!(found(lines("[0,0]", "[1,1]")), [""; 0]);
    assert_eq!(found(lines("[1,2]", "[1,1]")), ["G1c"]);
}

#[test]
fn sums_count_what_their_own_transaction_wrote_and_nothing_of_the_rolled_back() {
    let rows = "1 0 9 ok [[\"insert\",1,1000],[\"insert\",2,200]]";
    let own = |sum: &str| {
        format!("2 10 19 ok [[\"insert\",1,5000],[\"delete\",2,201],[\"sum\",0,9,\"up\",{sum}]]")
    };
    let end = "3 20 29 ok [[\"ledger\",1,[1000,5000]],[\"ledger\",2,[200,201]]]";
    valid(&[rows, &own("[1,5000]"), end]);
    only("impossible-sum", &[rows, &own("[2,6000]"), end]);
    let undone = "4 10 19 fail [[\"insert\",3,70000]]";
    has("G1a", &[rows, undone, "5 30 39 ok [[\"sum\",0,9,\"down\",[3,71200]]]"]);
    valid(&[rows, undone, "5 30 39 ok [[\"sum\",0,9,\"down\",[2,1200]]]"]);
    let unknown = "4 10 19 info [[\"insert\",3,70000]]";
    valid(&[rows, unknown, "5 30 39 ok [[\"sum\",0,9,\"down\",[3,71200]]]"]);
    has(
        "G1b",
        &[
            "1 0 9 ok [[\"insert\",1,10],[\"insert\",1,20]]",
            "2 0 9 ok [[\"sum\",0,9,\"up\",[1,10]]]",
        ],
    );
}

#[test]
fn sums_that_several_states_have_are_no_anomaly() {
    // 1 + 4 = 2 + 3: the transfer was seen, or it was not.
    let rows = "1 0 9 ok [[\"insert\",1,1],[\"insert\",2,4]]";
    let transfer = "2 10 29 ok [[\"insert\",1,2],[\"insert\",2,3]]";
    let end = "9 50 59 ok [[\"ledger\",1,[1,2]],[\"ledger\",2,[4,3]]]";
    valid(&[rows, transfer, "3 20 39 ok [[\"sum\",0,9,\"up\",[2,5]]]", end]);
    has("G-single-predicate", &[rows, transfer, "3 20 39 ok [[\"sum\",0,9,\"up\",[2,4]]]", end]);
}

#[test]
fn sum_that_took_too_long_to_be_searched_is_no_anomaly() {
    let reader = |sum: u64| format!("0 0 9999 ok [[\"sum\",0,9,\"up\",[10,{sum}]]]");
    let writer = |id: u64| {
        let rows: Vec<String> =
            (0..10).map(|row| format!("[\"insert\",{row},{}]", id * 1_000 + row)).collect();
        format!("{id} {} {} ok [{}]", id * 10, id * 10 + 9, rows.join(","))
    };
    let mut lines: Vec<String> = (1..40).map(writer).collect();
    lines.push(reader(7));
    valid(&lines.iter().map(String::as_str).collect::<Vec<_>>());
}

#[test]
fn stale_reads_are_anomalies_of_real_time() {
    only("G-single-realtime", &["1 0 9 ok [[\"write\",1,1]]", "2 10 19 ok [[\"read\",1,null]]"]);
    valid(&["1 0 9 ok [[\"write\",1,1]]", "2 9 19 ok [[\"read\",1,null]]"]);
    only(
        "G0-realtime",
        &[
            "1 0 9 ok [[\"append\",1,1]]",
            "2 10 19 ok [[\"append\",1,2]]",
            "3 20 29 ok [[\"list\",1,[2,1]]]",
        ],
    );
    only("G1c-realtime", &["1 10 19 ok [[\"append\",1,1]]", "2 0 9 ok [[\"list\",1,[1]]]"]);
    // Two readers see two writers in different orders: no real time needed between the four.
    only(
        "G2-item",
        &[
            "1 0 99 ok [[\"append\",1,1]]",
            "2 0 99 ok [[\"append\",2,2]]",
            "3 0 99 ok [[\"list\",1,[1]],[\"list\",2,[]]]",
            "4 0 99 ok [[\"list\",1,[]],[\"list\",2,[2]]]",
        ],
    );
}

#[test]
fn acknowledged_write_that_is_gone_is_lost() {
    let (write, read) = ("1 0 9 ok [[\"append\",1,1]]", "2 20 29 ok [[\"list\",1,[]]]");
    has("lost-write", &[write, read]);
    has("lost-in-crash", &[write, "0 15 - crash []", read]);
    valid(&["1 0 9 open [[\"append\",1,1]]", "0 15 - crash []", read]);
    // A transaction without acknowledgement may have taken effect, as a whole.
    let writer = "1 0 - open [[\"append\",1,1],[\"append\",2,1]]";
    valid(&[writer, "0 15 - crash []", "2 20 29 ok [[\"list\",1,[1]],[\"list\",2,[1]]]"]);
    has("G-single", &[writer, "0 15 - crash []", "2 20 29 ok [[\"list\",1,[1]],[\"list\",2,[]]]"]);
}

#[test]
fn lists_that_contradict_each_other_are_reported() {
    let writers = ["1 0 9 ok [[\"append\",1,1]]", "2 0 9 ok [[\"append\",1,2]]"];
    let with = |line| [writers[0], writers[1], line];
    has("duplicate-elements", &with("3 10 19 ok [[\"list\",1,[1,2,1]]]"));
    has("garbage-read", &with("3 10 19 ok [[\"list\",1,[1,2,7]]]"));
    let both = "3 10 19 ok [[\"list\",1,[1,2]]]";
    has("incompatible-order", &[writers[0], writers[1], both, "4 10 19 ok [[\"list\",1,[2,1]]]"]);
    valid(&[writers[0], writers[1], both, "4 0 19 ok [[\"list\",1,[1]]]"]);
}

#[test]
fn transaction_must_see_itself() {
    has("internal", &["1 0 9 ok [[\"append\",1,1],[\"list\",1,[]]]"]);
    has("internal", &["1 0 9 ok [[\"list\",1,[1]],[\"append\",1,1]]"]);
    has("internal", &["1 0 9 ok [[\"write\",1,1],[\"read\",1,null]]"]);
    has("internal", &["1 0 9 ok [[\"insert\",1,1],[\"rows\",0,9,\"up\",[]]]"]);
    has(
        "internal",
        &["1 0 9 ok [[\"insert\",1,1],[\"delete\",1,2],[\"rows\",0,9,\"up\",[[1,1]]]]"],
    );
    let rows = "[\"insert\",1,1],[\"insert\",2,2]";
    let read = |rows_read: &str| format!("1 0 9 ok [{rows},[\"rows\",0,9,\"down\",{rows_read}]]");
    has("internal", &[&read("[[1,1],[2,2]]")]);
    valid(&[&read("[[2,2],[1,1]]")]);
}

#[test]
fn compare_and_set_of_unknown_outcome_counts_if_it_was_seen() {
    let open = "2 10 - open [[\"cas\",1,1,2]]";
    let write = "1 0 9 ok [[\"write\",1,1]]";
    valid(&[write, open, "3 20 29 ok [[\"read\",1,2]]"]);
    valid(&[write, open, "3 20 29 ok [[\"read\",1,1]]"]);
    has(
        "lost-update",
        &[
            write,
            open,
            "3 20 29 ok [[\"read\",1,1],[\"write\",1,3]]",
            "4 30 39 ok [[\"read\",1,2]]",
        ],
    );
}

#[test]
fn blind_writes_are_put_in_any_order_that_explains_the_reads() {
    let writers = [
        "1 0 99 ok [[\"write\",1,1]]",
        "2 0 99 ok [[\"write\",1,2]]",
        "3 0 99 ok [[\"write\",1,3]]",
    ];
    let with = |lines: [&'static str; 3]| {
        [writers[0], writers[1], writers[2], lines[0], lines[1], lines[2]]
    };
    let reads =
        ["4 0 9 ok [[\"read\",1,2]]", "5 10 19 ok [[\"read\",1,3]]", "6 20 29 ok [[\"read\",1,1]]"];
    valid(&with(reads));
    let again = "6 20 29 ok [[\"read\",1,2]]";
    assert!(!kinds(&with([reads[0], reads[1], again])).is_empty());
}

#[test]
fn names_of_kinds_are_the_usual_ones() {
    let cycle = |class, realtime| Kind::Cycle { class, realtime }.to_string();
    assert_eq!(cycle(Class::G0, false), "G0");
    assert_eq!(cycle(Class::G2Item, true), "G2-item-realtime");
}
