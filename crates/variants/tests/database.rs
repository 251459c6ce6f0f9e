//! Databases with other parts.

#[path = "../../clearway/tests/api/storm.rs"]
mod storm;

use clearway::Options;
use clearway_variants::lock::{DeadlockMethod, LockVariants, VictimPolicy};

#[test]
fn victims_of_deadlocks_get_through_a_storm_under_other_policies() {
    storm::storm(Options::in_memory().lock_variant(VictimPolicy::KillYoung));
    storm::storm(Options::in_memory().lock_variant(DeadlockMethod::WoundWait));
}
