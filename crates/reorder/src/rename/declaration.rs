//! The text that declares a variable, and where the new variable is declared: behind it in the same
//! statement, or before the statement if it calls something. So the new variable has the same scope
//! and the same type.

use std::collections::BTreeSet;

use super::tokens::Words;
use crate::{
    clang::tokens::{Token, TokenKind},
    ir::{Declaration, Function, Program, Scope, Statement, StatementKind, Type, VariableIndex},
    source::{Edit, Range},
};

/// The place of a new declaration, and its text around the name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Declared {
    /// An empty range.
    at: Range,
    before: String,
    behind: String,
}

impl Declared {
    /// Returns the edit that declares variables.
    pub(super) fn edit(&self, names: &[String]) -> Edit {
        let one = |name: &String| format!("{}{name}{}", self.before, self.behind);
        Edit { range: self.at, text: names.iter().map(one).collect() }
    }
}

/// Finds the declaration of a variable.
///
/// # Errors
/// The reason why the variable cannot be declared again.
pub(super) fn find(
    program: &Program,
    words: &Words<'_>,
    function: &Function,
    variable: VariableIndex,
    known: &BTreeSet<Range>,
) -> Result<Declared, (Range, &'static str)> {
    if program.variable(variable).scope == Scope::Parameter {
        return parameter(program, words, function, variable);
    }
    let mut statement: Option<(&Statement, &[Declaration])> = None;
    function.body.walk(&mut |outer| {
        let StatementKind::Block(list) = &outer.kind else { return };
        for one in list {
            if let StatementKind::Declare(all) = &one.kind
                && all.iter().any(|one| one.variable == variable)
            {
                statement = Some((one, all));
            }
        }
    });
    let (statement, all) = statement
        .ok_or((function.range, "its declaration does not stand in a list of statements"))?;
    let range = statement.range;
    let refused = |reason| (range, reason);
    if program.macros.iter().any(|used| used.range.contains(Range::new(range.start, range.start))) {
        return Err(refused("a macro declares it"));
    }
    let declarator = declarator(program, words, range, variable, known)
        .ok_or(refused("the text of its declaration has another form than those that are known"))?;
    let first = name_token(words, range, &program.variable(all[0].variable).name, known)
        .ok_or(refused("the text of its declaration has another form than those that are known"))?;
    let tokens = words.within(range);
    let of = |token: &Token| token.range.of(words.text);
    const DEDUCED: [&str; 5] = ["auto", "__auto_type", "decltype", "constexpr", "typeof"];
    if tokens.iter().any(|token| DEDUCED.contains(&of(token))) {
        return Err(refused("its type follows from its value"));
    }
    let calls = |one: &Declaration| one.initial.as_ref().is_some_and(|value| value.has_effect());
    if !all.iter().any(calls) {
        let before = format!(", {}", declarator.prefix.of(words.text));
        let behind = declarator.suffix.of(words.text).to_string();
        return Ok(Declared { at: Range::new(declarator.end, declarator.end), before, behind });
    }
    let specifiers = Range::new(range.start, prefix(words, range, first).start).of(words.text);
    if specifiers.contains('{') || specifiers.trim().is_empty() {
        return Err(refused("its declaration declares a type"));
    }
    let (line, prefix) = (line_of(words.text, range.start), declarator.prefix.of(words.text));
    Ok(Declared {
        at: Range::new(range.start, range.start),
        before: format!("{} {prefix}", specifiers.trim_end()),
        behind: format!("{};{line}", declarator.suffix.of(words.text)),
    })
}

/// Returns the end of a line and the blanks before the next statement, as before this statement.
pub(super) fn line_of(text: &str, statement: usize) -> String {
    let start = text[..statement].rfind('\n').map_or(0, |at| at + 1);
    let before = &text[start..statement];
    let indent = &before[..before.len() - before.trim_start().len()];
    let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
    format!("{newline}{indent}")
}

/// A variable for a parameter is declared where the body begins.
fn parameter(
    program: &Program,
    words: &Words<'_>,
    function: &Function,
    variable: VariableIndex,
) -> Result<Declared, (Range, &'static str)> {
    let (body, text) = (function.body.range, words.text);
    let first = match &function.body.kind {
        StatementKind::Block(list) => list.first().map(|one| one.range.start),
        _ => None,
    };
    match (&program.variable(variable).ty, first) {
        (Type::Scalar(ty), Some(first)) if body.of(text).starts_with('{') => {
            let at = Range::new(body.start + 1, body.start + 1);
            let before = format!("{}{ty} ", line_of(text, first));
            Ok(Declared { at, before, behind: ";".to_string() })
        }
        _ => Err((function.range, "the body of the function has another form")),
    }
}

/// The parts of a declarator.
struct Declarator {
    /// The `*` before the name.
    prefix: Range,
    /// The brackets behind the name.
    suffix: Range,
    /// The end, with the initializer.
    end: usize,
}

fn declarator(
    program: &Program,
    words: &Words<'_>,
    statement: Range,
    variable: VariableIndex,
    known: &BTreeSet<Range>,
) -> Option<Declarator> {
    let tokens = words.within(statement);
    let name = name_token(words, statement, &program.variable(variable).name, known)?;
    let of = |at: usize| tokens.get(at).map_or("", |token| token.range.of(words.text));
    let mut at = tokens.iter().position(|token| token.range == name)? + 1;
    while of(at) == "[" {
        at = closing(words, tokens, at)? + 1;
    }
    let suffix = Range::new(name.end, tokens[at - 1].range.end);
    if !matches!(of(at), "=" | "," | ";" | "(" | "{") {
        return None;
    }
    while !matches!(of(at), "," | ";") {
        at = if matches!(of(at), "(" | "[" | "{") { closing(words, tokens, at)? } else { at };
        at += 1;
        if at >= tokens.len() {
            return None;
        }
    }
    let end = tokens[at - 1].range.end;
    Some(Declarator { prefix: prefix(words, statement, name), suffix, end })
}

/// Returns the `*` of a declarator, from the first one to the name.
fn prefix(words: &Words<'_>, statement: Range, name: Range) -> Range {
    let tokens = words.within(Range::new(statement.start, name.start));
    let mut start = name.start;
    for token in tokens.iter().rev() {
        match token.range.of(words.text) {
            "*" => start = token.range.start,
            "const" | "volatile" | "restrict" => {}
            _ => break,
        }
    }
    Range::new(start, name.start)
}

/// Returns the place of the bracket that closes the one at a place.
fn closing(words: &Words<'_>, tokens: &[Token], open: usize) -> Option<usize> {
    let mut depth = 0usize;
    for (at, token) in tokens.iter().enumerate().skip(open) {
        match token.range.of(words.text) {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth = depth.checked_sub(1)?,
            _ => {}
        }
        if depth == 0 {
            return Some(at);
        }
    }
    None
}

/// Returns the token that declares a name in a statement: the only one outside of brackets that is
/// no use of a variable.
pub(super) fn name_token(
    words: &Words<'_>,
    statement: Range,
    name: &str,
    known: &BTreeSet<Range>,
) -> Option<Range> {
    let (mut depth, mut found) = (0usize, Vec::new());
    for token in words.within(statement) {
        match token.range.of(words.text) {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth = depth.saturating_sub(1),
            word if depth == 0
                && token.kind == TokenKind::Identifier
                && word == name
                && !known.contains(&token.range) =>
            {
                found.push(token.range);
            }
            _ => {}
        }
    }
    match found[..] {
        [only] => Some(only),
        _ => None,
    }
}
