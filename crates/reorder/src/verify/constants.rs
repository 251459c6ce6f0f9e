//! The constants with which a program compares values: numbers in comparisons and `case` labels,
//! and texts that `strcmp` and its relatives see.
//!
//! Rows and inputs often have such a value, so that the branches behind the comparisons run. Each
//! constant is written as it stands in the source, into a file behind the source, where its
//! enumerators and macros are known.

use std::collections::BTreeSet;

use crate::ir::{
    Callee, Expression, ExpressionKind as Kind, Language, Program, StatementKind, VariableIndex,
};

/// The constants of a program.
#[derive(Default, PartialEq, Eq, Debug)]
pub(crate) struct Constants {
    /// C expressions of integers.
    pub numbers: BTreeSet<String>,
    /// The texts.
    pub texts: BTreeSet<String>,
}

/// The operators whose operands select a branch.
const OPERATORS: &[&str] = &["==", "!=", "<", "<=", ">", ">=", "&"];

/// The beginnings of names that belong to the interfaces: results of calls, not of columns.
const OF_INTERFACES: &[&str] =
    &["PGRES_", "PQTRANS_", "CONNECTION_", "SQLITE_", "MYSQL_", "CR_", "ER_"];

/// Finds the constants of a program whose source is `text`.
pub(crate) fn constants(program: &Program, text: &str) -> Constants {
    let mut finder = Finder { program, found: Constants::default(), names: names(program, text) };
    for function in &program.functions {
        function.body.walk(&mut |statement| {
            for expression in statement.expressions() {
                expression.walk(&mut |inner| finder.visit(inner));
            }
            if let StatementKind::Switch { .. } = statement.kind {
                for label in labels(statement.range.of(text)) {
                    finder.add_label(label);
                }
            }
        });
    }
    finder.found
}

/// Returns true if names of the source can be written behind it: in C, where no function declares
/// an enumeration of its own.
fn names(program: &Program, text: &str) -> bool {
    let has_enum = |body: &str| {
        body.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').any(|word| word == "enum")
    };
    program.language == Language::C
        && !program.functions.iter().any(|function| has_enum(function.body.range.of(text)))
}

struct Finder<'a> {
    program: &'a Program,
    found: Constants,
    names: bool,
}

impl Finder<'_> {
    fn visit(&mut self, expression: &Expression) {
        match &expression.kind {
            Kind::Binary(operator, left, right) if OPERATORS.contains(&operator.as_str()) => {
                self.add(left);
                self.add(right);
            }
            Kind::Call { callee: Callee::Function(name), arguments, .. } if compares(name) => {
                arguments.iter().for_each(|argument| self.add(argument));
            }
            _ => {}
        }
    }

    fn add(&mut self, operand: &Expression) {
        match &operand.kind {
            Kind::Text(text) => drop(self.found.texts.insert(text.clone())),
            Kind::Cast(_, inner) => self.add(inner),
            Kind::Variable(index) => self.add_variable(*index),
            _ => {
                if let Some(number) = self.number(operand) {
                    self.add_number(number);
                }
            }
        }
    }

    fn add_variable(&mut self, index: VariableIndex) {
        let program = self.program;
        let variable = program.variable(index);
        if let Some(initial) = variable.initial.as_ref().filter(|_| variable.constant) {
            self.add(initial);
        }
    }

    fn add_number(&mut self, number: String) {
        // A character is compared with a byte of a text.
        if let Ok(code @ 33..=126) = number.parse::<u8>() {
            self.found.texts.insert(char::from(code).to_string());
        }
        self.found.numbers.insert(number);
    }

    fn number(&self, expression: &Expression) -> Option<String> {
        match &expression.kind {
            Kind::Unary(operator, inner) if operator == "-" => {
                self.number(inner).map(|number| format!("-{number}"))
            }
            Kind::Constant(text) => self.literal(text),
            _ => None,
        }
    }

    /// Returns an integer as a C expression; of a number with a fraction, its integer part.
    fn literal(&self, text: &str) -> Option<String> {
        let digits = text.trim_end_matches(['u', 'U', 'l', 'L']);
        if digits.parse::<i64>().is_ok() {
            return Some(digits.to_owned());
        }
        if let Some(hexadecimal) = digits.strip_prefix("0x").or(digits.strip_prefix("0X")) {
            return i64::from_str_radix(hexadecimal, 16).ok().map(|number| number.to_string());
        }
        if text.starts_with(|c: char| c.is_ascii_digit()) {
            return text
                .split_once('.')
                .and_then(|(whole, _)| whole.parse::<i64>().ok())
                .map(|number| number.to_string());
        }
        let is_name = text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        let known = self.names && is_name && text != "NULL" && !text.is_empty();
        let foreign = OF_INTERFACES.iter().any(|prefix| text.starts_with(prefix));
        (known && !foreign && self.program.function(text).is_none()).then(|| text.to_owned())
    }

    fn add_label(&mut self, label: &str) {
        let character = label.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\''));
        let mut inner = character.unwrap_or_default().chars();
        match (inner.next(), inner.next()) {
            (Some(c), None) if c.is_ascii() => self.add_number(u32::from(c).to_string()),
            _ => {
                let (sign, rest) = match label.strip_prefix('-') {
                    Some(rest) => ("-", rest.trim()),
                    None => ("", label),
                };
                if let Some(number) = self.literal(rest) {
                    self.add_number(format!("{sign}{number}"));
                }
            }
        }
    }
}

fn compares(function: &str) -> bool {
    let name = function.rsplit("::").next().unwrap_or(function);
    let known = ["strcmp", "strncmp", "strcasecmp", "strncasecmp", "strstr", "memcmp", "compare"];
    known.contains(&name) || name.starts_with("operator==") || name.starts_with("operator!=")
}

/// Returns the labels of a `switch`, from its text. Strings and comments may look like labels: a
/// constant too many does no harm.
fn labels(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find("case") {
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let alone = !rest[..at].ends_with(is_word) && !rest[at + 4..].starts_with(is_word);
        rest = &rest[at + 4..];
        let end = rest.find(':').filter(|_| alone);
        found.extend(end.map(|end| rest[..end].trim()));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_the_texts_between_case_and_colon() {
        let text = "switch (x) { case 1: f(); case 'B' : case_of(); case -3: default: showcase; }";
        assert_eq!(labels(text), ["1", "'B'", "-3"]);
    }
}
