//! A check before the hunt: each filter of a lane of tests matches a test. One that matches none,
//! because a test was renamed, would let its lane pass with a mutant and without one.

use std::{
    io,
    process::{Command, Stdio},
};

use super::{
    catalogue::Mutant,
    lane::{Lane, Tests},
};

/// Checks the filters of all lanes that hunt one of `mutants`. This builds the lanes' programs.
///
/// # Errors
/// A filter that matches no test, or a lane without a test, with the patch files that name the
/// lane; a lane whose tests cannot be listed.
pub(super) fn check(mutants: &[Mutant]) -> io::Result<()> {
    for lane in Lane::TESTS {
        let hunted = mutants.iter().filter(|mutant| mutant.lanes.contains(&lane));
        let patches: Vec<&str> = hunted.map(|mutant| &*mutant.name).collect();
        if let (Some(tests), false) = (lane.tests(), patches.is_empty()) {
            refuse_unmatched(lane, &tests, &patches, &listed(lane, tests.list())?)?;
        }
    }
    Ok(())
}

/// Refuses a lane of which a filter matches none of the tests that the program lists.
fn refuse_unmatched(lane: Lane, tests: &Tests, patches: &[&str], list: &str) -> io::Result<()> {
    let names: Vec<&str> = list.lines().filter_map(|line| line.strip_suffix(": test")).collect();
    let matches = |filter: &str| names.iter().any(|name| name.contains(filter));
    // Without a filter all tests run, so there must be one.
    let filters = if tests.filters.is_empty() { &[""] } else { tests.filters };
    let Some(filter) = filters.iter().find(|filter| !matches(filter)) else { return Ok(()) };
    let (lane, patches) = (lane.name(), patches.join(".patch, "));
    let what = format!("the filter `{filter}` of lane `{lane}` matches none of its tests");
    Err(io::Error::other(format!("{patches}.patch: {what}")))
}

/// Returns what a command that lists tests prints.
fn listed(lane: Lane, mut command: Command) -> io::Result<String> {
    let output = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output()?;
    if !output.status.success() {
        return Err(io::Error::other(format!(
            "the tests of lane `{}` cannot be listed",
            lane.name()
        )));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TESTS: Tests =
        Tests { programs: "-p clearway-pool --lib", filters: &["admission::", "late_"] };
    const LIST: &str = "admission::tests::first: test\nwaits::late_read: test\nspeed: benchmark\n";

    fn refused(tests: &Tests, list: &str) -> Option<String> {
        let patches = ["admitted-not-woken", "last-job-not-run"];
        refuse_unmatched(Lane::Handovers, tests, &patches, list)
            .err()
            .map(|error| error.to_string())
    }

    #[test]
    fn filter_that_matches_no_test_is_refused_with_its_patch_files() {
        assert_eq!(refused(&TESTS, LIST), None);
        assert_eq!(
            refused(&TESTS, &LIST.replace("late_read", "slow_read")).unwrap(),
            "admitted-not-woken.patch, last-job-not-run.patch: the filter `late_` of lane \
             `handovers` matches none of its tests"
        );
        // What follows the name is no part of it, and a benchmark is no test.
        for filters in [&["first: test"], &["speed"]] {
            let tests = Tests { filters, ..TESTS };
            assert!(refused(&tests, LIST).unwrap().contains(&format!("`{}`", filters[0])));
        }
    }

    #[test]
    fn lane_without_a_filter_needs_a_test() {
        let tests = Tests { filters: &[], ..TESTS };
        assert_eq!(refused(&tests, LIST), None);
        assert!(refused(&tests, "speed: benchmark\n").is_some());
    }
}
