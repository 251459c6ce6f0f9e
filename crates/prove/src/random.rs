//! Pseudorandom numbers from a seed: the same on every machine. The generator is the test kit's.

pub use clearway_testkit::Random;
