//! Loading the bank, each thread on its own part of the account range.

use super::{
    TELLERS, Tables, TpcbScale,
    rows::{key, new_row},
};
use crate::{
    loading::{Loader, Mark, Progress, in_parallel},
    store::Store,
};

/// Loads the bank if the store has none; checks its scale if it has.
pub(super) fn load_if_absent<S: Store>(
    store: &S,
    tables: &Tables<S>,
    scale: TpcbScale,
    threads: usize,
    progress: &Progress<'_>,
) -> Result<(), S::Error> {
    let bytes = [scale.branches.to_le_bytes(), scale.accounts_per_branch.to_le_bytes()].concat();
    let mark = Mark { store, table: &tables.scale, what: "a TPC-B bank", scale: &bytes };
    mark.load_once(&[], || load(store, tables, scale, threads, progress)).map(drop)
}

fn load<S: Store>(
    store: &S,
    tables: &Tables<S>,
    scale: TpcbScale,
    threads: usize,
    progress: &Progress<'_>,
) -> Result<(), S::Error> {
    let branches = u64::from(scale.branches);
    let (accounts, parts) = (scale.accounts(), threads.max(1) as u64);
    let small = [(&tables.branch, 0, branches), (&tables.teller, 0, branches * TELLERS)];
    let ranges = (0..parts)
        .map(|part| (&tables.account, accounts * part / parts, accounts * (part + 1) / parts));
    in_parallel(store, progress, [small].into_iter(), |ranges, loader| {
        ranges.into_iter().try_for_each(|range| load_range(range, loader))
    })?;
    in_parallel(store, progress, ranges, load_range)
}

/// Loads the rows of a table from one number up to another.
fn load_range<'a, S: Store>(
    (table, from, to): (&'a S::Table, u64, u64),
    loader: &mut Loader<'a, S>,
) -> Result<(), S::Error> {
    (from..to).try_for_each(|id| loader.insert(table, &key(id), &new_row(id)))
}
