//! Variants of the crate `clearway-txn`.
