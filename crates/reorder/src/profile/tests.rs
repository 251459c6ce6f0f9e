mod runtime;

use std::fs;

use clearway_testkit::Random;

use super::*;

fn times(all: &[u64]) -> Times {
    let mut times = Times::default();
    all.iter().for_each(|&time| times.add(time));
    times
}

fn profile(key: &Key, all: &[u64]) -> Profile {
    let queries = BTreeMap::from([(key.clone(), times(all))]);
    Profile { queries, ..Profile::default() }
}

fn key() -> Key {
    Key::new("payment", "UPDATE warehouse SET ytd = ytd + 1", 0)
}

/// Reads a profile from a text, and returns the message if it is refused.
fn refused(text: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("p.json");
    fs::write(&path, text).unwrap();
    let message = Profile::read(&path).unwrap_err().to_string();
    message.replace(&format!("{}", path.display()), "p.json")
}

#[test]
fn texts_that_differ_in_white_space_are_the_same_query() {
    let same = Key::new("f", "  SELECT 'a  b',\n\t\"c  d\" FROM t ; ", 0);
    assert_eq!(same.sql, "SELECT 'a  b', \"c  d\" FROM t");
    assert_eq!(same, Key::new("f", &same.sql, 0));
    assert_ne!(same, Key::new("f", "SELECT 'a b', \"c  d\" FROM t", 0));
}

#[test]
fn mean_and_deviation_are_those_of_all_executions() {
    let times = times(&[2, 4, 4, 4, 5, 5, 7, 9]);
    assert_eq!((times.mean(), times.deviation()), (Some(5.0), Some(2.0)));
    let none = Times::default();
    assert_eq!((none.mean(), none.deviation(), none.p5()), (None, None, None));
}

#[test]
fn percentile_is_within_a_sixteenth_of_the_exact_one() {
    let mut random = Random::new(6);
    for bits in [1, 4, 5, 10, 33, 63] {
        let mut all: Vec<u64> = (0..2_000).map(|_| random.below(1 << bits)).collect();
        let p5 = times(&all).p5().unwrap();
        all.sort_unstable();
        let (low, high) = (all[98] as f64, all[101] as f64);
        assert!(low * 0.93 <= p5 && p5 <= high * 1.07 + 1.0, "{bits}: {low} {p5} {high}");
    }
    let longest = times(&[u64::MAX]);
    assert_eq!(longest.buckets, BTreeMap::from([(BUCKETS - 1, 1)]));
}

#[test]
fn merged_profile_is_that_of_all_executions() {
    let (one, other) = ([5, 100, 7_000], [6, 100, 123_456]);
    let mut merged = profile(&key(), &one);
    merged.merge(profile(&key(), &other));
    let second = Key { ordinal: 1, ..key() };
    merged.merge(profile(&second, &other));
    assert_eq!(merged.queries[&key()], times(&[one, other].concat()));
    assert_eq!(merged.queries[&second], times(&other));
}

#[test]
fn weight_is_the_deviation_or_the_wait() {
    let (slow, fast) = ([1_000, 1_000, 9_000, 9_000], [3; 40]);
    let mut profile = profile(&key(), &slow);
    let cost = profile.weight(&key(), Weights::Stddev).unwrap();
    assert_eq!(cost.weight, 4_000);
    // The bucket of the shortest time begins with 992.
    assert_eq!(profile.weight(&key(), Weights::Wait).unwrap().weight, 5_000 - 992);
    profile.merge_single_client(self::profile(&key(), &fast));
    let wait = profile.weight(&key(), Weights::Wait).unwrap().weight;
    assert!((4_996..=4_997).contains(&wait), "{wait}");
    assert_eq!(profile.queries[&key()], times(&slow));
    assert_eq!(profile.weight(&Key { ordinal: 1, ..key() }, Weights::Wait), None);
}

#[test]
fn length_is_the_time_without_waits() {
    // Of 1000 executions, one did not wait.
    let waits = [vec![100], vec![80_000; 999]].concat();
    let mut profile = profile(&key(), &waits);
    let length = profile.weight(&key(), Weights::Stddev).unwrap().length;
    assert!((96..=104).contains(&length), "{length}");
    profile.merge_single_client(self::profile(&key(), &[90, 130]));
    assert_eq!(profile.weight(&key(), Weights::Stddev).unwrap().length, 110);
}

#[test]
fn costs_stay_within_what_the_solver_takes() {
    let cost = |all| profile(&key(), all).weight(&key(), Weights::Stddev).unwrap();
    assert_eq!(cost(&[0, 0]), UnitCost { weight: 0, length: 1 });
    assert_eq!(cost(&[0, 1 << 62]).weight, COST_MAX);
    assert_eq!(cost(&[1 << 62, 1 << 62]), UnitCost { weight: 0, length: COST_MAX });
}

#[test]
fn written_profile_is_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("p.json");
    let mut written = profile(&Key::new("f", "SELECT \"ä\\\"", 2), &[1, 50, 1 << 62]);
    written.merge_single_client(profile(&key(), &[7, 8]));
    written.merge(profile(&key(), &[70, 80]));
    written.write(&path).unwrap();
    assert_eq!(Profile::read(&path).unwrap(), written);
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains("\"mean\": 75.0") && text.contains("\"deviation\": 5.0"), "{text}");
    assert_eq!(text.matches("\"wait\": null").count(), 1, "of the single client");
}

#[test]
fn bad_profiles_are_refused_with_place_and_reason() {
    let query = |rest: &str| {
        let start = r#"{"version":1,"queries":[{"function":"f","sql":"S","ordinal":0"#;
        format!("{start},{rest}}}]}}")
    };
    let message = refused("{\"version\": 1,\n \"queries\": [");
    assert!(message.starts_with("p.json:2: this is not a profile: EOF"), "{message}");
    assert!(refused(&query(r#""count":1"#)).contains("missing field `sum`"));
    assert!(refused(r#"{"version":2,"queries":[]}"#).contains("has version 2"));
    let contradictions = [
        "2,\"sum\":5,\"squares\":25,\"buckets\":[[5,1]]",
        "1,\"sum\":5,\"squares\":25,\"buckets\":[[976,1]]",
        "2,\"sum\":5,\"squares\":25,\"buckets\":[[5,1],[5,1]]",
        "1,\"sum\":5,\"squares\":-1,\"buckets\":[[5,1]]",
    ];
    for counts in contradictions {
        let message = refused(&query(&format!("\"count\":{counts}")));
        assert!(message.contains("the query `f: S` contradict"), "{message}");
    }
    let missing = Profile::read("/nonexistent/p.json".as_ref()).unwrap_err();
    assert!(matches!(missing, BadProfile::Read(..)) && missing.to_string().contains("run the"));
    let unwritable = Profile::default().write("/nonexistent/p.json".as_ref()).unwrap_err();
    assert!(matches!(unwritable, BadProfile::Write(..)));
}
