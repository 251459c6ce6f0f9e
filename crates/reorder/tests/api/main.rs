//! The tests of the crate's interface, a file for each subject. They are one program, since each
//! program links the whole crate again.

mod dumps;
mod explained;
mod measured;
mod payment;
mod split;
mod verify;
mod verify_cases;
mod verify_inputs;
mod verify_interfaces;
mod verify_mock;
mod verify_outside;
