//! Lock waits as text and as JSON: by table, by transaction type, the hottest keys, the last
//! deadlocks.

use std::{
    fmt::{self, Write as _},
    time::{SystemTime, UNIX_EPOCH},
};

use clearway::{HotKey, LockWaits, WaitsOf};
use serde_json::{Value, json};

use crate::units::{grouped, time};

/// Numbers of hot keys and deadlocks in the text; the JSON object has all of them.
const KEYS_SHOWN: usize = 10;
const DEADLOCKS_SHOWN: usize = 3;

/// Returns the waits as text, empty if no transaction waited.
pub(crate) fn to_text(waits: &LockWaits) -> String {
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = write(waits, &mut text);
    text
}

fn write(waits: &LockWaits, out: &mut String) -> fmt::Result {
    write_part(out, "waits by table", &waits.tables)?;
    write_part(out, "waits by type", &waits.types)?;
    for (at, key) in waits.hot_keys.iter().take(KEYS_SHOWN).enumerate() {
        let name = if at == 0 { "hottest keys" } else { "" };
        writeln!(out, "{name:<18}{}", hot_key(key))?;
    }
    for (at, deadlock) in waits.deadlocks.iter().take(DEADLOCKS_SHOWN).enumerate() {
        let name = if at == 0 { "last deadlocks" } else { "" };
        writeln!(out, "{name:<18}{}", deadlock.cycle)?;
    }
    Ok(())
}

fn write_part(out: &mut String, name: &str, waits: &[WaitsOf]) -> fmt::Result {
    for (at, waits) in waits.iter().enumerate() {
        let (lead, counts) = (if at == 0 { name } else { "" }, &waits.counts);
        let us = |us: u64| time(us.saturating_mul(1_000));
        writeln!(
            out,
            "{lead:<18}{}: {} in {}, p50 {}, p99 {}, max {}, {} timed out, {} deadlocks",
            if waits.name.is_empty() { "(other)" } else { &waits.name },
            grouped(counts.waits),
            us(counts.wait_us),
            us(counts.quantile_us(0.5)),
            us(counts.quantile_us(0.99)),
            us(counts.wait_us_max),
            grouped(counts.timeouts),
            grouped(counts.deadlocks),
        )?;
    }
    Ok(())
}

fn hot_key(key: &HotKey) -> String {
    let waits = match (key.waits_min, key.waits_max) {
        (min, max) if min == max => grouped(min),
        (min, max) => format!("{} to {}", grouped(min), grouped(max)),
    };
    let took = time(key.wait_us.saturating_mul(1_000));
    format!("{} {}: {waits} waits in {took}", key.table, key.key)
}

/// Returns all the waits as a JSON object.
pub(crate) fn to_json(waits: &LockWaits) -> Value {
    let part = |part: &[WaitsOf]| part.iter().map(waits_json).collect::<Vec<_>>();
    let keys = waits.hot_keys.iter().map(|key| {
        json!({
            "table": key.table,
            "key": key.key.to_string(),
            "waits_min": key.waits_min,
            "waits_max": key.waits_max,
            "wait_us": key.wait_us,
        })
    });
    let deadlocks = waits.deadlocks.iter().map(|deadlock| {
        let members = deadlock.cycle.members.iter().map(|member| {
            json!({
                "transaction": member.txn.id.0,
                "type": member.txn.kind,
                "waits_for": {
                    "table": member.lock.table,
                    "key": member.lock.key.map(|key| key.to_string()),
                    "mode": member.wanted,
                },
                "holds_for_previous": member.holds,
            })
        });
        json!({ "unix_ms": unix_ms(deadlock.at), "victim_first": members.collect::<Vec<_>>() })
    });
    json!({
        "tables": part(&waits.tables),
        "types": part(&waits.types),
        "hot_keys": keys.collect::<Vec<_>>(),
        "deadlocks": deadlocks.collect::<Vec<_>>(),
    })
}

fn waits_json(waits: &WaitsOf) -> Value {
    let counts = &waits.counts;
    json!({
        "name": waits.name,
        "waits": counts.waits,
        "timeouts": counts.timeouts,
        "deadlocks": counts.deadlocks,
        "wait_us": counts.wait_us,
        "wait_us_p50": counts.quantile_us(0.5),
        "wait_us_p99": counts.quantile_us(0.99),
        "wait_us_max": counts.wait_us_max,
        "grant_to_poll": {
            "count": counts.grant_to_poll.count,
            "us": counts.grant_to_poll.us,
            "us_max": counts.grant_to_poll.us_max,
        },
    })
}

fn unix_ms(at: SystemTime) -> u64 {
    at.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use clearway::{Error, LockWait, Options};

    use super::*;

    #[test]
    fn a_wait_and_a_deadlock_are_shown() {
        let db = Options::in_memory().cache_size(8 << 20).open("").unwrap();
        let table = db.table("till").unwrap();
        db.transact("fill", |tx| {
            tx.put(&table, b"a", b"")?;
            tx.put(&table, b"b", b"")
        })
        .unwrap();
        assert_eq!(to_text(&db.lock_waits()), "");
        let (mut one, mut two) = (db.begin_as("sell"), db.begin_as("buy"));
        one.get_for_update(&table, b"a").unwrap();
        two.get_for_update(&table, b"b").unwrap();
        let died = std::thread::scope(|scope| {
            let wait = scope.spawn(move || one.get_for_update(&table, b"b").map(|_| ()));
            let table = db.table("till").unwrap();
            let mut result = two.get_for_update(&table, b"a").map(|_| ());
            drop(two);
            result = wait.join().unwrap().and(result);
            result.unwrap_err()
        });
        assert!(matches!(died, Error::Deadlock { .. }));
        let table = db.table("till").unwrap();
        let (mut holder, mut late) = (db.begin(), db.begin_as("count"));
        holder.put(&table, b"a", b"").unwrap();
        let limit = LockWait::For(Duration::from_millis(2));
        assert!(late.get_for_update_with(&table, b"a", limit).is_err());
        drop(late);

        let waits = db.lock_waits();
        let text = to_text(&waits);
        for part in [
            "waits by table    till: 3 in ",
            "count: 1 in ",
            ", 1 timed out, 0 deadlocks",
            "hottest keys      till \"a\": 2 waits in ",
            "waited for XN on key",
        ] {
            assert!(text.contains(part), "{part} in {text}");
        }
        let json = to_json(&waits);
        assert_eq!(json["tables"][0]["waits"], 3);
        assert_eq!(json["hot_keys"][0]["key"], "\"a\"");
        let members = json["deadlocks"][0]["victim_first"].as_array().unwrap();
        let mut types: Vec<_> = members.iter().map(|member| member["type"].as_str()).collect();
        types.sort_unstable();
        assert_eq!(types, [Some("buy"), Some("sell")]);
        assert_eq!(members[0]["waits_for"]["table"], "till");
    }
}
