//! The experiments. To add one: a file here with a constant `EXPERIMENT`, its `mod` line, and a
//! line in the list. (Files without one are what several of them share.)

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
mod log_agnostic_bound;
mod log_insert;
mod log_insert_outliers;
mod log_insert_sizes;
mod log_insert_slots;
mod log_insert_threads;
mod log_read_back;
mod noise;
mod range_modes;
mod runs;
mod tatp_components;

use crate::experiment::Experiment;

/// All experiments.
pub(crate) const EXPERIMENTS: &[Experiment] = &[
    noise::EXPERIMENT,
    range_modes::EXPERIMENT,
    deadlock_wait::EXPERIMENT,
    deadlock_methods::EXPERIMENT,
    deadlock_victims::EXPERIMENT,
    deadlock_retries::EXPERIMENT,
    intent_locks::EXPERIMENT,
    early_release_reads::EXPERIMENT,
    log_insert_threads::EXPERIMENT,
    log_insert_sizes::EXPERIMENT,
    log_insert_outliers::EXPERIMENT,
    log_insert_slots::EXPERIMENT,
    elr_skew_latency::EXPERIMENT,
    elr_tpcb_self_similar::EXPERIMENT,
    hot_row::EXPERIMENT,
    log_agnostic_bound::EXPERIMENT,
    flush_wait::EXPERIMENT,
    flush_pipelining::EXPERIMENT,
    elr_tpcc::EXPERIMENT,
    tatp_components::EXPERIMENT,
    key_orders::EXPERIMENT,
    deleted_head::EXPERIMENT,
];
