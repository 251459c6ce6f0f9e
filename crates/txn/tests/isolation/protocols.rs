//! The specs under the other range-lock protocols.
//!
//! A spec's events are those of the default protocol. Under another one more waits, and a session
//! that waits does its further steps later, so the events are not the same ones. What must hold:
//!
//! - It is serializable: see `serial`, which judges the default protocol as well.
//! - The events are those of the file up to the first *added conflict*: a step that waits, finds
//!   that it would block, or dies in a deadlock, and in the file does not. So a protocol that
//!   reads something else, or lets something pass that must wait, is found out even where the
//!   result happens to be serializable.

use std::collections::HashMap;

use clearway_lock::{LockStats, RangeMode};
use clearway_variants::txn::RangeProtocol;

use crate::{
    files::load,
    run::{self, Locking},
    serial,
    spec::Spec,
};

const OTHERS: [RangeProtocol; 2] = [RangeProtocol::Lomet, RangeProtocol::NextKey];

/// Runs one file under all protocols. Answers in how many permutations each adds a conflict.
pub(crate) fn check(name: &str) -> HashMap<&'static str, usize> {
    let (path, _, spec) = load(name);
    let place = |line: usize| format!("{}:{line}", path.display());
    let mut added = HashMap::new();
    for permutation in &spec.permutations {
        let expected = &permutation.expected;
        let ran = run::permutation(&spec, permutation, Some(expected), &Locking::default());
        serial::judge(&spec, &ran).unwrap_or_else(|e| panic!("{}: {e}", place(permutation.line)));
        for protocol in OTHERS {
            let locking = Locking { protocol, ..Locking::default() };
            let ran = run::permutation(&spec, permutation, None, &locking);
            let shown = || format!("{} {protocol:?}: {:#?}", place(permutation.line), ran.events);
            serial::judge(&spec, &ran).unwrap_or_else(|error| panic!("{}: {error}", shown()));
            match first_difference(expected, &ran.events) {
                Difference::None => {}
                Difference::Conflict => *added.entry(named(protocol)).or_default() += 1,
                Difference::Other(event) => panic!("{}\nis no conflict: {event}", shown()),
            }
        }
    }
    added
}

fn named(protocol: RangeProtocol) -> &'static str {
    match protocol {
        RangeProtocol::Orthogonal => "orthogonal",
        RangeProtocol::Lomet => "lomet",
        RangeProtocol::NextKey => "next key",
    }
}

enum Difference {
    None,
    /// A conflict that the file does not have.
    Conflict,
    Other(String),
}

fn first_difference(expected: &[String], events: &[String]) -> Difference {
    let at = (0..).find(|&at| expected.get(at) != events.get(at) || at >= expected.len());
    match at.and_then(|at| events.get(at)) {
        None if events.len() == expected.len() => Difference::None,
        None => Difference::Other("an event is missing".into()),
        Some(event) => match event.split_once(' ') {
            Some((_, "waits" | "would block" | "deadlock")) => Difference::Conflict,
            _ => Difference::Other(event.clone()),
        },
    }
}

/// The comparison is not vacuous: the protocols differ.
#[test]
fn protocols_add_conflicts_and_next_key_the_most() {
    let added = check("range_modes");
    let of = |protocol| added.get(&named(protocol)).copied().unwrap_or(0);
    assert_eq!(of(RangeProtocol::Lomet), pairs_set_apart(RangeProtocol::Lomet), "{added:?}");
    assert_eq!(of(RangeProtocol::NextKey), pairs_set_apart(RangeProtocol::NextKey), "{added:?}");
    assert!(of(RangeProtocol::NextKey) > of(RangeProtocol::Lomet), "{added:?}");
    assert!(of(RangeProtocol::Lomet) > 0, "{added:?}");
}

/// Counts the pairs of modes that conflict under this protocol only, of the modes that the spec's
/// operations want.
fn pairs_set_apart(protocol: RangeProtocol) -> usize {
    use RangeMode as M;
    let wanted = [M::SN, M::NS, M::XN, M::NX, M::SS, M::XS];
    let pairs = wanted.iter().flat_map(|&a| wanted.map(|b| (a, b)));
    let is_added =
        |(a, b): &(M, M)| a.compatible(*b) && !protocol.taken(*a).compatible(protocol.taken(*b));
    pairs.filter(is_added).count()
}

/// For the judge itself: it finds a lost update, and a read of what never was.
#[test]
fn the_judge_finds_anomalies() {
    let text = "setup\n  put a 1\nsession one\n  r1 get a\n  w1 put a 2\n  c1 commit\n\
                session two\n  r2 get a\n  w2 put a 3\n  c2 commit\n";
    let spec: Spec = crate::spec::parse(text).unwrap();
    let ran = |events: &[&str], contents: &str| run::Ran {
        events: events.iter().map(ToString::to_string).collect(),
        contents: contents.into(),
        stats: LockStats::default(),
    };
    let serial = ["r1 1", "w1 ok", "r2 waits", "c1 durable", "r2 2", "w2 ok", "c2 durable"];
    assert_eq!(serial::judge(&spec, &ran(&serial, "a=3")), Ok(()));
    assert!(serial::judge(&spec, &ran(&serial, "a=2")).is_err(), "a lost update");
    let lost = ["r1 1", "r2 1", "w1 ok", "c1 durable", "w2 ok", "c2 durable"];
    assert!(serial::judge(&spec, &ran(&lost, "a=3")).is_err(), "both read the old value");
    let died = ["r1 1", "w1 ok", "r2 2", "w1 deadlock", "w2 ok", "c2 durable"];
    assert!(serial::judge(&spec, &ran(&died, "a=3")).is_err(), "a dirty read");
}
