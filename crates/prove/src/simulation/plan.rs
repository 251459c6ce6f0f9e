//! The choices that a seed determines before the run: options, workload, and the frequency of each
//! step.

use std::sync::Arc;

use clearway_testkit::Random;
use clearway_txn::EngineOptions;
use clearway_variants::{
    lock::{IntentMethod, LockVariants},
    log::{LogVariants, Strategy},
    txn::{EarlyRelease, RangeProtocol, TxnVariant},
};

use crate::{
    oracles::Violation,
    workloads::{Bank, Counters, Patterns, Phantoms, RandomKeys, Vanishing, Workload},
};

/// A step of the driver.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Step {
    /// Begin a transaction, if there is room for one.
    Begin,
    /// Run the next operation of a transaction.
    Operate,
    /// Make everything durable.
    FlushAll,
    /// Make the log durable up to one of the pending results.
    FlushSome,
    /// Take a checkpoint.
    Checkpoint,
    /// Visit sparse leaves.
    Maintain,
    /// Create or drop a table.
    ChangeTables,
    /// Close and open again.
    Reopen,
    /// Kill the process: its writes stay.
    Kill,
    /// Cut the power.
    Crash,
    /// Plan a fault of the disk for one of the next operations.
    Fault,
    /// Roll a transaction back, whatever its program does next.
    Abandon,
}

const STEPS: [Step; 12] = [
    Step::Begin,
    Step::Operate,
    Step::FlushAll,
    Step::FlushSome,
    Step::Checkpoint,
    Step::Maintain,
    Step::ChangeTables,
    Step::Reopen,
    Step::Kill,
    Step::Crash,
    Step::Fault,
    Step::Abandon,
];

/// The frequencies of the steps, in the order of [`STEPS`]; each profile tests another situation.
const PROFILES: [[u32; 12]; 7] = [
    // A mixture of all steps.
    [40, 300, 15, 15, 6, 6, 3, 1, 1, 5, 3, 4],
    // Rare flushes: early lock release, and readers that wait for the log.
    [60, 300, 1, 2, 1, 30, 0, 0, 0, 4, 1, 3],
    // Frequent checkpoints, at every stage of a commit.
    [40, 200, 10, 20, 60, 5, 1, 0, 1, 6, 1, 3],
    // Frequent crashes.
    [40, 150, 10, 10, 5, 3, 2, 1, 3, 25, 0, 3],
    // Frequent disk faults.
    [40, 250, 10, 15, 8, 5, 2, 1, 1, 3, 20, 3],
    // Rare crashes: trees grow, rings wrap, logs fill up.
    [60, 500, 15, 15, 3, 8, 2, 1, 0, 1, 0, 4],
    // Frequent upkeep.
    [40, 250, 10, 15, 8, 40, 6, 1, 1, 5, 1, 6],
];

/// The frequencies of the steps of a run without crashes and faults, after which pages may be
/// unreachable for a reason.
const UNDISTURBED: [u32; 12] = [60, 400, 15, 15, 4, 8, 1, 1, 0, 0, 0, 6];

/// In one of this many openings, the thread does at once what blocks a task, and the deallocations
/// that transactions have deferred.
const JOBS_AT_ONCE_ONE_IN: u64 = 4;
/// One of this many transactions blocks in a run whose transactions are tasks.
const BLOCKING_ONE_IN: u64 = 8;
/// The same number for runs with two-stage execution, which tasks do not have.
const BLOCKING_ONE_IN_STAGED: u64 = 3;
/// In one of this many runs transactions have two stages.
const STAGES_ONE_IN: u64 = 2;
/// In one of this many runs with tasks most values are large.
const LARGE_VALUES_ONE_IN: u64 = 5;
/// The smallest log capacity that has room for every row.
const ROOM_FOR_ROWS: u64 = 64 << 10;

/// See the module.
pub(super) struct Plan {
    pub(super) workload: Box<dyn Workload>,
    /// The maximum number of concurrent transactions.
    pub(super) slots: usize,
    pub(super) steps: u64,
    /// The number of refused lock requests after which a transaction is rolled back.
    pub(super) refusals_max: u32,
    pub(super) has_posix_metadata: bool,
    /// True if most transactions are tasks: with the odd seeds.
    pub(super) has_tasks: bool,
    weights: [u32; 12],
    node_bytes: usize,
    segment_bytes: u64,
    capacity_bytes: u64,
    redo_check: bool,
    /// True if some transactions lock a whole table.
    pub(super) locks_tables: bool,
    /// True if most values are large, and operations are often dropped with their transactions.
    pub(super) has_large_values: bool,
    /// True if some transactions that block have two stages, or may have.
    pub(super) has_stages: bool,
    escalate_after: Option<usize>,
    range_protocol: RangeProtocol,
    intent_locks: IntentMethod,
}

impl Plan {
    pub(super) fn new(seed: u64, random: &mut Random) -> Plan {
        let node_bytes = random.pick(&[256, 256, 320, 512, 1024, 8192, 8192]);
        let workload: Box<dyn Workload> = match random.below(13) {
            0..4 => Box::new(RandomKeys::new(random)),
            4 => Box::new(Bank::new(random)),
            5 => Box::new(Counters::new(random)),
            6..8 => Box::new(Phantoms::new(random)),
            8 | 9 => Box::new(Vanishing::new(random)),
            _ => Box::new(Patterns::new(random, node_bytes)),
        };
        let segment_bytes = random.pick(&[16 << 10, 32 << 10, 64 << 10]);
        let mut plan = Plan {
            workload,
            slots: random.between(2, 8) as usize,
            steps: random.pick(&[60, 150, 150, 400]),
            refusals_max: random.pick(&[2, 5, 20]),
            has_posix_metadata: random.one_in(2),
            has_tasks: seed % 2 == 1,
            weights: random.pick(&PROFILES),
            node_bytes,
            segment_bytes,
            capacity_bytes: (segment_bytes * random.pick(&[2, 3, 4, 8, 64])).max(ROOM_FOR_ROWS),
            redo_check: false,
            locks_tables: false,
            has_large_values: false,
            has_stages: false,
            escalate_after: None,
            range_protocol: RangeProtocol::default(),
            intent_locks: IntentMethod::default(),
        };
        // A random stream of its own, so that these draws do not change the others.
        let mut rare = Random::new(!seed);
        // The page images for the redo check fill half of the log.
        plan.redo_check = rare.one_in(3) && plan.capacity_bytes >= 2 * ROOM_FOR_ROWS;
        plan.locks_tables = rare.one_in(3);
        plan.escalate_after = rare.one_in(4).then(|| rare.between(1, 12) as usize);
        if rare.one_in(4) {
            plan.range_protocol = rare.pick(&[RangeProtocol::Lomet, RangeProtocol::NextKey]);
        }
        if rare.one_in(4) {
            plan.intent_locks = rare.pick(&[IntentMethod::MainTable, IntentMethod::Inherited]);
        }
        plan.has_large_values = plan.has_tasks && rare.one_in(LARGE_VALUES_ONE_IN);
        if plan.has_large_values {
            plan.workload = Box::new(RandomKeys::with_large_values(&mut rare));
            plan.weights = rare.pick(&[plan.weights, UNDISTURBED, UNDISTURBED]);
            plan.capacity_bytes = plan.capacity_bytes.max(segment_bytes * rare.pick(&[2, 8, 16]));
        }
        plan.has_stages = rare.one_in(STAGES_ONE_IN);
        plan
    }

    /// The number of transactions of which one blocks, in a run whose transactions are tasks.
    pub(super) fn blocking_one_in(&self) -> u64 {
        if self.has_stages { BLOCKING_ONE_IN_STAGED } else { BLOCKING_ONE_IN }
    }

    /// Adds the current pattern of keys to the message of a violation.
    pub(super) fn with_pattern(&self, violation: Violation) -> Violation {
        match self.workload.drawn().last() {
            None => violation,
            Some(pattern) => {
                let detail = format!("{} [{pattern}]", violation.detail);
                Violation { detail, ..violation }
            }
        }
    }

    pub(super) fn node_bytes(&self) -> usize {
        self.node_bytes
    }

    pub(super) fn segment_bytes(&self) -> u64 {
        self.segment_bytes
    }

    pub(super) fn step(&self, random: &mut Random) -> Step {
        STEPS[random.weighted(&self.weights)]
    }

    /// Returns the options for the next opening. Options that are not properties of the database
    /// change each time.
    pub(super) fn options(&self, random: &mut Random) -> EngineOptions {
        let mut options = EngineOptions::simulation();
        options.node_bytes = self.node_bytes;
        options.redo_check = self.redo_check;
        options.simulated_jobs = !random.one_in(JOBS_AT_ONCE_ONE_IN);
        options.escalate_after = self.escalate_after;
        options.lock = options.lock.lock_variant(self.intent_locks);
        let early_release = match random.below(10) {
            0 => EarlyRelease::Shared,
            1 => EarlyRelease::None,
            _ => EarlyRelease::All,
        };
        options.parts = Arc::new(TxnVariant { protocol: self.range_protocol, early_release });
        options.log.ring_bytes = random.pick(&[64 << 10, 64 << 10, 256 << 10]);
        options.log.segment_bytes = self.segment_bytes;
        options.log.capacity_bytes = self.capacity_bytes;
        options.log = options.log.log_strategy(random.pick(&Strategy::ALL));
        // Tasks and fetch stages wait for pages in small caches only. Of those of 96 pages, four
        // operations may have pins at a time; of those of 64, two.
        let pages = match (self.has_tasks, self.has_stages) {
            (true, _) => [64, 64, 96, 96],
            (false, true) => [64; 4],
            (false, false) => [64, 64, 128, 512],
        };
        options.pool.cache_bytes = 8192 * random.pick(&pages);
        options.pool.max_bytes = 64 << 20;
        options.pool.batch_pages = random.pick(&[1, 4, 16]);
        options.pool.batches_in_flight = 1;
        options.lock.buckets = random.pick(&[1, 16, 1024, 1024]);
        options.lock.intents = random.pick(&[1, 16, 64]);
        options.lock.wait_limit = Some(std::time::Duration::ZERO);
        options
    }
}

#[cfg(test)]
mod tests {
    use clearway_testkit::Drawn;

    use super::*;

    /// Runs a tenth of the number of seeds of a CI run, from each of several first seeds.
    #[test]
    fn the_seeds_of_a_run_draw_every_pattern() {
        for first in [0u64, 1 << 20, 0x9131_bac0 << 20] {
            let mut drawn = Drawn::default();
            for seed in first..first + 2000 {
                let plan = Plan::new(seed, &mut Random::new(seed));
                plan.workload.drawn().iter().for_each(|pattern| drawn.note(pattern));
            }
            assert_eq!(drawn.missing(), Vec::<&str>::new(), "from {first:#x}");
        }
    }
}
