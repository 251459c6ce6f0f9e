//! The isolation level that a function states in its SQL: `BEGIN ISOLATION LEVEL …`, `SET
//! TRANSACTION ISOLATION LEVEL …`.

use super::Isolation;
use crate::flow::Flow;

/// Returns the weakest level that a function states, or `None` if it states none.
pub fn stated(flow: &Flow<'_, '_>) -> Option<Isolation> {
    let queries = flow.effects.iter().enumerate();
    let queries =
        queries.flat_map(|(node, one)| one.queries.iter().map(move |query| (query, node)));
    let texts = queries.flat_map(|(query, node)| flow.sql_of(query, node).unwrap_or_default());
    texts.filter_map(|text| of_text(&text)).min()
}

fn of_text(text: &str) -> Option<Isolation> {
    let words: Vec<String> = text
        .split(|c: char| !c.is_ascii_alphabetic())
        .filter(|word| !word.is_empty())
        .map(str::to_ascii_uppercase)
        .collect();
    if !matches!(words.first()?.as_str(), "BEGIN" | "START" | "SET") {
        return None;
    }
    let at = words.windows(2).position(|pair| pair == ["ISOLATION", "LEVEL"])?;
    match words.get(at + 2)?.as_str() {
        "SERIALIZABLE" => Some(Isolation::Serializable),
        "REPEATABLE" => Some(Isolation::RepeatableRead),
        "READ" => Some(Isolation::ReadCommitted),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn level_is_read_where_a_transaction_begins_or_is_set() {
        let cases = [
            ("BEGIN ISOLATION LEVEL SERIALIZABLE", Some(Isolation::Serializable)),
            ("begin isolation level repeatable read, read write", Some(Isolation::RepeatableRead)),
            ("START TRANSACTION ISOLATION LEVEL READ COMMITTED;", Some(Isolation::ReadCommitted)),
            ("SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED", Some(Isolation::ReadCommitted)),
            ("BEGIN", None),
            ("SELECT 'isolation level serializable'", None),
            ("SET ISOLATION LEVEL", None),
        ];
        for (text, level) in cases {
            assert_eq!(of_text(text), level, "{text}");
        }
    }
}
