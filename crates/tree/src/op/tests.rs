//! Encodings, and redo against forward processing.

mod codec;
pub(crate) mod memory;
mod replay;
