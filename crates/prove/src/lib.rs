//! The prover: runs the engine where everything that can go wrong does, and judges what is left.
//!
//! | lane | what runs |
//! | --- | --- |
//! | [`stepped`] | one thread, several transactions, a simulated disk; all from a seed |
//! | [`images`] | scripts, the power cut at each of their operations, and each operation failing |
//! | [`mutants`] | planted bugs, each hunted by the other lanes |
//! | [`flips`] | the databases of those scripts, with bits and sectors of their files changed |
//!
//! All lanes are judged by the same [`oracles`], and take what their transactions do from the same
//! [`workloads`]. A failure prints one line that repeats it.

mod cases;

pub mod flips;
pub mod images;
pub mod mutants;
pub mod oracles;
pub mod parts;
pub mod random;
pub mod stepped;
pub mod workloads;
