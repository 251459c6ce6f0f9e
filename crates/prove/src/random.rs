//! Numbers from a seed: the same on every machine. The test kit has the generator.

pub use clearway_testkit::Random;
