//! The experiments. To add one: a file here with a constant `EXPERIMENT`, its `mod` line, and a
//! line in the list. (`clients` runs what several of them have clients do, `few_rows` and `log_insert`
//! are workloads that several share, and `log_read_back` is a check.)

mod clients;
mod deadlock_methods;
mod deadlock_retries;
mod deadlock_victims;
mod deadlock_wait;
mod early_release_reads;
mod few_rows;
mod intent_locks;
mod log_insert;
mod log_insert_outliers;
mod log_insert_sizes;
mod log_insert_slots;
mod log_insert_threads;
mod log_read_back;
mod noise;
mod range_modes;

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
];
