//! Variants under many schedules, on shuttle's threads. A lost wake-up is a hang, which shuttle
//! reports with the schedule.
#![cfg(shuttle)]

#[path = "scheduled/lock.rs"]
mod lock;
#[path = "scheduled/log.rs"]
mod log;
