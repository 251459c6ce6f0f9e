//! The table of needs and drivers in `ARCHITECTURE.md`: each cell names tests, and each test that
//! it names exists.

use std::collections::BTreeSet;

use super::{Text, Violation, violation};

/// The document, and the heading under which the table stands.
const DOCUMENT: &str = "ARCHITECTURE.md";
const HEADING: &str = "### Needs and drivers";

/// Checks the table.
pub(crate) fn check(texts: &[Text]) -> Vec<Violation> {
    let Some(document) = texts.iter().find(|text| text.path == DOCUMENT) else {
        return vec![violation(DOCUMENT, 1, "the document is missing")];
    };
    let tests: BTreeSet<&str> = texts
        .iter()
        .filter(|text| text.path.ends_with(".rs"))
        .flat_map(|text| test_names(&text.text))
        .collect();
    let lines = document.text.lines().enumerate();
    let under = lines.skip_while(|(_, line)| *line != HEADING).skip(1);
    let rows = under.take_while(|(_, line)| !line.starts_with('#'));
    // The first two rows are the head of the table.
    let rows: Vec<_> = rows.filter(|(_, line)| line.starts_with('|')).skip(2).collect();
    if rows.is_empty() {
        return vec![violation(DOCUMENT, 1, format!("no table stands under `{HEADING}`"))];
    }
    rows.into_iter().flat_map(|(index, row)| check_row(index + 1, row, &tests)).collect()
}

/// Checks the cells of a row, except the first, which is the need.
fn check_row(line: usize, row: &str, tests: &BTreeSet<&str>) -> Vec<Violation> {
    let cells = row.trim_matches('|').split('|').skip(1);
    let mut found = Vec::new();
    for cell in cells {
        let names: Vec<&str> = cell.split('`').skip(1).step_by(2).collect();
        if names.is_empty() {
            found.push(violation(
                DOCUMENT,
                line,
                format!("the cell `{}` names no test", cell.trim()),
            ));
        }
        for name in names.into_iter().filter(|name| !tests.contains(name)) {
            found.push(violation(DOCUMENT, line, format!("there is no test `{name}`")));
        }
    }
    found
}

/// Returns the names of the functions that stand below `#[test]`, or below more attributes.
fn test_names(text: &str) -> impl Iterator<Item = &str> {
    let mut is_test = false;
    text.lines().map(str::trim_start).filter_map(move |line| {
        if line.starts_with("#[") {
            is_test |= line.starts_with("#[test]");
            return None;
        }
        let name = line.strip_prefix("fn ").and_then(|rest| rest.split_once("()"));
        let name = name.map(|(name, _)| name).filter(|_| is_test);
        is_test = false;
        name
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(table: &str) -> Vec<Text> {
        let text = |path: &str, text: String| Text { path: path.into(), text };
        vec![
            text(
                DOCUMENT,
                format!("# A\n{HEADING}\n\n| need | one |\n| --- | --- |\n{table}\n# B"),
            ),
            text(
                "a.rs",
                "    #[test]\n    #[cfg(x)]\n    fn waits() {\n    }\n    fn helps() {}".into(),
            ),
        ]
    }

    #[test]
    fn cells_name_tests_that_exist() {
        assert!(check(&texts("| a lock | `waits` |")).is_empty());
        let missing = check(&texts("| a lock | `waits`, `helps` |\n| a page | – |"));
        let messages: Vec<_> = missing.iter().map(|each| &each.message[..]).collect();
        assert_eq!(messages, ["there is no test `helps`", "the cell `–` names no test"]);
        assert_eq!(missing[0].line, 6);
        assert_eq!(check(&texts("")).len(), 1, "no row");
    }
}
