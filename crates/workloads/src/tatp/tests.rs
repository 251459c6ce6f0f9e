//! TATP over Clearway in memory.

use std::time::Duration;

use super::*;
use crate::{
    ClearwayStore, Commit, Operations, Outcome, Plan, drive,
    tatp::{
        population::Subscriber,
        rows::{TYPES, digits, forwarding_key, forwarding_row, subscriber_key, typed_key},
    },
};

const SCALE: TatpScale = TatpScale { subscribers: 500 };

type Network = Tatp<ClearwayStore>;
type Table = <ClearwayStore as Store>::Table;

fn store() -> ClearwayStore {
    let options = clearway::Options::in_memory().cache_size(32 << 20);
    ClearwayStore::new(options.open("tatp").unwrap())
}

fn prepare(store: &ClearwayStore, scale: TatpScale) -> Network {
    Tatp::prepare(store, scale, None, 2, &|_| true).unwrap()
}

fn plan(clients: u32, threads: usize, commit: Commit) -> Plan {
    let duration = Duration::from_millis(150);
    Plan { clients, threads: Some(threads), commit, duration, seed: 1 }
}

/// Runs one given transaction; `None` if it was rolled back.
fn perform_one(network: &Network, store: &ClearwayStore, work: Drawn) -> Option<bool> {
    let mut row = Vec::new();
    let tables = &network.tables;
    match store.run("one", |tx| perform::<ClearwayStore>(tables, tx, &work, &mut row)) {
        Ok(successful) => Some(successful),
        Err(error) if error.is_rollback() => None,
        Err(error) => panic!("{error}"),
    }
}

fn read(store: &ClearwayStore, table: &Table, key: &[u8]) -> Option<Vec<u8>> {
    let mut row = Vec::new();
    store.run("read", |tx| tx.get(table, key, &mut row)).unwrap().then_some(row)
}

fn put(store: &ClearwayStore, table: &Table, key: &[u8], row: &[u8]) {
    store.run("put", |tx| tx.put(table, key, row)).unwrap();
}

fn delete(store: &ClearwayStore, table: &Table, key: &[u8]) {
    store.run("delete", |tx| tx.delete(table, key)).unwrap();
}

#[test]
fn loading_reports_every_row_and_happens_once() {
    let (store, rows) = (store(), AtomicU64::new(0));
    let count = |n: u64| {
        rows.fetch_add(n, Ordering::SeqCst);
        true
    };
    let network = Tatp::prepare(&store, SCALE, None, 2, &count).unwrap();
    assert_eq!(rows.load(Ordering::SeqCst), SCALE.rows());
    let audit = network.check(&store, 2).unwrap();
    assert!(audit.is_consistent(), "{audit:?}");
    assert_eq!((audit.subscriber_rows, audit.index_rows), (500, 500));
    let others = audit.access_info_rows + audit.special_facility_rows;
    assert_eq!(1_000 + others + audit.call_forwarding_rows, SCALE.rows());
    assert_eq!(network.call_forwarding_rows(&store).unwrap(), audit.call_forwarding_rows);
    assert_eq!(network.check(&store, 7).unwrap(), audit);

    Tatp::prepare(&store, SCALE, None, 2, &count).unwrap();
    assert_eq!(rows.load(Ordering::SeqCst), SCALE.rows());
    let refused = Tatp::prepare(&store, TatpScale { subscribers: 501 }, None, 2, &count);
    assert!(refused.err().unwrap().to_string().contains("another scale"));
}

#[test]
fn loading_ends_on_request_and_what_is_half_loaded_is_refused() {
    let store = store();
    let stopped = Tatp::prepare(&store, SCALE, None, 2, &|_| false);
    assert!(stopped.err().unwrap().to_string().contains("interrupted"));
    let refused = Tatp::prepare(&store, SCALE, None, 2, &|_| true);
    assert!(refused.err().unwrap().to_string().contains("interrupted"));
}

/// Rows of CALL_FORWARDING that a run added, less those that it deleted.
fn forwardings_added(run: &Outcome, unsuccessful: u64) -> i64 {
    let commits = |kind: TatpTransaction| run.types[kind as usize].commits as i64;
    commits(TatpTransaction::InsertCallForwarding)
        - (commits(TatpTransaction::DeleteCallForwarding) - unsuccessful as i64)
}

#[test]
fn pipelined_and_blocking_runs_leave_all_tables_in_agreement() {
    let store = store();
    let mut rows = prepare(&store, SCALE).call_forwarding_rows(&store).unwrap() as i64;
    for (clients, threads, commit) in
        [(8, 2, Commit::Pipelined), (4, 4, Commit::Blocking), (1, 1, Commit::Blocking)]
    {
        let network = prepare(&store, SCALE);
        let run = drive(&store, &network, &plan(clients, threads, commit), &mut |_| true).unwrap();
        assert!(run.types.iter().all(|kind| kind.commits > 0), "{:?}", run.types);
        // Only these two have anything to roll back.
        for (kind, of_kind) in TatpTransaction::ALL.into_iter().zip(&run.types) {
            let rolls_back = matches!(
                kind,
                TatpTransaction::UpdateSubscriberData | TatpTransaction::InsertCallForwarding
            );
            assert_eq!(of_kind.rollbacks > 0, rolls_back, "{kind}");
        }
        let unsuccessful = network.unsuccessful();
        rows += forwardings_added(&run, unsuccessful[6]);
        let audit = network.check(&store, 2).unwrap();
        assert!(audit.is_consistent(), "{audit:?}");
        assert_eq!(audit.call_forwarding_rows as i64, rows);
    }
}

/// Of four types a subscriber has 2.5 in the mean, of three start times a facility 1.5. A call's
/// destination needs a facility (0.625) that is active (0.85) and a forwarding at that time: 0.2784
/// by enumeration of all that can be loaded and asked for. The choice of subscribers is not
/// uniform, so that the rows of the hot ones count for more, and a subscriber's rows are few.
#[test]
fn transactions_succeed_as_often_as_the_population_allows() {
    const TRANSACTIONS: u32 = 4_000;
    let scale = TatpScale { subscribers: 4_000 };
    let expected = [1.0, 0.625 * 0.85 * 0.2784, 0.625, 0.625, 1.0, 0.3125, 0.3125];
    for (kind, expected) in TatpTransaction::ALL.into_iter().zip(expected) {
        let store = store();
        let network = Tatp::prepare(&store, scale, Some(kind), 2, &|_| true).unwrap();
        let mut client = Workload::<ClearwayStore>::client(&network, 5);
        let mut successes = 0;
        // Inserts and deletes change what the next ones find, so few of them are done.
        let changes = matches!(
            kind,
            TatpTransaction::InsertCallForwarding | TatpTransaction::DeleteCallForwarding
        );
        let transactions = if changes { TRANSACTIONS / 4 } else { TRANSACTIONS };
        for _ in 0..transactions {
            let (drawn, work) = Workload::<ClearwayStore>::draw(&network, &mut client);
            assert_eq!(drawn, kind as usize);
            successes += u32::from(perform_one(&network, &store, work) == Some(true));
        }
        let share = f64::from(successes) / f64::from(transactions);
        assert!((share - expected).abs() < 0.04, "{kind}: {share}, not {expected}");
    }
}

#[test]
fn what_finds_nothing_is_counted_alike_pipelined_and_blocking() {
    let store = store();
    let kind = TatpTransaction::GetAccessData;
    for commit in [Commit::Pipelined, Commit::Blocking] {
        let network = Tatp::prepare(&store, SCALE, Some(kind), 2, &|_| true).unwrap();
        let run = drive(&store, &network, &plan(2, 1, commit), &mut |_| true).unwrap();
        assert_eq!(run.types[kind as usize].commits, run.commits);
        let share = network.unsuccessful()[kind as usize] as f64 / run.commits as f64;
        assert!((share - 0.375).abs() < 0.1, "{share}");
        assert_eq!(network.unsuccessful().iter().sum::<u64>(), network.unsuccessful()[2]);
    }
}

/// A subscriber that has one of the facilities and lacks another: its s_id, the one it has and the
/// one it lacks.
fn with_and_without_facility() -> (u32, u8, u8) {
    let kinds = |id: u32| Subscriber::draw(id).facilities().map(|(kind, _)| kind).collect();
    (1..=SCALE.subscribers)
        .find_map(|id| {
            let has: Vec<u8> = kinds(id);
            let lacked = (1..=TYPES).find(|kind| !has.contains(kind))?;
            Some((id, has[0], lacked))
        })
        .unwrap()
}

#[test]
fn an_update_without_its_facility_is_undone_and_one_with_it_is_not() {
    let store = store();
    let network = prepare(&store, SCALE);
    let (subscriber, has, lacks) = with_and_without_facility();
    let key = subscriber_key(subscriber);
    let before = read(&store, &network.tables.subscriber, &key).unwrap();
    let bit = before[rows::DIGITS] & 1 == 0;
    let update = |kind| Drawn::UpdateSubscriberData { subscriber, kind, bit, data: 77 };
    assert_eq!(perform_one(&network, &store, update(lacks)), None);
    assert_eq!(read(&store, &network.tables.subscriber, &key).unwrap(), before);

    assert_eq!(perform_one(&network, &store, update(has)), Some(true));
    let after = read(&store, &network.tables.subscriber, &key).unwrap();
    let mut wanted = before;
    wanted[rows::DIGITS] ^= 1;
    assert_eq!(after, wanted);
    let facility = read(&store, &network.tables.facility, &typed_key(subscriber, has)).unwrap();
    assert_eq!(facility[rows::DATA_A_AT], 77);
    assert!(network.check(&store, 1).unwrap().is_consistent());
}

#[test]
fn a_location_is_written_and_nothing_else() {
    let store = store();
    let network = prepare(&store, SCALE);
    let key = subscriber_key(42);
    let mut wanted = read(&store, &network.tables.subscriber, &key).unwrap();
    let update = Drawn::UpdateLocation { subscriber: 42, location: 0x0102_0304 };
    assert_eq!(perform_one(&network, &store, update), Some(true));
    let len = wanted.len();
    wanted[len - 4..].copy_from_slice(&[4, 3, 2, 1]);
    assert_eq!(read(&store, &network.tables.subscriber, &key), Some(wanted));
}

#[test]
fn a_forwarding_is_inserted_found_and_deleted_once() {
    let store = store();
    let network = prepare(&store, SCALE);
    let (subscriber, kind, lacks) = with_and_without_facility();
    let one = |work| perform_one(&network, &store, work);
    let row = forwarding_row(20, &digits(123));
    let insert = |kind| Drawn::InsertCallForwarding { subscriber, kind, start: 8, row };
    let delete_it = Drawn::DeleteCallForwarding { subscriber, kind, start: 8 };
    // Whatever was loaded goes first, and the facility is made active.
    for start in [0, 8, 16] {
        one(Drawn::DeleteCallForwarding { subscriber, kind, start });
    }
    let key = typed_key(subscriber, kind);
    let mut facility = read(&store, &network.tables.facility, &key).unwrap();
    facility[0] = 1;
    put(&store, &network.tables.facility, &key, &facility);

    assert_eq!(one(insert(lacks)), None);
    assert_eq!(one(insert(kind)), Some(true));
    assert_eq!(one(insert(kind)), None);
    let destination = |start, end| one(Drawn::GetNewDestination { subscriber, kind, start, end });
    assert_eq!(destination(8, 19), Some(true));
    assert_eq!(destination(16, 1), Some(true));
    // It starts later; it has ended by then.
    assert_eq!(destination(0, 19), Some(false));
    assert_eq!(destination(8, 20), Some(false));
    facility[0] = 0;
    put(&store, &network.tables.facility, &key, &facility);
    assert_eq!(destination(8, 19), Some(false));
    assert_eq!(one(delete_it), Some(true));
    assert_eq!(one(delete_it), Some(false));
}

/// A way to break the data.
type Spoil = fn(&ClearwayStore, &Tables<ClearwayStore>);

fn patch(store: &ClearwayStore, table: &Table, key: &[u8], at: usize, to: u8) {
    let mut row = read(store, table, key).unwrap();
    assert_ne!(row[at], to);
    row[at] = to;
    put(store, table, key, &row);
}

/// Subscriber 9 and its first facility.
fn facility_of_nine() -> [u8; 5] {
    typed_key(9, Subscriber::draw(9).facilities().next().unwrap().0)
}

#[test]
fn damage_of_every_sort_is_noticed_and_named() {
    fn of(audit: &TatpAudit) -> [bool; 4] {
        [audit.rows_off, audit.index_off, audit.references_off, audit.values_off].map(|n| n > 0)
    }
    let spoils: [(&str, [bool; 4], Spoil); 13] = [
        ("a subscriber is lost", [true, true, true, false], |store, tables| {
            delete(store, &tables.subscriber, &subscriber_key(9));
        }),
        ("a subscriber beyond the last", [true, true, false, false], |store, tables| {
            let row = Subscriber::draw(900).row;
            put(store, &tables.subscriber, &subscriber_key(900), &row);
        }),
        ("an entry of the index is lost", [true, true, false, false], |store, tables| {
            delete(store, &tables.by_number, &digits(9));
        }),
        ("the index leads to another", [false, true, false, true], |store, tables| {
            put(store, &tables.by_number, &digits(9), &rows::index_row(10));
        }),
        ("a row of ACCESS_INFO before the first", [true, false, true, false], |store, tables| {
            put(store, &tables.access, &typed_key(0, 1), b"0123456789");
        }),
        ("a column that no transaction writes", [false, false, false, true], |store, tables| {
            let kind = Subscriber::draw(9).access().next().unwrap().0;
            patch(store, &tables.access, &typed_key(9, kind), 9, b'a');
        }),
        ("a subscriber's number", [false, true, false, true], |store, tables| {
            patch(store, &tables.subscriber, &subscriber_key(9), 3, b'5');
        }),
        ("a location of zero", [false, false, false, true], |store, tables| {
            let mut row = Subscriber::draw(9).row;
            rows::write_vlr_location(&mut row, 0);
            put(store, &tables.subscriber, &subscriber_key(9), &row);
        }),
        ("a row that is too long", [false, false, false, true], |store, tables| {
            let row = [&Subscriber::draw(9).row[..], b"x"].concat();
            put(store, &tables.subscriber, &subscriber_key(9), &row);
        }),
        ("a facility's letters", [false, false, false, true], |store, tables| {
            patch(store, &tables.facility, &facility_of_nine(), 5, b'-');
        }),
        ("a forwarding without its facility", [false, false, true, false], |store, tables| {
            let (subscriber, _, lacks) = with_and_without_facility();
            let key = forwarding_key(subscriber, lacks, 8);
            put(store, &tables.forwarding, &key, &forwarding_row(9, &digits(1)));
        }),
        ("a forwarding that starts at five", [false, false, false, true], |store, tables| {
            let [a, b, c, d, kind] = facility_of_nine();
            let key = [a, b, c, d, kind, 5];
            put(store, &tables.forwarding, &key, &forwarding_row(9, &digits(1)));
        }),
        ("a forwarding that never ends", [false, false, false, true], |store, tables| {
            let [a, b, c, d, kind] = facility_of_nine();
            let key = [a, b, c, d, kind, 16];
            put(store, &tables.forwarding, &key, &forwarding_row(25, &digits(1)));
        }),
    ];
    for (name, expected, spoil) in spoils {
        let store = store();
        let network = prepare(&store, SCALE);
        spoil(&store, &network.tables);
        let audit = network.check(&store, 2).unwrap();
        assert_eq!(of(&audit), expected, "{name}: {audit:?}");
        assert!(!audit.is_consistent(), "{name}");
    }
}
