//! The log with each strategy of insertion.

#[path = "../../../log/tests/scenario/mod.rs"]
mod scenario;

use clearway_sync::schedules::check;
use clearway_variants::log::{LogVariants, Strategy};
use scenario::wrapping::{options, wraps_with};

#[test]
fn ring_wraps_under_several_writers_with_every_strategy() {
    for strategy in Strategy::ALL {
        let name = format!("log wrap, {strategy:?}");
        check(&name, 250, move || wraps_with(options().log_strategy(strategy)));
    }
}
