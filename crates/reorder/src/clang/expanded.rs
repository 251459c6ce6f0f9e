//! The text with its macros expanded, and the way back to the text of the file.
//!
//! libclang reads the expanded text, in which each token of each expression and statement has a
//! place of its own. [`Source::file_range`] returns the text of the file that a run of tokens
//! stands for: a run that begins within an expansion must begin with its first token, and one that
//! ends there must end with its last one, or no text of the file stands for exactly that run.

use std::{collections::HashMap, rc::Rc};

use clang::Entity;

use super::{
    expansion::{Expanded, Expander, Step, Usage},
    macros::{Definition, Definitions, Event},
    tokens::{Lexed, Token, lex, partners},
};
use crate::{
    ir::{Language, MacroUse},
    source::Range,
};

/// A token of the expanded text.
#[derive(Debug)]
pub(super) struct Placed {
    /// Where it stands in the expanded text.
    pub(super) range: Range,
    /// Where it stands in the file; `None` if the body of a macro made it.
    pub(super) file: Option<Range>,
    /// Its origin.
    pub(super) steps: Vec<Step>,
}

/// A run of tokens, by the places of its first and its last one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Span {
    pub(super) first: usize,
    pub(super) last: usize,
}

/// A use in the file with the tokens that it makes.
struct Replacement {
    range: Range,
    tokens: Vec<Expanded>,
}

/// The expansions of a file.
pub(super) struct Expansions {
    replacements: Vec<Replacement>,
    uses: Vec<Usage>,
    /// The uses for [`crate::ir::Program::macros`].
    pub(super) reported: Vec<MacroUse>,
}

/// Expands the uses among `events`.
pub(super) fn expand<'tu>(
    text: &str,
    lexed: &Lexed,
    language: Language,
    events: Vec<Event<'tu>>,
    definitions: &mut Definitions<'tu>,
) -> Expansions {
    let mut expander = Expander::new(language);
    let (mut replacements, mut reported): (Vec<Replacement>, Vec<MacroUse>) = Default::default();
    let (mut from, mut line) = (0, 1);
    for event in events {
        let (name, range) = match event {
            Event::Define(entity) => {
                definitions.define(entity);
                continue;
            }
            Event::Undefine(name) => {
                definitions.undefine(&name);
                continue;
            }
            Event::Use(name, range) => (name, range),
        };
        if reported.last().is_some_and(|last: &MacroUse| range.start < last.range.end) {
            continue;
        }
        line += text[from..range.end].matches('\n').count();
        from = range.end;
        definitions.line = line;
        let (range, tokens) = expand_use(text, lexed, range, &mut expander, definitions);
        let tokens = tokens
            .unwrap_or_else(|| expander.left(&name, range, written(text, tokens_in(lexed, range))));
        replacements.push(Replacement { range, tokens });
        reported.push(MacroUse { name, range });
    }
    Expansions { replacements, uses: expander.uses, reported }
}

/// Expands one use. If the expansion ends with the name of a macro that takes arguments, and these
/// follow in the file, the use reaches to their end.
fn expand_use<'tu>(
    text: &str,
    lexed: &Lexed,
    mut range: Range,
    expander: &mut Expander,
    definitions: &mut Definitions<'tu>,
) -> (Range, Option<Vec<Expanded>>) {
    let known = expander.uses.len();
    loop {
        let behind = lexed.tokens.partition_point(|token| token.range.start < range.end);
        let tokens = tokens_in(lexed, range);
        let mut lookup = |name: &str| -> Option<Rc<Definition>> { definitions.get(name) };
        let found = expander.use_of(written(text, tokens), &mut lookup);
        let Some(mut found) = found.filter(|_| expander.uses.len() > known) else {
            expander.uses.truncate(known);
            return (range, None);
        };
        let open_name = found.last().filter(|last| !last.painted).is_some_and(|last| {
            definitions.get(&last.text).is_some_and(|one| one.parameters.is_some())
        });
        let arguments = lexed.tokens.get(behind).filter(|next| next.range.of(text) == "(");
        let close = arguments.and_then(|_| closing(text, &lexed.tokens[behind..]));
        match close.filter(|_| open_name) {
            Some(end) => {
                range = Range::new(range.start, end);
                expander.uses.truncate(known);
            }
            None => {
                let usage = &mut expander.uses[known];
                usage.range = Range::new(range.start, usage.range.end.max(range.end));
                expander.swallow(known, &mut found);
                return (range, Some(found));
            }
        }
    }
}

fn tokens_in(lexed: &Lexed, range: Range) -> &[Token] {
    let first = lexed.tokens.partition_point(|token| token.range.start < range.start);
    let behind = lexed.tokens.partition_point(|token| token.range.start < range.end);
    &lexed.tokens[first..behind]
}

/// Returns the end of the parenthesis that the first token opens.
fn closing(text: &str, tokens: &[Token]) -> Option<usize> {
    let mut depth = 0usize;
    for token in tokens {
        match token.range.of(text) {
            "(" => depth += 1,
            ")" => depth = depth.checked_sub(1)?,
            _ => {}
        }
        if depth == 0 {
            return Some(token.range.end);
        }
    }
    None
}

fn written(text: &str, tokens: &[Token]) -> Vec<Expanded> {
    let mut end = tokens.first().map_or(0, |token| token.range.start);
    let tokens = tokens.iter().map(|token| {
        let spaced = token.range.start > std::mem::replace(&mut end, token.range.end);
        Expanded::written(token.range.of(text), token.kind, token.range, spaced)
    });
    tokens.collect()
}

impl Expansions {
    /// Returns true if the file uses no macro that has a known definition.
    pub(super) fn is_empty(&self) -> bool {
        self.replacements.is_empty()
    }

    fn render(&self, text: &str) -> Rendered<'_> {
        let (mut out, mut from) = (String::with_capacity(text.len()), 0);
        let (mut origins, mut moves) = (HashMap::new(), vec![(0, 0)]);
        let mut line = 1;
        for one in &self.replacements {
            out.push_str(&text[from..one.range.start]);
            // The tokens of a use count as standing in its last line, for `__LINE__`.
            let lines = one.range.of(text).matches('\n').count();
            line += text[from..one.range.end].matches('\n').count();
            out.extend(std::iter::repeat_n('\n', lines));
            out.push(' ');
            for token in &one.tokens {
                let (name, shielded) = (&token.text, token.painted && one.tokens.len() > 1);
                if shielded {
                    out.push_str(&format!("\n#pragma push_macro(\"{name}\")\n#undef {name}\n"));
                }
                origins.insert(out.len(), token);
                out.push_str(name);
                if shielded {
                    let shield = format!("\n#pragma pop_macro(\"{name}\")\n#line {line}\n");
                    out.push_str(&shield);
                }
                out.push(' ');
            }
            from = one.range.end;
            moves.push((out.len(), from));
        }
        out.push_str(&text[from..]);
        Rendered { text: out, origins, moves }
    }

    /// Leaves all uses as they are.
    pub(super) fn leave(&mut self, text: &str, lexed: &Lexed, language: Language) {
        let mut expander = Expander::new(language);
        for (one, reported) in self.replacements.iter_mut().zip(&self.reported) {
            let tokens = written(text, tokens_in(lexed, one.range));
            one.tokens = expander.left(&reported.name, one.range, tokens);
        }
        self.uses = expander.uses;
    }

    /// Returns the expanded text.
    pub(super) fn expanded_text(&self, text: &str) -> String {
        self.render(text).text
    }
}

/// The expanded text with the origin of its parts.
struct Rendered<'a> {
    text: String,
    /// The tokens that expansions made, by their offsets.
    origins: HashMap<usize, &'a Expanded>,
    /// The offsets, in the expanded text and in the file, at which copied text begins.
    moves: Vec<(usize, usize)>,
}

/// The text of a file with its expanded form.
pub(super) struct Source<'a> {
    /// The text of the file.
    pub(super) text: &'a str,
    /// The expanded text.
    pub(super) expanded: String,
    /// The tokens of the expanded text, without directives and without lines that are left out.
    pub(super) tokens: Vec<Placed>,
    /// For each bracket the place of its partner.
    pub(super) partners: Vec<Option<usize>>,
    uses: &'a [Usage],
}

impl<'a> Source<'a> {
    /// Reads the tokens of the expanded text; those in the ranges `left_out` are no part of the
    /// program.
    pub(super) fn new(
        text: &'a str,
        expansions: &'a Expansions,
        language: Language,
        left_out: &[Range],
    ) -> Source<'a> {
        let Rendered { text: expanded, origins, moves } = expansions.render(text);
        let mut left_out = left_out.to_vec();
        left_out.sort();
        let lexed = lex(&expanded, language);
        let tokens = lexed.tokens.into_iter().filter(|token| {
            let before = left_out.partition_point(|range| range.start <= token.range.start);
            before == 0 || !left_out[before - 1].contains(token.range)
        });
        let tokens = tokens.map(|token| {
            let range = token.range;
            if let Some(origin) = origins.get(&range.start) {
                let (file, steps) = (origin.file, origin.steps.clone());
                return Placed { range, file, steps };
            }
            let before = moves.partition_point(|&(start, _)| start <= range.start);
            let (from, to) = moves[before - 1];
            let start = range.start - from + to;
            let file = Some(Range::new(start, start + range.end - range.start));
            Placed { range, file, steps: Vec::new() }
        });
        let tokens: Vec<Placed> = without_pragmas(tokens.collect(), &expanded);
        let partners = partners(tokens.iter().map(|token| token.range.of(&expanded)));
        Source { text, expanded, tokens, partners, uses: &expansions.uses }
    }

    /// Returns the text of a token; an empty one behind the last.
    pub(super) fn token(&self, place: usize) -> &str {
        self.tokens.get(place).map_or("", |token| token.range.of(&self.expanded))
    }

    /// Returns the number of tokens.
    pub(super) fn len(&self) -> usize {
        self.tokens.len()
    }

    /// Returns the tokens within a range of the expanded text.
    pub(super) fn span(&self, start: usize, end: usize) -> Option<Span> {
        let first = self.tokens.partition_point(|token| token.range.end <= start);
        let behind = self.tokens.partition_point(|token| token.range.start < end);
        let begins = self.tokens.get(first).is_some_and(|token| token.range.start <= start);
        (first < behind && begins).then(|| self.widened(Span { first, last: behind - 1 }))
    }

    /// Extends a span to all of each use that is left as it is: libclang places what such a use
    /// makes anywhere in it.
    fn widened(&self, mut span: Span) -> Span {
        let same = |one: usize, other: usize| self.usage(one) == self.usage(other);
        if self.is_left(span.first) {
            while span.first > 0 && same(span.first, span.first - 1) {
                span.first -= 1;
            }
        }
        if self.is_left(span.last) {
            while span.last + 1 < self.tokens.len() && same(span.last, span.last + 1) {
                span.last += 1;
            }
        }
        span
    }

    /// Returns the text of the file that stands for exactly these tokens. If they all stand in one
    /// argument of a use, it is their text in the argument.
    pub(super) fn file_range(&self, span: Span) -> Option<Range> {
        let (first, last) = (self.tokens.get(span.first)?, self.tokens.get(span.last)?);
        let common = first.steps.iter().zip(&last.steps);
        let level = common.take_while(|(a, b)| a == b && a.argument.is_some()).count();
        self.range_at(span, level)
    }

    /// Returns the text of the file, outside of all uses, that stands for exactly these tokens.
    pub(super) fn outer_range(&self, span: Span) -> Option<Range> {
        self.range_at(span, 0)
    }

    fn range_at(&self, span: Span, level: usize) -> Option<Range> {
        let (first, last) = (self.tokens.get(span.first)?, self.tokens.get(span.last)?);
        let start = match first.steps.get(level) {
            None => first.file?.start,
            Some(step) if !self.continues(span.first.checked_sub(1), first, level) => {
                self.uses[step.usage].range.start
            }
            Some(_) => return None,
        };
        let end = match last.steps.get(level) {
            None => last.file?.end,
            Some(step) if !self.continues(Some(span.last + 1), last, level) => {
                self.uses[step.usage].range.end
            }
            Some(_) => return None,
        };
        let found = (start <= end).then(|| Range::new(start, end))?;
        self.text.get(found.start..found.end).map(|_| found)
    }

    /// Returns true if the token at `neighbour` comes from the same use at this level.
    fn continues(&self, neighbour: Option<usize>, token: &Placed, level: usize) -> bool {
        let neighbour = neighbour.and_then(|place| self.tokens.get(place));
        let Some(steps) = neighbour.map(|token| &token.steps) else { return false };
        steps.get(..level) == token.steps.get(..level)
            && steps.get(level).map(|step| step.usage)
                == token.steps.get(level).map(|step| step.usage)
    }

    /// Returns the use, not within another, that makes the token; `None` for a token of the file.
    pub(super) fn usage(&self, place: usize) -> Option<usize> {
        self.tokens.get(place)?.steps.first().map(|step| step.usage)
    }

    /// Returns the use that makes all tokens of a span.
    pub(super) fn common_usage(&self, span: Span) -> Option<usize> {
        let usage = self.usage(span.first)?;
        (span.first..=span.last).all(|place| self.usage(place) == Some(usage)).then_some(usage)
    }

    /// Returns true if the token belongs to a use that is left as it is.
    pub(super) fn is_left(&self, place: usize) -> bool {
        self.usage(place).is_some_and(|usage| self.uses[usage].left)
    }

    /// Returns the name of the macro of a use.
    pub(super) fn macro_name(&self, usage: usize) -> &str {
        &self.uses[usage].name
    }
}

/// Removes the operator `_Pragma("…")`, which makes no part of a statement.
fn without_pragmas(tokens: Vec<Placed>, text: &str) -> Vec<Placed> {
    let mut left = 0usize;
    let mut keep = |token: &Placed| {
        if left == 0 && token.range.of(text) == "_Pragma" {
            left = 4;
        }
        let keep = left == 0;
        left = left.saturating_sub(1);
        keep
    };
    tokens.into_iter().filter(|token| keep(token)).collect()
}

/// Returns the range of an entity in the file with the text that libclang read.
pub(super) fn range_in_main(entity: Entity<'_>, main: clang::source::File<'_>) -> Option<Range> {
    let range = entity.get_range()?;
    let (start, end) = (range.get_start().get_file_location(), range.get_end().get_file_location());
    let within = start.file == Some(main) && end.file == Some(main) && start.offset <= end.offset;
    within.then(|| Range::new(start.offset as usize, end.offset as usize))
}
