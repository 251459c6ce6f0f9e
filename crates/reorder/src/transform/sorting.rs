//! Sorts the loops of a text in its new order by a key, if the user wants it.
//!
//! A loop is sorted if that is legal ([`sort`](crate::split::sort)) and the order of the queries
//! then costs no more than before. The search begins with the last loop, so that the lines of those
//! before it stay. It ends when no more loop can be sorted, so that a second run sorts none.
//!
//! The order comes first: it decides which loop has used the keys of another one before.

use super::{Change, Changed, Places, Search, Version, latest};
use crate::{
    ir::Program,
    rename::Setting,
    rewrite::{self, Report, Rewritten},
    source,
    split::{
        Obstacle, Sorted, Unsorted,
        sort::{self, Candidate},
        trace::Trace,
    },
};

impl<E> Search<'_, E> {
    /// Sorts loops. The reports stay as they are. Returns the loops that keep the order of their
    /// iterations.
    pub(super) fn sort(
        &mut self,
        rewritten: &mut Rewritten,
        setting: Setting<'_>,
    ) -> Vec<Unsorted> {
        let Setting { models, schema, options } = setting;
        let mut kept = Vec::new();
        if !options.sort_keys {
            return kept;
        }
        // A sorted loop is not sorted again, so that this ends.
        loop {
            let text = rewritten.text.clone();
            let Ok(program) = (self.parse)(&text) else { break };
            let Ok(reordered) = rewrite::rewrite(&program, &text, models, schema, options) else {
                break;
            };
            let (trace, change) = (rewritten.moved.clone(), Change::Reordered);
            self.versions.push(Version { text: text.clone(), trace, change });
            self.last = Some(Changed { program, text, rewritten: Ok(reordered) });
            let versions = self.versions.len();
            kept = self.sort_each(setting);
            let Some(Changed { rewritten: Ok(sorted), .. }) = self.last.take() else { break };
            if self.versions.len() == versions {
                break;
            }
            (rewritten.text, rewritten.moved) = (sorted.text, sorted.moved);
        }
        kept
    }

    /// Sorts loops of the latest text. Returns those that keep the order of their iterations.
    fn sort_each(&mut self, setting: Setting<'_>) -> Vec<Unsorted> {
        let unsorted = self.versions.len();
        let mut lines: Vec<usize> = self.loops(setting).iter().map(|one| one.line).collect();
        lines.sort_unstable();
        let mut kept = Vec::new();
        for line in lines.into_iter().rev() {
            let found = self.loops(setting).into_iter().find(|one| one.line == line);
            let Some(Candidate { function, line, outcome }) = found else { continue };
            let done = outcome.and_then(|(key, edits)| {
                let sorted = Sorted { function: function.clone(), line, key };
                self.apply(setting, sorted, &edits)
            });
            if let Err(reason) = done {
                kept.push(Unsorted { function, line, reason });
            }
        }
        let places = Places { text: self.first.1, versions: &self.versions };
        for one in &mut kept {
            one.line = places.user_line(unsorted, one.line);
            if one.reason.line > 0 {
                one.reason.line = places.user_line(unsorted, one.reason.line);
            }
        }
        kept.sort_by_key(|one| one.line);
        kept
    }

    /// Returns the loops of the latest text that change rows.
    fn loops(&self, setting: Setting<'_>) -> Vec<Candidate> {
        let Setting { models, schema, options } = setting;
        let (program, text, _) = latest(self.first, &self.last, &[]);
        sort::candidates(program, text, (models, schema), options).unwrap_or_default()
    }

    /// Sorts a loop, unless the order of the queries then costs more.
    fn apply(
        &mut self,
        setting: Setting<'_>,
        sorted: Sorted,
        edits: &[source::Edit],
    ) -> Result<(), Obstacle> {
        let Setting { models, schema, options } = setting;
        let (_, text, before) = latest(self.first, &self.last, &[]);
        let before = cost(before);
        let refused = |reason: String| Obstacle { line: 0, reason };
        let text = source::apply(text, edits);
        let program: Program = (self.parse)(&text)
            .map_err(|_| refused("the sorted loop cannot be read".to_owned()))?;
        let rewritten = rewrite::rewrite(&program, &text, models, schema, options)
            .map_err(|error| refused(error.to_string()))?;
        let after = cost(&rewritten.transactions);
        if after > before {
            return Err(refused("the order of the queries would cost more".to_owned()));
        }
        let (trace, change) = (Trace::of(edits), Change::Sorted(sorted));
        self.versions.push(Version { text: text.clone(), trace, change });
        self.last = Some(Changed { program, text, rewritten: Ok(rewritten) });
        Ok(())
    }
}

fn cost(reports: &[Report]) -> u128 {
    reports.iter().map(|report| report.solution.cost).sum()
}
