//! Encodings, and redo against forward work.

mod codec;
pub(crate) mod memory;
mod replay;
