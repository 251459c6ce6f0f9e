//! The IR as text, in Rusty Object Notation: what a front end wrote, a test reads.

use std::fmt;

use super::Program;

/// A text that is not the IR of a program, with the place of the mistake.
#[derive(Debug)]
pub struct BadText(ron::error::SpannedError);

impl fmt::Display for BadText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not the IR of a program: {}", self.0)
    }
}

impl std::error::Error for BadText {}

/// The deepest nesting of the text. A level of the IR takes six at most, and the front end makes
/// about 200 levels.
const MOST_LEVELS: usize = 2000;

fn options() -> ron::Options {
    ron::Options::default().with_recursion_limit(MOST_LEVELS)
}

/// Writes a program.
///
/// # Panics
/// If its statements and expressions are nested more deeply than the front end makes them.
pub fn write(program: &Program) -> String {
    let config = ron::ser::PrettyConfig::new().depth_limit(4).indentor("  ");
    let text = options().to_string_pretty(program, config);
    text.expect("the IR has no value that RON lacks")
}

/// Reads a program.
///
/// # Errors
/// [`BadText`] if the text is not the IR of a program.
pub fn read(text: &str) -> Result<Program, BadText> {
    options().from_str(text).map_err(BadText)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{
        Expression, ExpressionKind, Function, Language, Statement, StatementKind, Type,
    };
    use crate::source::Range;

    fn nested(levels: usize) -> Program {
        let mut value = Expression { range: None, kind: ExpressionKind::Constant("1".to_owned()) };
        for _ in 0..levels {
            let kind = ExpressionKind::Unary("-".to_owned(), Box::new(value));
            value = Expression { range: Some(Range::new(1, 2)), kind };
        }
        let range = Range::new(0, 9);
        let body = Statement { range, kind: StatementKind::Evaluate(value) };
        let (name, result, parameters) = ("f".to_owned(), Type::Void, Vec::new());
        Program {
            path: "a.c".to_owned(),
            language: Language::C,
            variables: Vec::new(),
            records: Vec::new(),
            functions: vec![Function {
                name,
                range,
                result,
                method: false,
                replaceable: None,
                hidden: Default::default(),
                parameters,
                body,
            }],
            macros: Vec::new(),
            directives: Vec::new(),
            enumerators: Default::default(),
            sizes: Default::default(),
            left_out: Default::default(),
        }
    }

    #[test]
    fn deep_program_is_written_and_read() {
        let program = nested(250);
        assert_eq!(read(&write(&program)).expect("the same program"), program);
    }

    #[test]
    fn text_that_is_nested_too_deeply_is_refused() {
        let text = write(&nested(1));
        let inner = "Unary(\"-\", (range: None, kind: ";
        let deep = text.replacen("Unary(\"-\", (", &format!("{}(", inner.repeat(100_000)), 1);
        assert!(deep.len() > 1_000_000);
        let message = read(&deep).expect_err("too deep").to_string();
        assert!(message.starts_with("not the IR of a program"), "{message}");
    }
}
