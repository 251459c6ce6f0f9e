//! Small cases, each a source and its rewritten source, in folders by the rule that they are about.
//! `case.rs` describes the format.
//!
//! `UPDATE_GOLDEN=1` writes the expected files again. Read each of them before you keep it: the
//! value of a case is the judgement that its expected source is right.
//!
//! Without libclang or the headers of the databases the tests print SKIPPED and pass, unless
//! `CLEARWAY_REQUIRE_LIBCLANG` is set.

mod case;
mod compile;
mod listing;
mod spellings;

use std::{collections::BTreeMap, fs, path::Path, sync::OnceLock};

use clearway_reorder::{
    clang::FrontEnd,
    explain,
    ir::{Program, text},
    legality::Rule,
    rewrite::{Options, Refused, Rewritten},
    transform,
    verify::{self, Knowledge},
};

use self::case::{Case, Expected};

const HEADERS: [&str; 3] = [
    "/usr/include/postgresql/libpq-fe.h",
    "/usr/include/mariadb/mysql.h",
    "/usr/include/sqlite3.h",
];

/// Returns the front end; `None` with a message if it or a header is missing.
fn front_end() -> Option<&'static FrontEnd> {
    static LOADED: OnceLock<Option<FrontEnd>> = OnceLock::new();
    LOADED.get_or_init(load).as_ref()
}

fn load() -> Option<FrontEnd> {
    let front_end = FrontEnd::load();
    let no_header = || HEADERS.into_iter().find(|header| !Path::new(header).exists());
    let missing = match &front_end {
        Err(error) => Some(error.to_string()),
        Ok(_) => no_header().map(|header| format!("{header} is missing")),
    };
    if let Some(reason) = missing {
        assert!(std::env::var_os("CLEARWAY_REQUIRE_LIBCLANG").is_none(), "{reason}");
        eprintln!("SKIPPED: {reason}");
        return None;
    }
    front_end.ok()
}

/// A case with its program.
struct Parsed {
    case: &'static Case,
    program: Program,
}

/// Returns all cases, read once for all tests.
fn cases() -> &'static [Case] {
    static CASES: OnceLock<Vec<Case>> = OnceLock::new();
    CASES.get_or_init(case::all)
}

/// Returns all cases, parsed once for all tests.
fn parsed() -> &'static [Parsed] {
    static PARSED: OnceLock<Vec<Parsed>> = OnceLock::new();
    PARSED.get_or_init(|| {
        let Some(front_end) = front_end() else { return Vec::new() };
        let selected = std::env::var("GOLDEN").unwrap_or_default();
        let all = cases().iter().filter(|case| case.name.contains(&selected));
        let parse = |case: &'static Case| {
            let program = case.parse(front_end, &case.text);
            Parsed { case, program }
        };
        all.map(parse).collect()
    })
}

/// Rewrites a text of a case, without some rules.
fn rewrite(
    case: &Case,
    program: &Program,
    text: &str,
    without: &[Rule],
) -> Result<Rewritten, Refused> {
    let front_end = front_end().expect("a program was parsed");
    case.rewrite(front_end, program, text, without)
}

/// Returns what is wrong with the result of a case.
fn check(one: &Parsed, result: &Result<Rewritten, Refused>) -> Vec<String> {
    let case = one.case;
    let rewritten = match (result, &case.expected) {
        (Err(refused), Expected::Refused(message)) if refused.to_string().contains(message) => {
            return Vec::new();
        }
        (Err(refused), _) => return vec![format!("refused: {refused}")],
        (Ok(rewritten), _) => rewritten,
    };
    let mut wrong = Vec::new();
    let after = fs::read_to_string(case.after()).ok();
    match &case.expected {
        Expected::Moves if rewritten.text == case.text => wrong.push("nothing moves".to_string()),
        Expected::Moves if after.as_ref() != Some(&rewritten.text) => {
            wrong.push(format!("another source than expected:\n{}", rewritten.text));
        }
        Expected::Unchanged | Expected::NotYet if rewritten.text != case.text => {
            wrong.push(format!("something moves:\n{}", rewritten.text));
        }
        Expected::Refused(_) => wrong.push("it is not refused".to_string()),
        _ => {}
    }
    let left_open: Vec<String> = rewritten.left_open.iter().map(ToString::to_string).collect();
    for part in &case.left_open {
        if !left_open.iter().any(|one| one.contains(part)) {
            wrong.push(format!("`{part}` is not said: {left_open:?}"));
        }
    }
    let constraints = || rewritten.transactions.iter().flat_map(|report| &report.constraints);
    for (rule, reason) in &case.keeps {
        let is_kept = |rule: &str, reason: &str| {
            constraints().any(|one| one.rule.name() == rule && one.reason.contains(reason))
        };
        if !is_kept(rule, reason) {
            wrong.push(format!("no constraint `{rule}, {reason}`"));
        }
    }
    for reason in &case.not_renamed {
        if !rewritten.refusals.iter().any(|one| one.reason.contains(reason)) {
            wrong.push(format!("not among the refusals: {reason}"));
        }
    }
    for reason in &case.not_sorted {
        if !rewritten.unsorted.iter().any(|one| one.to_string().contains(reason)) {
            wrong.push(format!("no loop keeps its order because: {reason}"));
        }
    }
    if !wrong.is_empty() {
        wrong.extend(rewritten.sorted.iter().map(ToString::to_string));
        wrong.extend(rewritten.unsorted.iter().map(ToString::to_string));
        wrong.extend(rewritten.renamings.iter().map(ToString::to_string));
        wrong.extend(rewritten.refusals.iter().map(ToString::to_string));
        let reports = rewritten.transactions.iter().map(clearway_reorder::explain::explain);
        wrong.extend(reports);
        let others = constraints().filter(|one| one.rule != Rule::Barrier);
        wrong.extend(others.map(|one| format!("{one:?}")));
        wrong.extend(case.refused_splits(&one.program));
    }
    wrong
}

fn update(one: &Parsed, result: &Result<Rewritten, Refused>) {
    match result {
        Ok(rewritten)
            if rewritten.text != one.case.text && one.case.expected == Expected::Moves =>
        {
            fs::write(one.case.after(), &rewritten.text).unwrap();
        }
        Ok(_) if one.case.after().exists() => fs::remove_file(one.case.after()).unwrap(),
        _ => {}
    }
}

#[test]
fn each_case_gives_the_expected_source() {
    let mut wrong = Vec::new();
    for one in parsed() {
        let result = rewrite(one.case, &one.program, &one.case.text, &[]);
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            update(one, &result);
        }
        let found = check(one, &result);
        if !found.is_empty() {
            wrong.push(format!("== {}\n{}", one.case.name, found.join("\n")));
        }
    }
    assert!(wrong.is_empty(), "{} of {}\n{}", wrong.len(), parsed().len(), wrong.join("\n"));
}

/// From the second time on, a file is read with precompiled headers.
#[test]
fn precompiled_headers_change_nothing() {
    let Some(front_end) = front_end() else { return };
    let mut wrong = Vec::new();
    for Parsed { case, program } in parsed() {
        let again = [(); 2].map(|()| case.parse(front_end, &case.text));
        if again.iter().any(|again| again != program) {
            let [before, behind] = [program, &again[1]].map(text::write);
            let line = before.lines().zip(behind.lines()).find(|(one, other)| one != other);
            wrong.push(format!("{}: {line:?}", case.name));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn second_rewrite_changes_nothing() {
    let Some(front_end) = front_end() else { return };
    let moving = parsed().iter().filter(|one| one.case.expected == Expected::Moves);
    for case in moving.map(|one| one.case) {
        let Ok(text) = fs::read_to_string(case.after()) else {
            panic!("{}: the expected source is missing", case.after().display());
        };
        let program = case.parse(front_end, &text);
        let again = rewrite(case, &program, &text, &[]).unwrap();
        assert_eq!(again.text, text, "{}", case.name);
    }
}

#[test]
fn each_rule_is_pinned_by_a_case() {
    if parsed().is_empty() {
        return;
    }
    // A case with splits is parsed many times.
    let whole: Vec<&Parsed> = parsed().iter().filter(|one| !one.case.splits).collect();
    for rule in Rule::ALL {
        // The cases about the rule come first: one of them is enough.
        let group = group(rule);
        let (own, others) =
            whole.iter().copied().partition::<Vec<_>, _>(|one| one.case.group() == group);
        let pinned = own.into_iter().chain(others).find(|one| needs(one, rule));
        let name = pinned.map(|one| &one.case.name);
        eprintln!("{rule}: {name:?}");
        assert!(name.is_some(), "no case changes without the rule `{rule}`");
    }
}

/// Returns true if a case has another result without the rule.
fn needs(one: &Parsed, rule: Rule) -> bool {
    let text = |without: &[Rule]| {
        let rewritten = rewrite(one.case, &one.program, &one.case.text, without);
        rewritten.map_or_else(|refused| refused.to_string(), |rewritten| rewritten.text)
    };
    text(&[rule]) != text(&[])
}

/// Returns the name of the group of cases that are about a rule.
fn group(rule: Rule) -> String {
    rule.name().replace(' ', "_")
}

#[test]
fn each_group_has_cases_that_move_and_cases_that_stay() {
    let mut groups: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    for case in cases() {
        let (moves, stays) = groups.entry(case.group().to_string()).or_default();
        match case.expected {
            Expected::Moves => *moves += 1,
            _ => *stays += 1,
        }
    }
    for rule in Rule::ALL {
        let counts = groups.get(&group(rule)).copied().unwrap_or_default();
        eprintln!("{rule}: {} move, {} stay", counts.0, counts.1);
        assert!(counts.0 > 0 && counts.1 > 0, "`{rule}` has {counts:?} cases that move or stay");
    }
}

/// Returns a case, with its program.
fn found(name: &str) -> Option<&'static Parsed> {
    let found = parsed().iter().find(|one| one.case.name == name);
    let selected = std::env::var_os("GOLDEN").is_some();
    assert!(found.is_some() || parsed().is_empty() || selected, "{name} is gone");
    found
}

#[test]
fn renaming_is_reported_with_its_reason() {
    let Some(one) = found("renaming/number.c") else { return };
    let rewritten = rewrite(one.case, &one.program, &one.case.text, &[]).unwrap();
    let [renaming] = &rewritten.renamings[..] else { panic!("{:?}", rewritten.renamings) };
    let line = |number: usize| one.case.text.lines().nth(number - 1).unwrap();
    assert!(line(renaming.reason.write).contains("SELECT c_visits"), "{renaming}");
    assert!(line(renaming.reason.read).contains("UPDATE region"), "{renaming}");
    let text = "pay: `v` is `v_r1` in lines 15, 16, 18: in the new order, line 15 would overwrite \
                what line 14 reads";
    assert!(explain::explain_all("number.c", &rewritten).contains(text), "{renaming}");
    assert!(explain::html("number.c", &rewritten).contains(text), "{renaming}");
    let Some(kept) = found("renaming/pointer.c") else { return };
    let rewritten = rewrite(kept.case, &kept.program, &kept.case.text, &[]).unwrap();
    let text = explain::explain_all("pointer.c", &rewritten);
    assert!(text.contains("pay: `p`: line 17: it is a pointer"), "{text}");
}

#[test]
fn names_stay_if_the_user_wants_it() {
    let Some(one) = found("renaming/number.c") else { return };
    let options = Options { no_rename: true, no_split: true, ..one.case.options.clone() };
    let parse = |_: &str| -> Result<Program, ()> { panic!("nothing is to be read again") };
    let (models, schema) = (&one.case.models, &one.case.schema);
    let text = &one.case.text;
    let result = transform::rewrite(&parse, &one.program, text, models, schema, &options);
    assert_eq!(result.unwrap().text, *text);
}

#[test]
fn renamed_program_does_the_same_on_the_mock() {
    assert_equal_on_mock("renaming/parameters.c", "pay");
}

#[test]
fn sorted_program_does_the_same_on_the_mock() {
    assert_equal_on_mock("sort_keys/libpq.c", "order");
}

/// Asserts that a case that moves does what its source does.
fn assert_equal_on_mock(name: &str, function: &str) {
    let Some(Parsed { case, program }) = found(name) else { return };
    let knowledge = Knowledge::new(&case.schema, case.models.server().unwrap());
    let (analyze, key) = (|sql: &str| knowledge.analyze(sql), |table: &str| knowledge.key(table));
    let mut options = verify::Options::new(&verify::LIBPQ, &analyze, &key);
    (options.seeds, options.flags, options.columns) = (4, case.flags(), knowledge.columns());
    options.keys = knowledge.keys();
    let report = verify::verify(case.path(), &case.after(), program, function, &options);
    match report {
        Err(error @ verify::VerifyError::Start { .. }) => eprintln!("SKIPPED: {error}"),
        Err(error) => panic!("{error}"),
        Ok(report) => {
            assert_eq!(report.verdict(), verify::Verdict::Equal, "{report}");
            assert!(report.committed > 0 && report.rolled_back > 0, "{report}");
        }
    }
}

#[test]
fn loops_are_explained_by_their_lines_in_the_source() {
    for (name, line, fact) in [
        ("sort_keys/split.c", "region = db_number", "runs in ascending order of `region_at[i]`"),
        ("sort_keys/array.c", "for (int i", "runs in ascending order of `region[i]`"),
        ("sort_keys/insert.c", "for (int i", "is not sorted: line 22: it inserts rows"),
    ] {
        let Some(one) = found(name) else { return };
        let rewritten = rewrite(one.case, &one.program, &one.case.text, &[]).unwrap();
        let lines = rewritten.sorted.iter().map(|sorted| sorted.line);
        let lines: Vec<usize> =
            lines.chain(rewritten.unsorted.iter().map(|one| one.line)).collect();
        let [number] = lines[..] else { panic!("{name}: {lines:?}") };
        let at = one.case.text.lines().nth(number - 1).unwrap();
        assert!(at.trim_start().starts_with(line), "{name}: line {number}: {at}");
        let text = explain::explain_all(name, &rewritten);
        let expected = format!("--sort-keys:\n  order: the loop at line {number} {fact}");
        assert!(text.contains(&expected), "{text}");
    }
}
