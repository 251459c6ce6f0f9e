//! The expansion of macro uses, with the origin of each token that comes out.
//!
//! libclang gives every token of a macro's body the same place, so its tree does not tell which
//! tokens of an expansion belong to which expression. The front end therefore expands the uses of a
//! file itself ([`expand`], Prosser's algorithm with hide sets, which the C standard describes in
//! words), lets libclang read the expanded text, and maps places back with the [`Step`]s of each
//! token. A mistake here cannot go unseen: the front end compares libclang's trees of both texts.
//!
//! The steps of a token lead from the file inward: each is a use that is written in the file, and
//! the copy of the argument of that use in which the token stands; none for a token of the body.

mod arguments;

use std::{collections::HashMap, rc::Rc};

use self::arguments::{arguments_of, stringized};
use super::{
    macros::{BodyToken, Definition},
    tokens::{TokenKind, lex},
};
use crate::{ir::Language, source::Range};

/// One level of a token's origin.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Step {
    /// The place of the use in [`Expander::uses`].
    pub(super) usage: usize,
    /// The copy of an argument; `None` for a token that the body of the macro yields.
    pub(super) argument: Option<usize>,
}

/// A token of an expansion.
#[derive(Clone, Debug)]
pub(super) struct Expanded {
    pub(super) text: Rc<str>,
    pub(super) kind: TokenKind,
    /// Where it stands in the file; `None` if the body of a macro made it.
    pub(super) file: Option<Range>,
    /// Its origin.
    pub(super) steps: Vec<Step>,
    /// True if white space stands before it.
    spaced: bool,
    /// The macros that must not be expanded in it.
    hidden: Rc<Vec<Rc<str>>>,
    /// True if it names a macro that was not expanded because of its hide set.
    pub(super) painted: bool,
}

impl Expanded {
    /// Makes a token that is written in the file.
    pub(super) fn written(text: &str, kind: TokenKind, range: Range, spaced: bool) -> Expanded {
        Expanded {
            text: text.into(),
            kind,
            file: Some(range),
            steps: Vec::new(),
            spaced,
            hidden: Rc::default(),
            painted: false,
        }
    }
}

/// A use that is written in the file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Usage {
    pub(super) name: String,
    pub(super) range: Range,
    /// True if it is left as it is, because its definition cannot be read.
    pub(super) left: bool,
}

/// The most tokens that one use may make.
const MOST_TOKENS: usize = 100_000;

/// Expands uses of macros.
pub(super) struct Expander {
    pub(super) uses: Vec<Usage>,
    language: Language,
    copies: usize,
    made: usize,
}

/// Arguments as written and as expanded.
struct Argument {
    written: Vec<Expanded>,
    expanded: Vec<Expanded>,
}

/// The macro whose body is being copied.
struct Invocation<'a> {
    definition: &'a Definition,
    arguments: &'a [Argument],
    hidden: Rc<Vec<Rc<str>>>,
    /// The steps of a token of the body.
    steps: Vec<Step>,
}

/// The access of [`Expander`] to the definitions.
pub(super) type Lookup<'a> = dyn FnMut(&str) -> Option<Rc<Definition>> + 'a;

impl Expander {
    pub(super) fn new(language: Language) -> Expander {
        Expander { uses: Vec::new(), language, copies: 0, made: 0 }
    }

    /// Returns the tokens of a use that is left as it is, as tokens of its body: no part of them
    /// stands for a part of what the compiler makes of them.
    pub(super) fn left(
        &mut self,
        name: &str,
        range: Range,
        mut tokens: Vec<Expanded>,
    ) -> Vec<Expanded> {
        self.uses.push(Usage { name: name.to_owned(), range, left: true });
        let step = Step { usage: self.uses.len() - 1, argument: None };
        for token in &mut tokens {
            token.steps = vec![step];
            token.file = None;
        }
        tokens
    }

    /// Puts tokens into a use that stand behind it in the file and became arguments of a macro that
    /// its expansion ends with.
    pub(super) fn swallow(&mut self, usage: usize, tokens: &mut [Expanded]) {
        let mut within = false;
        for token in tokens {
            let outside = token.steps.first().is_none_or(|step| step.usage != usage);
            if outside {
                self.copies += usize::from(!within);
                token.steps.insert(0, Step { usage, argument: Some(self.copies) });
            }
            within = outside;
        }
    }

    /// Expands the tokens of one use in the file. Returns `None` if the expansion is too large or
    /// needs what the expander does not know.
    pub(super) fn use_of(
        &mut self,
        tokens: Vec<Expanded>,
        lookup: &mut Lookup<'_>,
    ) -> Option<Vec<Expanded>> {
        self.made = 0;
        self.expand(tokens, lookup, 0)
    }

    fn expand(
        &mut self,
        tokens: Vec<Expanded>,
        lookup: &mut Lookup<'_>,
        depth: usize,
    ) -> Option<Vec<Expanded>> {
        if depth > 100 {
            return None;
        }
        let mut pending: Vec<Expanded> = tokens.into_iter().rev().collect();
        let mut out: Vec<Expanded> = Vec::new();
        while let Some(mut token) = pending.pop() {
            let definition =
                (token.kind == TokenKind::Identifier).then(|| lookup(&token.text)).flatten();
            let Some(definition) = definition else {
                out.push(token);
                continue;
            };
            if token.painted || token.hidden.contains(&definition.name) {
                token.painted = true;
                out.push(token);
                continue;
            }
            if definition.parameters.is_some()
                && pending.last().is_none_or(|next| &*next.text != "(")
            {
                out.push(token);
                continue;
            }
            let mut body = self.invoke(&token, &definition, &mut pending, lookup, depth)?;
            if let Some(first) = body.first_mut() {
                first.spaced = token.spaced;
            }
            self.made += body.len() + 1;
            if self.made > MOST_TOKENS {
                return None;
            }
            pending.extend(body.into_iter().rev());
        }
        Some(out)
    }

    /// Returns the body of a macro with its arguments, which are taken from `pending`.
    fn invoke(
        &mut self,
        name: &Expanded,
        definition: &Definition,
        pending: &mut Vec<Expanded>,
        lookup: &mut Lookup<'_>,
        depth: usize,
    ) -> Option<Vec<Expanded>> {
        let mut hidden = (*name.hidden).clone();
        let mut arguments = Vec::new();
        let (level, mut steps) = (name.steps.len(), name.steps.clone());
        // A name that is written in the file, at the top or in an argument, opens a level.
        let opens = steps.last().is_none_or(|step| step.argument.is_some());
        let opened = name.file.filter(|_| opens).map(|range| {
            self.uses.push(Usage { name: definition.name.to_string(), range, left: false });
            self.uses.len() - 1
        });
        if definition.parameters.is_some() {
            let (written, close) = arguments_of(definition, pending)?;
            hidden.retain(|one| close.hidden.contains(one));
            for tokens in written {
                let expanded = self.expand(tokens.clone(), lookup, depth + 1)?;
                arguments.push(Argument { written: tokens, expanded });
            }
            if let (Some(usage), Some(close)) = (opened, close.file) {
                let range = &mut self.uses[usage].range;
                *range = Range::new(range.start, close.end.max(range.end));
            }
        }
        hidden.push(definition.name.clone());
        if let Some(usage) = opened {
            steps.push(Step { usage, argument: None });
            for argument in &mut arguments {
                for token in argument.written.iter_mut().chain(&mut argument.expanded) {
                    let level = level.min(token.steps.len());
                    token.steps.insert(level, Step { usage, argument: Some(0) });
                }
            }
        }
        let hidden = Rc::new(hidden);
        self.copy(&Invocation { definition, arguments: &arguments, hidden, steps })
    }

    fn copy(&mut self, invocation: &Invocation<'_>) -> Option<Vec<Expanded>> {
        let body = &invocation.definition.body;
        let mut out: Vec<Expanded> = Vec::new();
        let mut at = 0;
        while let Some(token) = body.get(at) {
            let pasted = body.get(at + 1).is_some_and(|next| &*next.text == "##");
            if &*token.text == "__VA_OPT__" {
                return None;
            }
            if &*token.text == "#"
                && let Some(argument) = body.get(at + 1).and_then(|next| invocation.argument(next))
            {
                out.push(invocation.body_token(&BodyToken {
                    text: stringized(&argument.written).into(),
                    kind: TokenKind::Text,
                    spaced: token.spaced,
                }));
                at += 2;
            } else if &*token.text == "##" && at > 0 {
                let right = body.get(at + 1)?;
                self.paste(invocation, &mut out, right)?;
                at += 2;
            } else if let Some(argument) = invocation.argument(token) {
                let tokens = if pasted { &argument.written } else { &argument.expanded };
                let from = out.len();
                out.extend(self.copied(tokens));
                if let Some(first) = out.get_mut(from) {
                    first.spaced = token.spaced;
                }
                at += 1;
                if tokens.is_empty() && pasted {
                    // An empty argument before `##` leaves the right side as it is.
                    let right = body.get(at + 1)?;
                    match invocation.argument(right) {
                        Some(right) => out.extend(self.copied(&right.written)),
                        None => out.push(invocation.body_token(right)),
                    }
                    at += 2;
                }
            } else {
                out.push(invocation.body_token(token));
                at += 1;
            }
        }
        for token in &mut out {
            if !token.hidden.iter().eq(invocation.hidden.iter()) {
                let mut hidden = (*token.hidden).clone();
                let missing = invocation.hidden.iter().filter(|one| !token.hidden.contains(one));
                hidden.extend(missing.cloned());
                token.hidden = Rc::new(hidden);
            }
        }
        Some(out)
    }

    /// Copies the tokens of an argument; the copy of each level gets a number of its own.
    fn copied(&mut self, tokens: &[Expanded]) -> Vec<Expanded> {
        let mut numbers: HashMap<(usize, usize), usize> = HashMap::new();
        let mut tokens = tokens.to_vec();
        for token in &mut tokens {
            for step in &mut token.steps {
                let Some(old) = step.argument else { continue };
                let number = numbers.entry((step.usage, old)).or_insert_with(|| {
                    self.copies += 1;
                    self.copies
                });
                step.argument = Some(*number);
            }
        }
        tokens
    }

    /// Joins the last token with the first one of the right side of `##`.
    fn paste(
        &mut self,
        invocation: &Invocation<'_>,
        out: &mut Vec<Expanded>,
        right: &BodyToken,
    ) -> Option<()> {
        let right_tokens = match invocation.argument(right) {
            Some(argument) => self.copied(&argument.written),
            None => vec![invocation.body_token(right)],
        };
        // GNU: `, ## __VA_ARGS__` keeps both sides apart, and drops the comma before nothing.
        let rest = invocation.definition.variadic
            && invocation.definition.parameters.iter().flatten().last().map(String::as_str)
                == Some(&*right.text);
        if rest && out.last().is_some_and(|left| &*left.text == ",") {
            if right_tokens.is_empty() {
                out.pop();
            }
            out.extend(right_tokens);
            return Some(());
        }
        let mut right_tokens = right_tokens.into_iter();
        let Some(first) = right_tokens.next() else { return Some(()) };
        let left = out.pop()?;
        let text = format!("{}{}", left.text, first.text);
        let lexed = lex(&text, self.language);
        let [joined] = lexed.tokens.as_slice() else { return None };
        let spaced = left.spaced;
        let token = BodyToken { text: text.as_str().into(), kind: joined.kind, spaced };
        out.push(invocation.body_token(&token));
        out.extend(right_tokens);
        Some(())
    }
}

impl Invocation<'_> {
    fn argument(&self, token: &BodyToken) -> Option<&Argument> {
        let parameters = self.definition.parameters.as_ref()?;
        let place = parameters.iter().position(|name| **name == *token.text)?;
        self.arguments.get(place)
    }

    fn body_token(&self, token: &BodyToken) -> Expanded {
        Expanded {
            text: token.text.clone(),
            kind: token.kind,
            file: None,
            steps: self.steps.clone(),
            spaced: token.spaced,
            hidden: self.hidden.clone(),
            painted: false,
        }
    }
}

#[cfg(test)]
mod tests;
