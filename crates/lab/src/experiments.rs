//! The experiments. To add one, add a file here with a type that implements `Experiment`, its `mod`
//! line, and a line in the list. (Files without such a type hold code that several experiments
//! share.)

mod async_callers;
mod clients;
mod deadlock_methods;
mod deadlock_retries;
mod deadlock_victims;
mod deadlock_wait;
mod deleted_head;
mod early_release_reads;
mod elr_skew_latency;
mod elr_tpcb_self_similar;
mod elr_tpcc;
mod few_rows;
mod flush_pipelining;
mod flush_wait;
mod hot_row;
mod intent_locks;
mod key_orders;
mod lock_wait_from_io;
mod log_agnostic_bound;
mod log_insert;
mod log_insert_outliers;
mod log_insert_sizes;
mod log_insert_slots;
mod log_insert_threads;
mod log_read_back;
mod noise;
mod range_modes;
mod reorder;
mod reorder_aborts;
mod reorder_breakdown;
mod reorder_buffer_pool;
mod reorder_clients;
mod reorder_contention;
mod reorder_solver;
mod reorder_stored_procedure;
mod reorder_worst_order;
mod runs;
mod staging;
mod staging_cache;
mod staging_concurrency;
mod staging_cpu;
mod staging_memory;
mod staging_mis_prefetch;
mod staging_pipeline;
mod staging_speed;
mod tatp_components;

use crate::experiment::Entry;

/// All experiments.
pub(crate) const EXPERIMENTS: &[Entry] = &[
    Entry::of::<noise::Noise>(),
    Entry::of::<range_modes::RangeModes>(),
    Entry::of::<deadlock_wait::DeadlockWait>(),
    Entry::of::<deadlock_methods::DeadlockMethods>(),
    Entry::of::<deadlock_victims::DeadlockVictims>(),
    Entry::of::<deadlock_retries::DeadlockRetries>(),
    Entry::of::<intent_locks::IntentLocks>(),
    Entry::of::<early_release_reads::EarlyReleaseReads>(),
    Entry::of::<log_insert_threads::LogInsertThreads>(),
    Entry::of::<log_insert_sizes::LogInsertSizes>(),
    Entry::of::<log_insert_outliers::LogInsertOutliers>(),
    Entry::of::<log_insert_slots::LogInsertSlots>(),
    Entry::of::<elr_skew_latency::ElrSkewLatency>(),
    Entry::of::<elr_tpcb_self_similar::ElrTpcbSelfSimilar>(),
    Entry::of::<hot_row::HotRowClients>(),
    Entry::of::<log_agnostic_bound::LogAgnosticBound>(),
    Entry::of::<flush_wait::FlushWait>(),
    Entry::of::<flush_pipelining::FlushPipelining>(),
    Entry::of::<async_callers::AsyncCallers>(),
    Entry::of::<elr_tpcc::ElrTpcc>(),
    Entry::of::<tatp_components::TatpComponents>(),
    Entry::of::<key_orders::KeyOrders>(),
    Entry::of::<deleted_head::DeletedHead>(),
    Entry::of::<lock_wait_from_io::LockWaitFromIo>(),
    Entry::of::<staging_concurrency::StagingConcurrency>(),
    Entry::of::<staging_cache::StagingCache>(),
    Entry::of::<staging_mis_prefetch::StagingMisPrefetch>(),
    Entry::of::<staging_cpu::StagingCpu>(),
    Entry::of::<staging_memory::StagingMemory>(),
    Entry::of::<staging_speed::StagingSpeed>(),
    Entry::of::<staging_pipeline::StagingPipeline>(),
    Entry::of::<reorder_contention::Contention>(),
    Entry::of::<reorder_clients::Clients>(),
    Entry::of::<reorder_breakdown::Breakdown>(),
    Entry::of::<reorder_aborts::Aborts>(),
    Entry::of::<reorder_worst_order::WorstOrder>(),
    Entry::of::<reorder_buffer_pool::BufferPool>(),
    Entry::of::<reorder_stored_procedure::StoredProcedure>(),
    Entry::of::<reorder_solver::Solver>(),
];
