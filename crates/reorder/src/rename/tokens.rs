//! The words of a source file, and the tokens that stand for a variable.
//!
//! A variable may only be renamed if each word of its function that could mean it is known to mean
//! it, or known not to. The IR knows the variables in expressions; a word that it does not know of
//! (in a macro, in a directive, in a statement that the front end does not represent) forbids the
//! renaming.

use std::collections::{BTreeMap, BTreeSet};

use super::declaration;
use crate::{
    clang::tokens::{self, Lexed, Token, TokenKind},
    flow::{
        Flow,
        graph::{NodeIndex, NodeKind},
    },
    ir::{ExpressionKind as Kind, Function, Program, Statement, StatementKind, VariableIndex},
    source::Range,
};

/// The words of a file.
pub(super) struct Words<'t> {
    pub(super) text: &'t str,
    pub(super) lexed: Lexed,
    all: BTreeSet<&'t str>,
}

impl<'t> Words<'t> {
    pub(super) fn of(program: &Program, text: &'t str) -> Words<'t> {
        Words { text, lexed: tokens::lex(text, program.language), all: words(text).collect() }
    }

    /// Returns names that no word of the file is, for the values of a variable. One that has such
    /// a name already gets the next of the same variable.
    pub(super) fn new_names(&self, variable: &str, count: usize) -> Vec<String> {
        let is_number = |end: &str| !end.is_empty() && end.bytes().all(|one| one.is_ascii_digit());
        let variable = match variable.rsplit_once("_r") {
            Some((first, end)) if is_number(end) && self.all.contains(first) => first,
            _ => variable,
        };
        let names = (1..).map(|number| format!("{variable}_r{number}"));
        names.filter(|name| !self.all.contains(name.as_str())).take(count).collect()
    }

    /// Returns the tokens within a range.
    pub(super) fn within(&self, range: Range) -> &[Token] {
        let all = &self.lexed.tokens;
        let first = all.partition_point(|token| token.range.start < range.start);
        let end = all.partition_point(|token| token.range.end <= range.end);
        &all[first..end.max(first)]
    }
}

/// Returns the words of a text, those in literals and comments too.
pub(super) fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| c != '_' && !c.is_alphanumeric()).filter(|word| !word.is_empty())
}

/// A token in an expression that stands for a variable.
#[derive(Clone, Copy, Debug)]
pub(super) struct Use {
    /// Its place; `None` if a macro's definition made it.
    pub(super) range: Option<Range>,
    /// The node that evaluates it.
    pub(super) node: NodeIndex,
}

/// The uses of a function's variables.
#[derive(Default)]
pub(super) struct Uses {
    /// Of each variable.
    pub(super) of: BTreeMap<VariableIndex, Vec<Use>>,
    /// The operands of `sizeof`, each with its node.
    pub(super) sizes: Vec<Use>,
    /// The first place that could hide a use of any variable.
    hidden: Option<Range>,
}

impl Uses {
    /// Finds the uses.
    pub(super) fn of(program: &Program, flow: &Flow<'_, '_>, function: &Function) -> Uses {
        let mut uses = Uses::default();
        for (node, point) in flow.graph.nodes.iter().enumerate() {
            if matches!(point.kind, NodeKind::Outcome { .. }) {
                continue;
            }
            if matches!(point.kind, NodeKind::Opaque(_)) {
                uses.note_opaque(program, function, point.range);
            }
            let Some(expression) = flow.expression_of(node) else { continue };
            expression.walk(&mut |inner| match &inner.kind {
                Kind::Variable(variable) => {
                    uses.of.entry(*variable).or_default().push(Use { range: inner.range, node });
                }
                Kind::Constant(text) if text.starts_with("sizeof") => {
                    uses.sizes.push(Use { range: inner.range, node });
                }
                Kind::Opaque(_) => uses.note_opaque(program, function, point.range),
                _ => {}
            });
        }
        uses
    }

    /// Notes something that the front end does not represent. What a macro makes of it is not seen.
    fn note_opaque(&mut self, program: &Program, function: &Function, range: Range) {
        let overlaps = |one: &Range| {
            one.start < range.end && range.start < one.end && function.range.contains(*one)
        };
        if program.macros.iter().any(|used| overlaps(&used.range)) {
            self.hidden = self.hidden.or(Some(range));
        }
    }

    /// Returns a place at which the variable may be mentioned in a way that is not known.
    pub(super) fn unknown_mention(
        &self,
        program: &Program,
        words: &Words<'_>,
        function: &Function,
        name: &str,
    ) -> Option<(Range, &'static str)> {
        if let Some(range) = self.hidden {
            return Some((range, "a macro makes something that is not represented"));
        }
        let is_name = |variable: &VariableIndex| program.variable(*variable).name == name;
        let mut known = BTreeSet::new();
        for one in self.of.iter().filter(|(variable, _)| is_name(variable)).flat_map(|(_, all)| all)
        {
            match one.range {
                Some(range) if range.of(words.text) == name => known.insert(range),
                _ => {
                    let range = one.range.unwrap_or(function.range);
                    return Some((range, "a macro's definition uses it"));
                }
            };
        }
        let body = function.body.range;
        let mentions =
            |range: &&Range| body.contains(**range) && words_have(range.of(words.text), name);
        if let Some(range) = words.lexed.directives.iter().find(mentions) {
            return Some((*range, "a preprocessor directive mentions it"));
        }
        known.extend(declared(program, words, function, name, &known));
        let tokens = words.within(body);
        let unknown = tokens.iter().enumerate().find(|(at, token)| {
            token.kind == TokenKind::Identifier
                && token.range.of(words.text) == name
                && !known.contains(&token.range)
                && !self.is_size(token.range)
                && !at
                    .checked_sub(1)
                    .is_some_and(|before| matches!(tokens[before].range.of(words.text), "." | "->"))
        });
        unknown.map(|(_, token)| (token.range, "it is mentioned in a way that is not represented"))
    }

    fn is_size(&self, token: Range) -> bool {
        self.sizes.iter().filter_map(|one| one.range).any(|range| range.contains(token))
    }
}

fn words_have(text: &str, name: &str) -> bool {
    words(text).any(|word| word == name)
}

/// Returns the tokens that declare variables of a name.
fn declared(
    program: &Program,
    words: &Words<'_>,
    function: &Function,
    name: &str,
    known: &BTreeSet<Range>,
) -> Vec<Range> {
    let mut found = Vec::new();
    function.body.walk(&mut |statement: &Statement| {
        if let StatementKind::Declare(all) = &statement.kind
            && all.iter().any(|one| program.variable(one.variable).name == name)
        {
            found.extend(declaration::name_token(words, statement.range, name, known));
        }
    });
    found
}
