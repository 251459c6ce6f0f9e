//! Rules that the project does not keep everywhere yet: the number of findings of each rule that
//! each crate may still have. The numbers are in [`TABLE`] and only go down: a crate with more
//! findings fails, and so does one with fewer, until `cargo xtask language --lower` has written the
//! smaller number.

use std::collections::BTreeMap;

use super::{Violation, violation};

/// Where the allowed numbers are, one line for each crate and rule: `crate rule number`.
pub(crate) const TABLE: &str = "xtask/language-allowed.txt";

/// A place that breaks one of the rules.
pub(crate) struct Finding {
    /// The rule's name in the table.
    pub(crate) kind: &'static str,
    pub(crate) violation: Violation,
}

/// Findings or allowances by crate and rule.
type Counts = BTreeMap<(String, String), usize>;

/// The crate that the table counts a file for: its folder in `crates`, or the first folder. The
/// documents of the root count for `docs`.
pub(crate) fn area(path: &str) -> &str {
    let mut parts = path.split('/');
    match (parts.next(), parts.next()) {
        (Some("crates"), Some(name)) => name,
        (Some(folder), Some(_)) => folder,
        _ => "docs",
    }
}

fn count(findings: &[Finding]) -> Counts {
    let mut counts = Counts::new();
    for Finding { kind, violation } in findings {
        *counts.entry((area(&violation.path).to_string(), kind.to_string())).or_default() += 1;
    }
    counts
}

fn parse(table: &str) -> Result<Counts, Violation> {
    let mut counts = Counts::new();
    for (index, line) in table.lines().enumerate() {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let entry = match fields[..] {
            [area, kind, number] => number.parse().ok().map(|number| (area, kind, number)),
            _ => None,
        };
        let Some((area, kind, number)) = entry else {
            return Err(violation(TABLE, index + 1, "expected `crate rule number`"));
        };
        counts.insert((area.to_string(), kind.to_string()), number);
    }
    Ok(counts)
}

/// Compares `findings` with the numbers that `table` allows.
pub(crate) fn check(table: &str, findings: &[Finding]) -> Vec<Violation> {
    let allowed = match parse(table) {
        Ok(allowed) => allowed,
        Err(violation) => return vec![violation],
    };
    let counts = count(findings);
    let mut keys: Vec<_> = counts.keys().chain(allowed.keys()).collect();
    keys.sort();
    keys.dedup();
    let mut found = Vec::new();
    for key in keys {
        let number = |of: &Counts| of.get(key).copied().unwrap_or(0);
        let (count, allowed, (area, kind)) = (number(&counts), number(&allowed), key);
        if count > allowed {
            let message = format!(
                "`{area}` has {count} findings of the rule `{kind}`, at most {allowed} are \
                 allowed: `cargo xtask language {area}` lists them"
            );
            found.push(violation(TABLE, 1, message));
        } else if count < allowed {
            let message = format!(
                "`{area}` has only {count} findings of the rule `{kind}`, not {allowed}: run \
                 `cargo xtask language --lower`"
            );
            found.push(violation(TABLE, 1, message));
        }
    }
    found
}

/// The table with each number lowered to what `findings` still need. No number rises.
pub(crate) fn lowered(table: &str, findings: &[Finding]) -> Result<String, Violation> {
    let counts = count(findings);
    let mut lines = String::new();
    for (key, allowed) in parse(table)? {
        let number = counts.get(&key).copied().unwrap_or(0).min(allowed);
        if number > 0 {
            lines += &format!("{} {} {number}\n", key.0, key.1);
        }
    }
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(paths: &[&str]) -> Vec<Finding> {
        let finding = |path: &&str| Finding { kind: "words", violation: violation(path, 1, "x") };
        paths.iter().map(finding).collect()
    }

    #[test]
    fn files_count_for_their_crates() {
        assert_eq!(area("crates/log/src/ring.rs"), "log");
        assert_eq!(area("xtask/src/main.rs"), "xtask");
        assert_eq!(area("docs/testing.md"), "docs");
        assert_eq!(area("README.md"), "docs");
    }

    #[test]
    fn both_more_and_fewer_findings_than_allowed_are_reported() {
        let found = findings(&["crates/log/src/a.rs", "crates/log/src/b.rs", "fuzz/src/c.rs"]);
        assert!(check("fuzz words 1\nlog words 2\n", &found).is_empty());
        let messages = |table: &str| -> Vec<String> {
            check(table, &found).into_iter().map(|each| each.message).collect()
        };
        let more = messages("fuzz words 1\nlog words 1\n");
        assert!(more.len() == 1 && more[0].starts_with("`log` has 2 findings"), "{more:?}");
        let fewer = messages("fuzz words 1\nlog words 2\npool words 3\n");
        assert!(fewer.len() == 1 && fewer[0].starts_with("`pool` has only 0"), "{fewer:?}");
        assert_eq!(messages("").len(), 2, "what the table does not name, is allowed nothing");
        assert_eq!(messages("log words many\n").len(), 1);
    }

    #[test]
    fn numbers_of_the_table_only_go_down() {
        let found = findings(&["crates/log/src/a.rs", "crates/log/src/b.rs", "fuzz/src/c.rs"]);
        let table = "log words 1\npool words 3\nsync openings 1\n";
        assert_eq!(lowered(table, &found).unwrap(), "log words 1\n");
        assert_eq!(lowered("fuzz words 9\n", &found).unwrap(), "fuzz words 1\n");
        assert!(lowered("fuzz words\n", &found).is_err());
    }
}
