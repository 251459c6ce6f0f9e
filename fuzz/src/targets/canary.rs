//! The canary: it fails on two adjacent bytes, which any fuzzer must find.

use crate::target::Target;

pub(crate) fn target() -> Target {
    Target { name: "canary", examples: || vec![b"tweet tweet".to_vec()], take, must_fail: true }
}

fn take(input: &[u8]) -> Result<(), String> {
    assert!(!input.windows(2).any(|pair| pair == b"tv" || pair == [0xFF, 0xFF]), "the canary died");
    Ok(())
}
