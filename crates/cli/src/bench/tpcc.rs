//! `clearway bench tpcc`.

use clap::{Args as Group, ValueEnum};
use clearway_workloads::{
    ClearwayStore, Outcome as Run, Tpcc, TpccMix, TpccReport, TpccScale, TpccThink, TpccTransaction,
};
use serde_json::{Value, json};

use super::{Bench, CheckResult, Data, Figure};
use crate::{args::RunArgs, units::grouped};

#[derive(Group, Debug)]
pub(crate) struct TpccArgs {
    /// Warehouses, each with some 630,000 rows
    #[arg(long, value_name = "W", default_value_t = 2,
          value_parser = clap::value_parser!(u32).range(1..=200_000_000))]
    pub(crate) warehouses: u32,
    /// Load a fiftieth of the rows of every table other than warehouses and districts, for a trial
    #[arg(long)]
    pub(crate) small: bool,
    /// Transactions of this type only: new-order, payment, order-status, delivery or stock-level
    #[arg(long, value_name = "TYPE", value_parser = parse_type)]
    pub(crate) only: Option<TpccTransaction>,
    /// Keying and think times between a client's transactions. A warehouse has ten terminals, so 2
    /// warehouses need 20 clients. Some 20 s pass between two transactions of a client, so a run
    /// needs minutes
    #[arg(long, value_enum, default_value_t = ThinkArg::None)]
    pub(crate) think: ThinkArg,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
pub(crate) enum ThinkArg {
    /// No times: each client runs as fast as it can
    None,
    /// The times of the specification
    Spec,
}

impl From<ThinkArg> for TpccThink {
    fn from(arg: ThinkArg) -> TpccThink {
        match arg {
            ThinkArg::None => TpccThink::None,
            ThinkArg::Spec => TpccThink::Spec,
        }
    }
}

fn parse_type(text: &str) -> Result<TpccTransaction, String> {
    let found = TpccTransaction::ALL.into_iter().find(|kind| kind.name() == text);
    let names = || TpccTransaction::ALL.map(TpccTransaction::name).join(", ");
    found.ok_or_else(|| format!("{text:?} is none of {}", names()))
}

impl TpccArgs {
    fn scale(&self) -> TpccScale {
        match self.small {
            true => TpccScale::small(self.warehouses),
            false => TpccScale::standard(self.warehouses),
        }
    }

    /// Returns the new orders per minute. Without think times the specification does not let the
    /// figure be published as tpmC. With think times and all terminals, also returns its share of
    /// the possible maximum.
    pub(super) fn throughput(&self, clients: u32, run: &Run) -> Vec<Figure> {
        let minutes = run.elapsed.as_secs_f64().max(1e-9) / 60.0;
        let tpmc = commits(run, TpccTransaction::NewOrder) as f64 / minutes;
        let how = if self.thinks() { "with" } else { "without" };
        let text = format!("{} new orders a minute, {how} think times", grouped(tpmc as u64));
        let mut figures = vec![Figure { label: "tpmC", text, field: "tpmc", value: tpmc.into() }];
        if self.thinks() && self.only.is_none() && self.has_all_terminals(clients) {
            let most = TpccThink::MAXIMUM_TPMC;
            let share = tpmc / (most * f64::from(self.warehouses));
            let percent = share * 100.0;
            let text = format!("{percent:.1} % of {most} a warehouse, the most there can be");
            let (label, field) = ("tpmC share", "tpmc_share");
            figures.push(Figure { label, text, field, value: share.into() });
        }
        figures
    }

    /// Returns true if there are exactly as many clients as the specification's ten terminals for
    /// each warehouse.
    fn has_all_terminals(&self, clients: u32) -> bool {
        u64::from(clients) == 10 * u64::from(self.warehouses)
    }
}

/// The work done since the data were loaded.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Done {
    /// The number of orders entered.
    pub(super) orders: u64,
    /// The number of payments made.
    pub(super) payments: u64,
}

impl Done {
    fn of(report: &TpccReport) -> Done {
        Done { orders: report.orders, payments: report.payments }
    }

    /// Returns the expected work after `run`.
    pub(super) fn after(self, run: &Run) -> Done {
        Done {
            orders: self.orders + commits(run, TpccTransaction::NewOrder),
            payments: self.payments + commits(run, TpccTransaction::Payment),
        }
    }
}

fn commits(run: &Run, kind: TpccTransaction) -> u64 {
    run.types.get(kind as usize).map_or(0, |of_kind| of_kind.commits)
}

impl Bench for TpccArgs {
    type Loaded = Tpcc<ClearwayStore>;
    type Before = Done;

    const NAME: &'static str = "tpcc";
    const DATA: &'static str = "warehouses";
    const INCONSISTENT: &'static str = "the warehouses' data are not consistent";

    fn rows(&self) -> u64 {
        self.scale().rows()
    }

    fn prepare(
        &self,
        store: &ClearwayStore,
        threads: usize,
        progress: &(dyn Fn(u64) -> bool + Sync),
    ) -> clearway::Result<Self::Loaded> {
        let mix = self.only.map_or(TpccMix::Standard, TpccMix::Only);
        let supplier = Tpcc::prepare(store, self.scale(), mix, threads, progress)?;
        Ok(supplier.thinking(self.think.into()))
    }

    fn before(&self, data: &Data<'_, Self>, is_new: bool) -> clearway::Result<Done> {
        if is_new {
            return Ok(Done::default());
        }
        // Only a scan of all rows shows the work of earlier runs.
        Ok(Done::of(&data.loaded.check(data.store, 1)?))
    }

    fn check(
        &self,
        data: &Data<'_, Self>,
        before: &Done,
        run: &Run,
    ) -> clearway::Result<CheckResult> {
        Ok(check_result(&data.loaded.check(data.store, data.threads)?, before.after(run)))
    }

    fn figures(&self, _loaded: &Self::Loaded, args: &RunArgs, run: &Run) -> Vec<Figure> {
        self.throughput(args.clients, run)
    }

    fn thinks(&self) -> bool {
        self.think == ThinkArg::Spec
    }

    fn options(&self) -> Value {
        json!({
            "warehouses": self.warehouses,
            "small": self.small,
            "only": self.only.map(TpccTransaction::name),
            "think": if self.thinks() { "spec" } else { "none" },
        })
    }
}

/// Returns the result of the check. The data are consistent if all conditions hold and exactly the
/// acknowledged orders and payments are there.
pub(super) fn check_result(report: &TpccReport, expected: Done) -> CheckResult {
    let done = Done::of(report);
    let verdict = if report.is_consistent() && done == expected {
        Ok("all conditions hold".into())
    } else {
        Err(format!(
            "{} orders and {} payments for {} and {} commits; {report}",
            done.orders, done.payments, expected.orders, expected.payments
        ))
    };
    let text = format!(
        "{} orders, {} deliveries, {} payments since loading",
        grouped(report.orders),
        grouped(report.deliveries),
        grouped(report.payments)
    );
    let json = json!({
        "orders": report.orders,
        "orders_expected": expected.orders,
        "deliveries": report.deliveries,
        "payments": report.payments,
        "payments_expected": expected.payments,
        "conditions_failed": report.failed(),
    });
    CheckResult { text, json: ("audit", json), verdict }
}
