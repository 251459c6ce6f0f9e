//! A run that ends after a number of transactions: `clearway bench … --count N`.
//!
//! The driver runs for a time. So the workload is wrapped in one whose clients do their share and
//! then pause for longer than any run, and whose run is over when each of them does so.
//!
//! Invariants:
//! - COUNT-1. Each client has a share that depends on its number alone, and draws from its own
//!   stream of the seed. So what is drawn is the same in every run, whatever the order in which the
//!   clients take their turns.
//! - COUNT-2. A client draws again only after its last transaction was settled. So when all have
//!   been refused a transaction, all transactions have been settled, and exactly N were run.
//!
//! The driver asks once a second whether to go on, so the program runs up to a second longer than
//! the transactions; the time that is reported ends with the last of them.

use std::time::{Duration, Instant};

use clearway_sync::atomic::{AtomicU64, Ordering};
use clearway_workloads::{Outcome, Plan, Store, StoreError, Tick, Workload, drive};

/// Longer than any run, and short enough to be added to the time of day.
const FOREVER: Duration = Duration::from_secs(10 * 365 * 86_400);

/// Runs `count` transactions of `workload` by `plan`, whose duration has no meaning here. `on_tick`
/// ends the run early as it does in [`drive`].
pub(crate) fn drive_count<S: Store, W: Workload<S>>(
    store: &S,
    workload: &W,
    plan: &Plan,
    count: u64,
    on_tick: &mut dyn FnMut(&Tick) -> bool,
) -> Result<Outcome, S::Error> {
    let clients = u64::from(plan.clients.max(1));
    let counted = Counted {
        workload,
        count,
        clients,
        numbered: AtomicU64::new(0),
        finished: AtomicU64::new(0),
        begun: Instant::now(),
        nanos: AtomicU64::new(0),
    };
    let plan = Plan { duration: FOREVER, ..*plan };
    let mut go_on = |tick: &Tick| on_tick(tick) && !counted.is_over();
    let mut outcome = drive(store, &counted, &plan, &mut go_on)?;
    outcome.interrupted = !counted.is_over();
    if !outcome.interrupted {
        outcome.elapsed = Duration::from_nanos(counted.nanos.load(Ordering::Relaxed));
    }
    Ok(outcome)
}

/// The share of client `number` of `clients` in `count` transactions.
fn share(count: u64, clients: u64, number: u64) -> u64 {
    count / clients + u64::from(number < count % clients)
}

/// A workload of which only so much is drawn.
struct Counted<'a, W> {
    workload: &'a W,
    count: u64,
    clients: u64,
    /// Clients made so far.
    numbered: AtomicU64,
    /// Clients that have done their share.
    finished: AtomicU64,
    begun: Instant,
    /// The time from then until the last of these finished.
    nanos: AtomicU64,
}

struct Client<C> {
    inner: C,
    /// Transactions that it has yet to draw; none when it has been refused one.
    left: Option<u64>,
}

impl<W> Counted<'_, W> {
    fn is_over(&self) -> bool {
        // Acquire: with the release of `finish`, so that the time is seen.
        self.finished.load(Ordering::Acquire) == self.clients
    }

    fn finish(&self) {
        let nanos = self.begun.elapsed().as_nanos() as u64;
        // Relaxed: published by the release below.
        self.nanos.fetch_max(nanos, Ordering::Relaxed);
        self.finished.fetch_add(1, Ordering::Release);
    }
}

/// What a client that has done its share would run if it ever came to it.
fn refused<S: Store>() -> S::Error {
    S::Error::failed("a client had no transaction left".into())
}

impl<S: Store, W: Workload<S>> Workload<S> for Counted<'_, W> {
    type Client = Client<W::Client>;
    type Work = Option<W::Work>;
    type Output = W::Output;

    fn types(&self) -> &'static [&'static str] {
        self.workload.types()
    }

    fn client(&self, seed: u64) -> Self::Client {
        // Relaxed: clients are made one after the other.
        let number = self.numbered.fetch_add(1, Ordering::Relaxed);
        let left = Some(share(self.count, self.clients, number));
        Client { inner: self.workload.client(seed), left }
    }

    fn draw(&self, client: &mut Self::Client) -> (usize, Self::Work) {
        client.left = client.left.and_then(|left| left.checked_sub(1));
        if client.left.is_none() {
            self.finish();
            return (0, None);
        }
        let (kind, work) = self.workload.draw(&mut client.inner);
        (kind, Some(work))
    }

    fn pause(&self, client: &mut Self::Client, kind: usize) -> Duration {
        match client.left {
            Some(_) => self.workload.pause(&mut client.inner, kind),
            None => FOREVER,
        }
    }

    fn run(&self, store: &S, client: &mut Self::Client, work: &Self::Work) -> Result<(), S::Error> {
        let work = work.as_ref().ok_or_else(refused::<S>)?;
        self.workload.run(store, &mut client.inner, work)
    }

    fn submit(
        &self,
        store: &S,
        client: &mut Self::Client,
        work: &Self::Work,
    ) -> Result<S::Pending<W::Output>, S::Error> {
        let work = work.as_ref().ok_or_else(refused::<S>)?;
        self.workload.submit(store, &mut client.inner, work)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use clearway::Pending;
    use clearway_workloads::{ClearwayStore, Commit, Rng};

    use super::*;

    #[test]
    fn shares_differ_by_one_at_most_and_add_up() {
        for (count, clients) in [(0, 1), (1, 3), (7, 7), (10, 4), (1_000, 64)] {
            let shares: Vec<u64> = (0..clients).map(|n| share(count, clients, n)).collect();
            assert_eq!(shares.iter().sum::<u64>(), count);
            assert!(shares[0] - shares[shares.len() - 1] <= 1, "{shares:?}");
        }
    }

    /// Writes down what each client draws; rolls back every third transaction.
    struct Recorded {
        clients: AtomicU64,
        drawn: Mutex<Vec<(u64, u64)>>,
    }

    impl Workload<ClearwayStore> for Recorded {
        type Client = (u64, Rng);
        type Work = u64;
        type Output = ();

        fn types(&self) -> &'static [&'static str] {
            &["put"]
        }

        fn client(&self, seed: u64) -> (u64, Rng) {
            let number = self.clients.fetch_add(1, Ordering::Relaxed);
            (number, Rng::stream(seed, number))
        }

        fn draw(&self, (number, rng): &mut (u64, Rng)) -> (usize, u64) {
            let drawn = rng.below(1 << 40);
            self.drawn.lock().unwrap().push((*number, drawn));
            (0, drawn)
        }

        fn run(
            &self,
            store: &ClearwayStore,
            client: &mut (u64, Rng),
            work: &u64,
        ) -> clearway::Result<()> {
            self.submit(store, client, work)?.wait()
        }

        fn submit(
            &self,
            store: &ClearwayStore,
            _: &mut (u64, Rng),
            work: &u64,
        ) -> clearway::Result<Pending<()>> {
            let table = store.table("one")?;
            store.submit("put", |tx| {
                clearway_workloads::Operations::put(tx, &table, &work.to_be_bytes(), b"")?;
                if work.is_multiple_of(3) { Err(clearway::Error::rollback()) } else { Ok(()) }
            })
        }
    }

    #[test]
    fn exactly_the_count_is_run_and_clients_draw_the_same_each_time() {
        let run = |clients, commit| {
            let db = clearway::Options::in_memory().cache_size(16 << 20).open("count").unwrap();
            let recorded = Recorded { clients: AtomicU64::new(0), drawn: Mutex::default() };
            let plan =
                Plan { clients, threads: Some(2), commit, duration: Duration::ZERO, seed: 7 };
            let store = ClearwayStore::new(db);
            let outcome = drive_count(&store, &recorded, &plan, 500, &mut |_| true).unwrap();
            assert_eq!(outcome.commits + outcome.rollbacks + outcome.failures, 500);
            assert!(!outcome.interrupted && outcome.elapsed > Duration::ZERO);
            recorded.drawn.into_inner().unwrap()
        };
        // Of one client the sequence, of several each client's.
        assert_eq!(run(1, Commit::Pipelined), run(1, Commit::Blocking));
        let by_client = |commit| {
            let mut drawn = run(7, commit);
            drawn.sort_by_key(|(client, _)| *client);
            drawn
        };
        assert_eq!(by_client(Commit::Pipelined), by_client(Commit::Blocking));
    }
}
