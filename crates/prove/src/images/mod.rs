//! Every crash of a few scripts: the power goes at each of their operations, and everything that it
//! could leave is recovered and looked at. And every failure: the disk fails at each of them.
//!
//! ```text
//!   scripts ─► play ─► engine ─► tape ─► disk      the script runs once; a cut at each operation
//!                        cut × image ─► examine    recover, judge, recover again, use, close, open
//!   scripts ─► play ─► engine ─► failing disk      the script runs once for each failure
//!                        end × image ─► examine
//! ```
//!
//! | module | what it is |
//! | --- | --- |
//! | `scripts`, `play`, `work` | what is done, and with what hands |
//! | `patterned` | a script for each order of keys |
//! | `stage` | a script on a kind of disk, performed |
//! | `tape` | what the power leaves at each operation |
//! | `damage` | what goes wrong at an operation, and its name |
//! | `examine` | one image, looked at |
//! | `seen` | which images need no second look |
//! | `failing` | one failure, and what comes after it |
//! | `lane` | which of all those cases run |

mod damage;
mod examine;
mod failing;
mod lane;
mod patterned;
mod play;
mod scripts;
mod seen;
mod stage;
mod tape;
mod work;

pub use lane::{Choice, run};
pub(crate) use stage::{Performance, Stage};
pub(crate) use tape::{Cut, Standing};
