//! `clearway bench tatp`.

use clap::Args as Group;
use clearway_workloads::{
    ClearwayStore, Outcome as Run, Tatp, TatpAudit, TatpScale, TatpTransaction,
};
use serde_json::{Value, json};

use super::{Bench, CheckResult, Data, Figure};
use crate::{args::RunArgs, units::grouped};

#[derive(Group, Debug)]
pub(crate) struct TatpArgs {
    /// Subscribers, each with some eleven rows
    #[arg(long, value_name = "N", default_value_t = 100_000,
          value_parser = clap::value_parser!(u32).range(1..i64::from(u32::MAX)))]
    pub(crate) subscribers: u32,
    /// Transactions of this type only: get-subscriber-data, get-new-destination, get-access-data,
    /// update-subscriber-data, update-location, insert-call-forwarding or delete-call-forwarding
    #[arg(long, value_name = "TYPE")]
    pub(crate) only: Option<TatpTransaction>,
}

impl TatpArgs {
    fn scale(&self) -> TatpScale {
        TatpScale { subscribers: self.subscribers }
    }
}

impl Bench for TatpArgs {
    type Loaded = Tatp<ClearwayStore>;
    /// The number of rows in `CALL_FORWARDING`.
    type Before = u64;

    const NAME: &'static str = "tatp";
    const DATA: &'static str = "subscribers";
    const INCONSISTENT: &'static str = "the subscribers' tables do not agree";

    fn rows(&self) -> u64 {
        self.scale().rows()
    }

    fn prepare(
        &self,
        store: &ClearwayStore,
        threads: usize,
        progress: &(dyn Fn(u64) -> bool + Sync),
    ) -> clearway::Result<Self::Loaded> {
        Tatp::prepare(store, self.scale(), self.only, threads, progress)
    }

    fn before(&self, data: &Data<'_, Self>, _is_new: bool) -> clearway::Result<u64> {
        data.loaded.call_forwarding_rows(data.store)
    }

    fn check(
        &self,
        data: &Data<'_, Self>,
        before: &u64,
        run: &Run,
    ) -> clearway::Result<CheckResult> {
        let expected = forwardings(*before, run, &data.loaded.unsuccessful());
        Ok(check_result(&data.loaded.check(data.store, data.threads)?, expected))
    }

    fn figures(&self, network: &Self::Loaded, _args: &RunArgs, run: &Run) -> Vec<Figure> {
        let found_nothing: u64 = network.unsuccessful().iter().sum();
        let all = (run.commits + run.rollbacks + run.failures).max(1);
        let share = (run.commits - found_nothing.min(run.commits)) as f64 / all as f64;
        let text = format!(
            "{:.2} % of all; {} found nothing, {} were rolled back",
            share * 100.0,
            grouped(found_nothing),
            grouped(run.rollbacks)
        );
        vec![Figure { label: "successful", text, field: "successful_share", value: share.into() }]
    }

    fn options(&self) -> Value {
        let only = self.only.map(TatpTransaction::name);
        json!({ "subscribers": self.subscribers, "only": only })
    }
}

/// Returns the number of rows that `CALL_FORWARDING` must have after the run: the rows before it,
/// plus the acknowledged inserts, minus the acknowledged deletes that found their row.
pub(super) fn forwardings(before: u64, run: &Run, found_nothing: &[u64]) -> u64 {
    let commits =
        |kind: TatpTransaction| run.types.get(kind as usize).map_or(0, |of_kind| of_kind.commits);
    let delete = TatpTransaction::DeleteCallForwarding;
    let nothing = found_nothing.get(delete as usize).copied().unwrap_or(0);
    (before + commits(TatpTransaction::InsertCallForwarding) + nothing)
        .saturating_sub(commits(delete))
}

/// Returns the result of the check. The tables agree if no row is off and `CALL_FORWARDING` has
/// `expected` rows.
pub(super) fn check_result(audit: &TatpAudit, expected: u64) -> CheckResult {
    let verdict = if audit.is_consistent() && audit.call_forwarding_rows == expected {
        let rows = audit.subscriber_rows
            + audit.index_rows
            + audit.access_info_rows
            + audit.special_facility_rows
            + audit.call_forwarding_rows;
        Ok(format!("{} rows", grouped(rows)))
    } else {
        Err(format!(
            "{} rows missing or too many, {} entries of the index off, {} references without \
             their row, {} rows with wrong values, {} forwardings instead of {expected}",
            audit.rows_off,
            audit.index_off,
            audit.references_off,
            audit.values_off,
            audit.call_forwarding_rows,
        ))
    };
    let text = format!(
        "{} subscribers, {} access rows, {} facilities, {} forwardings",
        grouped(audit.subscriber_rows),
        grouped(audit.access_info_rows),
        grouped(audit.special_facility_rows),
        grouped(audit.call_forwarding_rows)
    );
    let json = json!({
        "subscriber_rows": audit.subscriber_rows,
        "index_rows": audit.index_rows,
        "access_info_rows": audit.access_info_rows,
        "special_facility_rows": audit.special_facility_rows,
        "call_forwarding_rows": audit.call_forwarding_rows,
        "call_forwarding_rows_expected": expected,
        "rows_off": audit.rows_off,
        "index_off": audit.index_off,
        "references_off": audit.references_off,
        "values_off": audit.values_off,
    });
    CheckResult { text, json: ("audit", json), verdict }
}
