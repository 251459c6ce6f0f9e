//! The edits that give the webs of variables names.

use super::{Plan, declaration, tokens::Words};
use crate::{
    clang::tokens::TokenKind,
    source::{Edit, Range},
};

/// Names for the webs of a variable.
pub(super) struct Named<'c> {
    pub(super) plan: &'c Plan,
    /// The variable.
    pub(super) variable: &'c str,
    /// The new names.
    pub(super) names: &'c [String],
    /// Of each web, its name: 0 for the variable itself, else one more than the place in `names`.
    pub(super) of_web: &'c [usize],
}

impl Named<'_> {
    /// Returns the name of a web.
    pub(super) fn name(&self, web: usize) -> &str {
        match self.of_web[web].checked_sub(1) {
            Some(new) => &self.names[new],
            None => self.variable,
        }
    }

    /// Returns the new names that a web has.
    pub(super) fn used(&self) -> Vec<String> {
        let count = self.of_web.iter().copied().max().unwrap_or(0);
        self.names[..count].to_vec()
    }

    /// Returns the edits.
    pub(super) fn edits(&self, words: &Words<'_>) -> Vec<Edit> {
        let used = self.used();
        if used.is_empty() {
            return Vec::new();
        }
        let mut edits = vec![self.plan.declaration.edit(&used)];
        let renamed = |web: &usize| self.of_web[*web] > 0;
        for web in (0..self.plan.webs.len()).filter(renamed) {
            let edit = |&range: &Range| Edit { range, text: self.name(web).to_string() };
            edits.extend(self.plan.webs[web].tokens.iter().map(edit));
        }
        for (range, web) in self.plan.sizes.iter().filter(|(_, web)| renamed(web)) {
            let tokens = words.within(*range).iter().filter(|token| {
                token.kind == TokenKind::Identifier && token.range.of(words.text) == self.variable
            });
            edits.extend(
                tokens.map(|token| Edit { range: token.range, text: self.name(*web).to_string() }),
            );
        }
        for copy in &self.plan.copies {
            let (from, to) = (self.name(copy.from), self.name(copy.to));
            if from != to {
                let start = copy.before.start;
                let line = declaration::line_of(words.text, start);
                let range = Range::new(start, start);
                edits.push(Edit { range, text: format!("{to} = {from};{line}") });
            }
        }
        edits.sort_by_key(|edit| (edit.range.start, edit.range.end));
        edits.dedup();
        edits
    }
}
