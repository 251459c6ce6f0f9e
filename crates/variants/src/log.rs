//! Variants of the crate `clearway-log`.
