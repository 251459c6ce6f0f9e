//! Crash images and disk failures of a few fixed scenarios.
//!
//! A power cut is simulated at each disk operation of each scenario, and every kind of image that
//! the cut can leave is recovered and examined. A disk failure is also simulated at each operation.
//!
//! ```text
//!   scenario ─► runner ─► engine ─► recorder ─► disk   one run; a cut at each operation
//!                     cut × image ─► examine           recover, judge, recover again, use, close,
//!                                                      open
//!   scenario ─► runner ─► engine ─► failing disk       one run for each failure
//!                     end × image ─► examine
//! ```
//!
//! | module | contents |
//! | --- | --- |
//! | `scenarios`, `runner`, `work` | the scenarios, and the operations that they consist of |
//! | `patterned` | a scenario for each order of keys |
//! | `late_reads` | a scenario whose page reads are in flight while the power is cut |
//! | `setup` | a scenario on a kind of disk, and the recording of a run |
//! | `recorder` | the state of the disk after a power cut at each operation |
//! | `damage` | the kinds of damage at an operation, and their names |
//! | `examine` | the examination of one image |
//! | `seen` | the images that were examined before |
//! | `failing` | a run with one failure, and the examination of its end |
//! | `lane` | the selection of the cases |

mod damage;
mod examine;
mod failing;
mod lane;
mod late_reads;
mod patterned;
mod recorder;
mod runner;
mod scenarios;
mod seen;
mod setup;
mod work;

pub use lane::{Choice, run};
pub(crate) use recorder::{Cut, Phase};
pub(crate) use setup::{Recording, Setup};
