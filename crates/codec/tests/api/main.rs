//! Tests of the encodings by the crate's interface.

mod arbitrary_bytes;
mod borrowed;
mod errors;
mod format;
mod order;
mod prefixes;
mod structures;
mod values;

use proptest::{
    prelude::*,
    sample::select,
    test_runner::{Config, TestRunner},
};

/// Runs `law` for values of a strategy, and panics with the smallest ones that break it.
fn hold<S: Strategy>(values: S, law: impl Fn(S::Value)) {
    let config = Config { failure_persistence: None, cases: 2_000, ..Config::default() };
    let result = TestRunner::new(config).run(&values, |value| {
        law(value);
        Ok(())
    });
    result.unwrap_or_else(|broken| panic!("{broken}"));
}

/// Short byte strings of few different bytes, so that many are equal or begin with each other.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(select(&[0, 1, 2, 3, b'a', 0xFE, 0xFF]), 0..4)
}

/// Short strings of few different characters.
fn text() -> impl Strategy<Value = String> {
    let characters = select(&['\0', '\u{1}', '\u{2}', '\u{3}', 'a', 'ÿ', '\u{FFFF}', '\u{10FFFF}']);
    prop::collection::vec(characters, 0..4).prop_map(|all| all.into_iter().collect())
}
