//! `clearway bench tpcb`.

use clap::Args as Group;
use clearway_workloads::{
    ClearwayStore, Outcome as Run, Skew, Tpcb, TpcbBalance, TpcbOrder, TpcbScale,
};
use serde_json::{Value, json};

use super::{Bench, CheckResult, Data};
use crate::units::grouped;

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
    /// Order of the statements: standard (the branch comes last) or branch-first
    #[arg(long, default_value_t = TpcbOrder::Standard)]
    pub(crate) order: TpcbOrder,
}

impl TpcbArgs {
    fn scale(&self) -> TpcbScale {
        TpcbScale { branches: self.branches, accounts_per_branch: self.accounts }
    }
}

impl Bench for TpcbArgs {
    type Loaded = Tpcb<ClearwayStore>;
    /// The number of history rows.
    type Before = u64;

    const NAME: &'static str = "tpcb";
    const DATA: &'static str = "bank";
    const INCONSISTENT: &'static str = "the bank's books do not balance";

    fn rows(&self) -> u64 {
        self.scale().rows()
    }

    fn prepare(
        &self,
        store: &ClearwayStore,
        threads: usize,
        progress: &(dyn Fn(u64) -> bool + Sync),
    ) -> clearway::Result<Self::Loaded> {
        let mut bank = Tpcb::prepare(store, self.scale(), self.skew, threads, progress)?;
        bank.set_order(self.order);
        Ok(bank)
    }

    fn before(&self, data: &Data<'_, Self>, _is_new: bool) -> clearway::Result<u64> {
        data.loaded.history_rows(data.store)
    }

    fn check(
        &self,
        data: &Data<'_, Self>,
        before: &u64,
        run: &Run,
    ) -> clearway::Result<CheckResult> {
        Ok(check_result(&data.loaded.check(data.store, data.threads)?, *before, run.commits))
    }

    fn options(&self) -> Value {
        json!({
            "branches": self.branches,
            "accounts_per_branch": self.accounts,
            "skew": self.skew.to_string(),
            "order": self.order.to_string(),
        })
    }
}

/// Returns the result of the check. The data are consistent if all sums agree and exactly the
/// acknowledged transactions have a history row.
pub(super) fn check_result(
    balance: &TpcbBalance,
    history_before: u64,
    commits: u64,
) -> CheckResult {
    let counted = balance.history_rows == history_before + commits;
    let verdict = if counted && balance.is_consistent() {
        Ok(format!("{} history rows", grouped(balance.history_rows)))
    } else {
        Err(format!(
            "{} branches off, {} rows missing or too many, {} history rows for {commits} commits",
            balance.branches_off,
            balance.rows_off,
            balance.history_rows - history_before.min(balance.history_rows),
        ))
    };
    let text = format!(
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
    CheckResult { text, json: ("balance", json), verdict }
}
