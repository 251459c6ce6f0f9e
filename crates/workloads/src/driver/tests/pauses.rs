//! Clients that pause: a pause is never shorter than requested, and never delays other clients.

use std::{
    sync::{Arc, Mutex},
    time::Instant,
};

use clearway::{Error, Result, Table};
use clearway_sync::atomic::{AtomicU64, Ordering};

use super::{
    super::clients::{Clients, Next},
    *,
};
use crate::{ClearwayTransaction, Outstanding};

const ALL: [Commit; 3] = [Commit::Pipelined, Commit::Blocking, Commit::Unawaited];
/// Longer than any run here; a run that waits this long ends eventually, and the test fails.
const LONG: Duration = Duration::from_secs(60);

/// Clients that put a row of their own and pause before, each for a different time. The workload
/// itself checks that they do.
struct Paused {
    /// Client n pauses for the n-th duration; further clients pause for the last one.
    pauses: Vec<Duration>,
    clients: AtomicU64,
    /// The clients that submitted, in order.
    submitted: Mutex<Vec<u64>>,
}

struct Client {
    number: u64,
    pause: Duration,
    drawn: Instant,
    /// Draws and pauses so far.
    asked: (u64, u64),
}

impl Paused {
    fn new(pauses: &[Duration]) -> Paused {
        let (clients, submitted) = (AtomicU64::new(0), Mutex::default());
        Paused { pauses: pauses.to_vec(), clients, submitted }
    }
}

impl<S: Store> Workload<S> for Paused {
    type Client = Client;
    type Work = ();
    type Output = ();

    fn types(&self) -> &'static [&'static str] {
        &["put"]
    }

    fn client(&self, _seed: u64) -> Client {
        let number = self.clients.fetch_add(1, Ordering::SeqCst);
        let pause = self.pauses[(number as usize).min(self.pauses.len() - 1)];
        Client { number, pause, drawn: Instant::now(), asked: (0, 0) }
    }

    fn draw(&self, client: &mut Client) -> (usize, ()) {
        client.drawn = Instant::now();
        client.asked.0 += 1;
        (0, ())
    }

    fn pause(&self, client: &mut Client, kind: usize) -> Duration {
        client.asked.1 += 1;
        assert_eq!((kind, client.asked.0), (0, client.asked.1), "once after each draw");
        client.pause
    }

    fn run(&self, store: &S, client: &mut Client, work: &()) -> std::result::Result<(), S::Error> {
        self.submit(store, client, work)?.wait()
    }

    fn submit(
        &self,
        store: &S,
        client: &mut Client,
        _: &(),
    ) -> std::result::Result<S::Pending<()>, S::Error> {
        let paused = client.drawn.elapsed();
        assert!(paused >= client.pause, "{paused:?} and not {:?}", client.pause);
        self.submitted.lock().unwrap().push(client.number);
        let table = store.table("one")?;
        store.submit("put", |tx| tx.put(&table, &client.number.to_be_bytes(), b"row"))
    }
}

/// Repeats a short run until it shows a result, however slow the machine is.
fn once<T>(run: impl Fn() -> Option<T>) -> T {
    (0..300).find_map(|_| run()).expect("one of 300 runs shows it")
}

#[test]
fn pauses_bound_the_rate_and_are_no_latency() {
    let (store, pause) = (store(), Duration::from_millis(40));
    for commit in ALL {
        for threads in [1, 3, 8] {
            let paused = Paused::new(&[pause]);
            let outcome = drive(&store, &paused, &plan(8, threads, commit), &mut |_| true).unwrap();
            let rounds = outcome.elapsed.as_nanos() / pause.as_nanos();
            assert!(u128::from(outcome.commits) <= 8 * rounds, "{commit:?} {threads} {outcome:?}");
            let submitted = paused.submitted.lock().unwrap().len() as u64;
            assert_eq!((outcome.commits, outcome.types[0].commits), (submitted, submitted));
            // Not even on a machine that is slow to wake threads do all of them take that long.
            let least = outcome.latency.quantile(0.0);
            assert!(submitted < 4 || u128::from(least) < pause.as_nanos(), "{outcome:?}");
        }
    }
}

#[test]
fn a_client_that_thinks_does_not_delay_others() {
    let store = store();
    for commit in ALL {
        for others in [Duration::ZERO, Duration::from_millis(1)] {
            // The same thread serves both.
            once(|| {
                let paused = Paused::new(&[LONG, others]);
                drive(&store, &paused, &plan(2, 1, commit), &mut |_| true).unwrap();
                let submitted = paused.submitted.lock().unwrap();
                assert!(!submitted.contains(&0));
                (submitted.len() >= 3).then_some(())
            });
        }
    }
}

#[test]
fn a_run_ends_though_all_clients_think() {
    let store = store();
    for commit in ALL {
        for threads in [1, 4] {
            let paused = Paused::new(&[LONG]);
            let outcome = drive(&store, &paused, &plan(4, threads, commit), &mut |_| true).unwrap();
            assert_eq!((outcome.commits, outcome.latency.count()), (0, 0));
            assert!(!outcome.interrupted && outcome.elapsed < LONG, "{outcome:?}");
        }
    }
}

/// Clearway, but the first commit becomes durable with the second submission.
#[derive(Clone)]
struct Held {
    store: ClearwayStore,
    /// Submissions so far, and waits for what was not durable.
    counts: Arc<(AtomicU64, AtomicU64)>,
}

struct HeldCommit<T> {
    value: T,
    number: u64,
    counts: Arc<(AtomicU64, AtomicU64)>,
}

impl<T> Outstanding<T, Error> for HeldCommit<T> {
    fn is_ready(&self) -> bool {
        self.number != 1 || self.counts.0.load(Ordering::SeqCst) > 1
    }

    fn wait_until(&self, deadline: Instant) -> bool {
        while !self.is_ready() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(1));
        }
        self.is_ready()
    }

    fn wait(self) -> Result<T> {
        self.counts.1.fetch_add(u64::from(!self.is_ready()), Ordering::SeqCst);
        Ok(self.value)
    }
}

impl Store for Held {
    type Table = Table;
    type Error = Error;
    type Tx<'a> = ClearwayTransaction<'a>;
    type Pending<T: Send> = HeldCommit<T>;

    fn table(&self, name: &str) -> Result<Table> {
        self.store.table(name)
    }

    fn run<T, F>(&self, name: &'static str, body: F) -> Result<T>
    where
        T: Send,
        F: for<'a> FnMut(&mut ClearwayTransaction<'a>) -> Result<T>,
    {
        self.store.run(name, body)
    }

    fn submit<T, F>(&self, name: &'static str, body: F) -> Result<HeldCommit<T>>
    where
        T: Send,
        F: for<'a> FnMut(&mut ClearwayTransaction<'a>) -> Result<T>,
    {
        let value = self.store.run(name, body)?;
        let number = self.counts.0.fetch_add(1, Ordering::SeqCst) + 1;
        Ok(HeldCommit { value, number, counts: self.counts.clone() })
    }

    fn aborts(&self) -> u64 {
        0
    }
}

#[test]
fn a_commit_that_takes_long_does_not_delay_a_client_that_is_due() {
    let store = store();
    let in_vain = once(|| {
        let held = Held { store: store.clone(), counts: Arc::default() };
        let paused = Paused::new(&[Duration::ZERO, Duration::from_millis(5)]);
        drive(&held, &paused, &plan(2, 1, Commit::Pipelined), &mut |_| true).unwrap();
        let (submitted, in_vain) = &*held.counts;
        // Otherwise the run was over before any client was due.
        let is_over = submitted.load(Ordering::SeqCst) > 1;
        is_over.then(|| in_vain.load(Ordering::SeqCst))
    });
    assert_eq!(in_vain, 0, "the thread was stuck with the first commit");
}

/// Returns the next client of `paused`: its place, or the time to wait for.
fn next(
    clients: &mut Clients<ClearwayStore, Paused>,
    paused: &Paused,
) -> std::result::Result<usize, Option<Instant>> {
    match clients.next(paused) {
        Next::Turn(turn) => Ok(turn.client),
        Next::Idle(until) => Err(until),
    }
}

fn clients(paused: &Paused) -> Clients<ClearwayStore, Paused> {
    let client = |_| Workload::<ClearwayStore>::client(paused, 1);
    Clients::new(paused.pauses.iter().map(client).collect())
}

#[test]
fn clients_that_do_not_pause_take_turns() {
    let paused = Paused::new(&[Duration::ZERO; 3]);
    let mut three = clients(&paused);
    let turns = [(); 4].map(|()| next(&mut three, &paused));
    assert_eq!(turns, [Ok(0), Ok(1), Ok(2), Err(None)]);
    [1, 0, 2].into_iter().for_each(|client| three.freed(client));
    let turns = [(); 4].map(|()| next(&mut three, &paused));
    assert_eq!(turns, [Ok(1), Ok(0), Ok(2), Err(None)]);
}

#[test]
fn the_shortest_pause_is_over_first() {
    let paused = Paused::new(&[3_000, 1_000, 0, 2_000].map(Duration::from_secs));
    let mut four = clients(&paused);
    assert_eq!(next(&mut four, &paused), Ok(2));
    let due = next(&mut four, &paused).unwrap_err().unwrap();
    let pause = due - four.get(1).drawn;
    assert!((1_000..1_500).contains(&pause.as_secs()), "{pause:?}");
}
