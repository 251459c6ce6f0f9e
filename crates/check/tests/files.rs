//! The format: there and back, its example, what is refused, and the program's exit codes.

use std::process::{Command, Output};

use clearway_check::{
    check, edn, format,
    history::{Event, History, Op, Phase, Way},
};

fn every_op() -> Vec<Op> {
    let (low, high) = (0, 9);
    vec![
        Op::Append { key: 1, value: 2 },
        Op::List { key: 1, values: None },
        Op::List { key: 1, values: Some(vec![1, 2]) },
        Op::Lists { low, high, way: Way::Up, found: None },
        Op::Lists { low, high, way: Way::Down, found: Some(vec![(1, vec![2])]) },
        Op::Write { key: 1, value: u64::MAX },
        Op::Read { key: 1, value: None },
        Op::Read { key: 1, value: Some(None) },
        Op::Read { key: 1, value: Some(Some(3)) },
        Op::Cas { key: 1, expected: None, value: 5 },
        Op::Cas { key: 1, expected: Some(5), value: 6 },
        Op::Insert { key: 1, version: 2 },
        Op::Delete { key: 1, version: 3 },
        Op::Ledger { key: 1, versions: None },
        Op::Ledger { key: 1, versions: Some(Vec::new()) },
        Op::Rows { low, high, way: Way::Down, found: None },
        Op::Rows { low, high, way: Way::Up, found: Some(vec![(1, 2), (3, 4)]) },
        Op::Sum { low, high, way: Way::Up, found: None },
        Op::Sum { low, high, way: Way::Down, found: Some((2, u64::MAX)) },
    ]
}

#[test]
fn histories_come_back_as_they_were() {
    let event = |phase, time, ops| Event { id: 7, process: 3, phase, time, ops };
    let history = History {
        workload: "mixed".to_owned(),
        seed: 5,
        events: vec![
            event(Phase::Invoke, 1, every_op()),
            event(Phase::Info, 2, Vec::new()),
            event(Phase::Ok, 3, every_op()),
            event(Phase::Fail, 4, Vec::new()),
        ],
        crashes: vec![2, 9],
    };
    let mut text = Vec::new();
    format::write(&history, &mut text).unwrap();
    assert_eq!(format::read(&text[..]).unwrap(), history);
}

/// The example in the documentation is what the documentation says.
#[test]
fn documented_example_is_lost_in_a_crash() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/history-format.md");
    let document = std::fs::read_to_string(path).unwrap();
    let example = document.split("```json\n").nth(1).unwrap().split("```").next().unwrap();
    let history = format::read(example.as_bytes()).unwrap();
    let report = check(&history).unwrap();
    let kinds: Vec<String> = report.kinds().iter().map(ToString::to_string).collect();
    assert_eq!(kinds, ["lost-in-crash", "G-single-predicate-realtime"]);
    let mut exported = Vec::new();
    edn::write(&history, &mut exported).unwrap();
    let documented = document.split("```edn\n").nth(1).unwrap().split("```").next().unwrap();
    assert_eq!(String::from_utf8(exported).unwrap(), documented);
}

/// The export must contain the possible writes of transactions of unknown outcome, and the keys
/// that a range read did not find.
#[test]
fn exports_say_what_was_asked_and_what_was_missed() {
    let lists = |way, found| Op::Lists { low: 2, high: 9, way, found };
    let event = |id, phase, time, ops| Event { id, process: id, phase, time, ops };
    let append = |key, value| Op::Append { key, value };
    let events = vec![
        event(1, Phase::Invoke, 1, vec![append(1, 1), append(4, 2), append(7, 3)]),
        event(2, Phase::Invoke, 2, vec![append(5, 9), Op::List { key: 4, values: None }]),
        event(3, Phase::Invoke, 3, vec![append(6, 8)]),
        event(4, Phase::Invoke, 4, vec![lists(Way::Down, None), lists(Way::Up, None)]),
        event(1, Phase::Info, 5, Vec::new()),
        event(3, Phase::Fail, 6, Vec::new()),
        event(
            4,
            Phase::Ok,
            7,
            vec![
                lists(Way::Down, Some(vec![(7, vec![3]), (4, vec![2])])),
                lists(Way::Up, Some(Vec::new())),
            ],
        ),
    ];
    let mut exported = Vec::new();
    edn::write(&History { events, ..History::default() }, &mut exported).unwrap();
    let exported = String::from_utf8(exported).unwrap();
    let value = |line: usize| exported.lines().nth(line).unwrap().split(" :type ").nth(1).unwrap();
    let nothing = "[:r 7 nil] [:r 6 nil] [:r 5 nil] [:r 4 nil] \
                   [:r 4 nil] [:r 5 nil] [:r 6 nil] [:r 7 nil]";
    assert_eq!(value(3), format!(":invoke :f :txn :value [{nothing}]}}"));
    assert_eq!(value(4), ":info :f :txn :value [[:append 1 1] [:append 4 2] [:append 7 3]]}");
    assert_eq!(value(5), ":fail :f :txn :value [[:append 6 8]]}");
    assert_eq!(
        value(6),
        ":ok :f :txn :value [[:r 7 [3]] [:r 6 nil] [:r 5 nil] [:r 4 [2]] \
         [:r 4 nil] [:r 5 nil] [:r 6 nil] [:r 7 nil]]}"
    );
    assert_eq!(value(7), ":info :f :txn :value [[:append 5 9] [:r 4 nil]]}", "it never ended");
    assert_eq!(exported.lines().count(), 8);
}

fn problem(lines: &str) -> String {
    let text = format!("{{\"clearway-history\":1}}\n{lines}");
    let checked = format::read(text.as_bytes()).and_then(|history| check(&history));
    checked.expect_err(lines).to_string()
}

#[test]
fn bad_input_is_a_clear_error() {
    let event = |id: u64, process: u64, phase: &str, time: u64, ops: &str| {
        format!(
            "{{\"id\":{id},\"process\":{process},\"type\":\"{phase}\",\"time\":{time},\
             \"ops\":{ops}}}\n"
        )
    };
    let begin = event(1, 0, "invoke", 1, "[]");
    for (lines, expected) in [
        ("{".to_owned(), "line 2: not JSON"),
        ("{}".to_owned(), "line 2: the field \"type\""),
        (begin.replace("\"time\":1,", ""), "the field \"time\""),
        (begin.replace("\"id\":1", "\"id\":-1"), "the field \"id\""),
        (event(1, 0, "invoke", 1, "[[\"put\",1,2]]"), "not an operation"),
        (event(1, 0, "invoke", 1, "[[\"append\",1]]"), "not an operation"),
        (event(1, 0, "invoke", 1, "[[\"append\",1,2,3,4]]"), "not an operation"),
        (event(1, 0, "invoke", 1, "[[\"rows\",1,2,\"sideways\"]]"), "not an operation"),
        (event(1, 0, "invoke", 1, "[[\"sum\",1,2,\"up\",7]]"), "not an operation"),
        (event(1, 0, "ok", 1, "[]"), "never invoked"),
        (begin.clone() + &event(1, 1, "invoke", 2, "[]"), "a second transaction 1"),
        (begin.clone() + &event(2, 0, "invoke", 2, "[]"), "process 0 has a transaction"),
        (begin.clone() + &event(1, 1, "ok", 2, "[]"), "not under way"),
        (begin.clone() + &event(1, 0, "ok", 2, "[[\"list\",1]]"), "without a result"),
        (event(1, 0, "invoke", 1, "[[\"append\",1,2],[\"append\",1,2]]"), "written twice"),
    ] {
        let problem = problem(&lines);
        assert!(problem.contains(expected), "{lines}: {problem}");
    }
    for (text, expected) in [("", "not a history"), ("{\"clearway-history\":9}", "format 9")] {
        let problem = format::read(text.as_bytes()).unwrap_err().to_string();
        assert!(problem.contains(expected), "{problem}");
    }
}

fn program(arguments: &[&str]) -> (i32, String) {
    let Output { status, stdout, stderr } =
        Command::new(env!("CARGO_BIN_EXE_clearway-check")).args(arguments).output().unwrap();
    (status.code().unwrap(), String::from_utf8([stdout, stderr].concat()).unwrap())
}

#[test]
fn exit_code_shows_the_verdict() {
    let place = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = place.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let line = |phase: &str, time: u64, ops: &str| {
        format!("{{\"id\":1,\"process\":0,\"type\":\"{phase}\",\"time\":{time},\"ops\":{ops}}}\n")
    };
    let head = "{\"clearway-history\":1}\n".to_owned();
    let ops = "[[\"append\",3,5],[\"list\",3,[5]]]";
    let good = file("good", &(head.clone() + &line("invoke", 1, ops) + &line("ok", 2, ops)));
    let edn = place.path().join("edn");
    let (code, text) = program(&["history", &good, "--edn", edn.to_str().unwrap()]);
    assert!(code == 0 && text.starts_with("strictly serializable: 1 transactions"), "{text}");
    let edn = std::fs::read_to_string(edn).unwrap();
    assert!(edn.contains(":type :ok :f :txn :value [[:append 3 5] [:r 3 [5]]]}"), "{edn}");
    let ops = "[[\"append\",3,5],[\"list\",3,[]]]";
    let bad = file("bad", &(head.clone() + &line("invoke", 1, ops) + &line("ok", 2, ops)));
    assert_eq!(program(&["history", &bad]).0, 1);
    assert_eq!(program(&["history", &file("no", "[]")]).0, 2);
    assert_eq!(program(&["history", "/no/such/file"]).0, 2);
    assert_eq!(program(&["history"]).0, 2);
    let register = head + &line("invoke", 1, "[[\"write\",1,2]]");
    let (code, text) = program(&["history", &file("reg", &register), "--edn", "/dev/null"]);
    assert!(code == 2 && text.contains("list-append"), "{text}");
}

#[test]
fn program_records_and_checks_across_kills() {
    let (code, text) =
        program(&["run", "--histories", "5", "--transactions", "600", "--crashes", "2"]);
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("5 histories"), "{text}");
}
