//! Variants of the crate `clearway-lock`.
