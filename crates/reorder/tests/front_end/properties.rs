//! Properties of the IR of every source.

use clearway_reorder::{
    ir::{Expression, ExpressionKind, Program, Statement, StatementKind, text},
    source::Range,
};

/// Checks a program against its source.
///
/// # Panics
/// If something does not hold.
pub(crate) fn check(program: &Program, source: &str) {
    let written = text::write(program);
    let read = text::read(&written).unwrap_or_else(|error| panic!("{error}\n{written}"));
    assert_eq!(&read, program, "the text round trip");
    let starts: Vec<usize> = program.functions.iter().map(|one| one.range.start).collect();
    assert!(starts.is_sorted());
    assert!(program.macros.windows(2).all(|two| two[0].range.end <= two[1].range.start));
    for function in &program.functions {
        assert!(function.range.contains(function.body.range));
        assert!(matches!(function.body.kind, StatementKind::Block(_)));
        statement(program, source, &function.body, false);
    }
}

fn statement(program: &Program, source: &str, here: &Statement, expanded: bool) {
    let found = here.range.of(source);
    let made = program.macros.iter().any(|one| one.range.end == here.range.end);
    let gap = matches!(&here.kind, StatementKind::Opaque(_));
    let ends = found.ends_with(';') || found.ends_with('}') || made || gap;
    assert!(ends, "a statement ends within: {found:?}");
    assert_eq!(found, found.trim(), "a statement begins or ends with white space");
    let before = source[..here.range.start].chars().next_back();
    let word = |letter: char| letter.is_alphanumeric() || letter == '_';
    let splits = before.is_some_and(word) && found.starts_with(word);
    assert!(!splits, "a statement begins within a word: {found:?}");
    let children = here.children();
    let expanded = expanded || matches!(here.kind, StatementKind::Expanded(_));
    for child in &children {
        assert!(here.range.contains(child.range), "{:?} in {found:?}", child.range.of(source));
        assert!(!expanded || child.range == here.range);
        statement(program, source, child, expanded);
    }
    let apart = |two: &[&Statement]| two[0].range.end <= two[1].range.start;
    assert!(expanded || children.windows(2).all(apart), "statements overlap in {found:?}");
    for one in here.expressions() {
        expression(program, source, one, here.range);
    }
}

fn expression(program: &Program, source: &str, here: &Expression, around: Range) {
    let around = match here.range {
        Some(range) => {
            let found = source.get(range.start..range.end).expect("a range of characters");
            assert!(around.contains(range), "{found:?} is not in {:?}", around.of(source));
            if let ExpressionKind::Variable(index) = here.kind {
                let name = &program.variable(index).name;
                assert_eq!(found, name.rsplit("::").next().expect("a name"));
            }
            range
        }
        None => around,
    };
    here.for_each_child(&mut |child| expression(program, source, child, around));
}
