//! `clearway bench tpcb`.

use clap::Args as Group;
use clearway_workloads::{ClearwayStore, Outcome as Run, Skew, Tpcb, TpcbBalance, TpcbScale};
use serde_json::{Map, Value, json};

use super::{Bench, Books, Figure};
use crate::{
    args::RunArgs,
    failure::{Doing, Outcome},
    units::grouped,
};

#[derive(Group, Debug)]
pub(crate) struct TpcbArgs {
    /// Branches, each with 10 tellers
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) branches: u32,
    /// Accounts of each branch
    #[arg(long, value_name = "N", default_value_t = 100_000,
          value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) accounts: u32,
    /// Choice of branches and accounts: uniform, zipf=S or self-similar=H
    #[arg(long, default_value_t = Skew::Uniform)]
    pub(crate) skew: Skew,
    #[command(flatten)]
    pub(crate) run: RunArgs,
}

impl TpcbArgs {
    fn scale(&self) -> TpcbScale {
        TpcbScale { branches: self.branches, accounts_per_branch: self.accounts }
    }
}

impl Bench for TpcbArgs {
    type Loaded = Tpcb<ClearwayStore>;
    /// Rows of the history.
    type Before = u64;

    const NAME: &'static str = "tpcb";
    const DATA: &'static str = "bank";
    const UNSOUND: &'static str = "the bank's books do not balance";

    fn run_args(&self) -> &RunArgs {
        &self.run
    }

    fn rows(&self) -> u64 {
        self.scale().rows()
    }

    fn prepare(
        &self,
        store: &ClearwayStore,
        threads: usize,
        progress: &(dyn Fn(u64) -> bool + Sync),
    ) -> clearway::Result<Self::Loaded> {
        Tpcb::prepare(store, self.scale(), self.skew, threads, progress)
    }

    fn before(&self, store: &ClearwayStore, bank: &Self::Loaded, _: bool) -> Outcome<u64> {
        bank.history_rows(store).doing(|| "cannot read the history".into())
    }

    fn check(
        &self,
        store: &ClearwayStore,
        bank: &Self::Loaded,
        before: &u64,
        run: &Run,
        threads: usize,
    ) -> clearway::Result<Books> {
        Ok(books(&bank.check(store, threads)?, *before, run.commits))
    }

    fn figures(&self, _: &Self::Loaded, _: &Run) -> Vec<Figure> {
        Vec::new()
    }

    fn options(&self) -> Map<String, Value> {
        let mut options = Map::new();
        options.insert("branches".into(), self.branches.into());
        options.insert("accounts_per_branch".into(), self.accounts.into());
        options.insert("skew".into(), self.skew.to_string().into());
        options
    }
}

/// The books balance if all sums agree and every acknowledged transaction, and no other, has its
/// history row.
pub(super) fn books(balance: &TpcbBalance, history_before: u64, commits: u64) -> Books {
    let counted = balance.history_rows == history_before + commits;
    let is_consistent = counted && balance.is_consistent();
    let verdict = if is_consistent {
        format!("{} history rows", grouped(balance.history_rows))
    } else {
        format!(
            "{} branches off, {} rows missing or too many, {} history rows for {commits} commits",
            balance.branches_off,
            balance.rows_off,
            balance.history_rows - history_before.min(balance.history_rows),
        )
    };
    let sums = format!(
        "accounts {}, tellers {}, branches {}, history {}",
        balance.accounts, balance.tellers, balance.branches, balance.history
    );
    let json = json!({
        "accounts": balance.accounts,
        "tellers": balance.tellers,
        "branches": balance.branches,
        "history": balance.history,
        "history_rows": balance.history_rows,
    });
    Books { lines: vec![("books", sums)], json: ("balance", json), is_consistent, verdict }
}
