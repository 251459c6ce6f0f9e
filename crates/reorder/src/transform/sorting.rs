//! Sorts the loops of the changed text by a key, one after the other, if the user wants it.
//!
//! A loop is sorted if that is legal ([`sort`](crate::split::sort)) and the order of the queries
//! then costs no more than before. The search begins with the last loop, so that the lines of those
//! before it stay.

use super::{Change, Changed, Places, Search, Version, latest};
use crate::{
    ir::Program,
    rename::Setting,
    rewrite::{self, Report},
    source,
    split::{
        Obstacle, Sorted, Unsorted,
        sort::{self, Candidate},
        trace::Trace,
    },
};

impl<E> Search<'_, E> {
    /// Sorts loops. Returns those that keep the order of their iterations.
    pub(super) fn sort(&mut self, reports: &[Report], setting: Setting<'_>) -> Vec<Unsorted> {
        let Setting { options, .. } = setting;
        if !options.sort_keys {
            return Vec::new();
        }
        let unsorted = self.versions.len();
        let mut lines: Vec<usize> = self.loops(setting).iter().map(|one| one.line).collect();
        lines.sort_unstable();
        let mut kept = Vec::new();
        for line in lines.into_iter().rev() {
            let found = self.loops(setting).into_iter().find(|one| one.line == line);
            let Some(Candidate { function, line, outcome }) = found else { continue };
            let done = outcome.and_then(|(key, edits)| {
                let sorted = Sorted { function: function.clone(), line, key };
                self.apply(reports, setting, sorted, &edits)
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
        kept.reverse();
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
        reports: &[Report],
        setting: Setting<'_>,
        sorted: Sorted,
        edits: &[source::Edit],
    ) -> Result<(), Obstacle> {
        let Setting { models, schema, options } = setting;
        let (_, text, before) = latest(self.first, &self.last, reports);
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
