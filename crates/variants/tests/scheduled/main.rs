//! The variants under many schedules, like the tests of the same name of the engine's crates.
#![cfg(shuttle)]

mod lock;
