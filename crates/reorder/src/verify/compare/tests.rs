use super::{super::log, *};

const ROLLED_BACK: &str = "{\"event\":\"query\",\"connection\":1,\"kind\":\"query\",\
    \"statement\":\"change\",\"sql\":\"\",\"parameters\":[],\"key\":\"1\",\"failed\":\"40001\",\
    \"injected\":true,\"state\":\"idle\",\"rows\":0,\"changed\":\"\",\"first\":[]}";

/// Returns a run whose only transaction is rolled back, with its misuses (what and key).
fn run(ending: Ending, misuses: &[(&str, &str)]) -> Run {
    let mut events = log::read(ROLLED_BACK).unwrap();
    events.extend(
        misuses
            .iter()
            .map(|&(what, key)| Event::Misuse { what: what.to_owned(), key: key.to_owned() }),
    );
    Run { ending, events, output: String::new(), errors: String::new(), unsupported: None }
}

fn differences(original: &Run, rewritten: &Run, single: bool) -> Vec<Difference> {
    let questions = Questions { analyze: &|_| None, key: &|_| Vec::new() };
    compare(original, rewritten, single, &questions)
}

/// Returns the number of misuses that only the rewritten program has.
fn new_misuses(old: &[(&str, &str)], new: &[(&str, &str)], single: bool) -> usize {
    let [old, new] = [old, new].map(|misuses| run(Ending::Returned, misuses));
    let found = differences(&old, &new, single);
    assert!(found.iter().all(|one| matches!(one, Difference::Misuse(_))), "{found:?}");
    found.len()
}

#[test]
fn misuse_that_the_original_has_too_is_no_difference() {
    assert_eq!(new_misuses(&[("leak", "1")], &[("leak", "1")], true), 0);
    assert_eq!(new_misuses(&[("leak", "1")], &[], true), 0);
    assert_eq!(new_misuses(&[], &[("leak", "1")], true), 1);
    assert_eq!(new_misuses(&[("twice", "1")], &[("leak", "1")], true), 1);
}

#[test]
fn misuses_of_one_result_are_counted() {
    assert_eq!(new_misuses(&[("leak", "0")], &[("leak", "0"), ("leak", "0")], true), 1);
}

#[test]
fn misuse_of_another_result_counts_unless_there_may_be_two_reasons() {
    assert_eq!(new_misuses(&[("leak", "1")], &[("leak", "2")], true), 1);
    assert_eq!(new_misuses(&[("leak", "1")], &[("leak", "2"), ("leak", "3")], false), 0);
    assert_eq!(new_misuses(&[("leak", "1")], &[("twice", "1")], false), 1);
}

#[test]
fn exit_code_may_differ_only_if_there_may_be_two_reasons() {
    let [old, new] = [1, 2].map(|code| run(Ending::Exited(code), &[]));
    assert_eq!(differences(&old, &new, false), []);
    assert!(matches!(&differences(&old, &new, true)[..], [Difference::Ending { .. }]));
}
