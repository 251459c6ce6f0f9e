//! A run that ends after a number of transactions: `clearway bench … --count N`.
//!
//! The driver runs a workload for a time. So the workload is wrapped in one whose clients each run
//! their share of the transactions and then pause for longer than any run. The run ends when every
//! client pauses in this way.
//!
//! Invariants:
//! - COUNT-1. Each client has a share that depends only on its number, and draws from its own
//!   stream of the seed. So the drawn transactions are the same in every run, in whatever order the
//!   clients run.
//! - COUNT-2. A client draws again only after its previous transaction has completed. So when every
//!   client has tried to draw beyond its share, all transactions have completed, and exactly N were
//!   run.
//!
//! The driver checks once a second whether to continue, so the program runs up to a second longer
//! than the transactions. The reported time ends with the last transaction.

use std::time::{Duration, Instant};

use clearway_sync::atomic::{AtomicU64, Ordering};
use clearway_workloads::{Outcome, Plan, ProgramError, Store, Tick, Workload, drive};

/// A time that is longer than any run, and short enough to be added to the time of day.
const FOREVER: Duration = Duration::from_secs(10 * 365 * 86_400);

/// Runs `count` transactions of `workload` by `plan`, whose duration is ignored. `on_tick` ends the
/// run early as it does in [`drive`].
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
    let mut continues = |tick: &Tick| on_tick(tick) && !counted.is_over();
    let mut outcome = drive(store, &counted, &plan, &mut continues)?;
    outcome.interrupted = !counted.is_over();
    if !outcome.interrupted {
        outcome.elapsed = Duration::from_nanos(counted.nanos.load(Ordering::Relaxed));
    }
    Ok(outcome)
}

/// Returns the share of client `number` of `clients` in `count` transactions.
fn share(count: u64, clients: u64, number: u64) -> u64 {
    count / clients + u64::from(number < count % clients)
}

/// A workload that limits the number of transactions drawn from another one.
struct Counted<'a, W> {
    workload: &'a W,
    count: u64,
    clients: u64,
    /// The number of clients created so far.
    numbered: AtomicU64,
    /// The number of clients that have completed their share.
    finished: AtomicU64,
    begun: Instant,
    /// The time from `begun` until the last of these clients completed its share.
    nanos: AtomicU64,
}

struct Client<C> {
    inner: C,
    /// The number of transactions left to draw; `None` once the client tried to draw beyond its
    /// share.
    left: Option<u64>,
}

impl<W> Counted<'_, W> {
    fn is_over(&self) -> bool {
        // Acquire: pairs with the release in `finish`, so that the time is visible.
        self.finished.load(Ordering::Acquire) == self.clients
    }

    fn finish(&self) {
        let nanos = self.begun.elapsed().as_nanos() as u64;
        // Relaxed: published by the release below.
        self.nanos.fetch_max(nanos, Ordering::Relaxed);
        self.finished.fetch_add(1, Ordering::Release);
    }
}

/// Returns the error for a transaction beyond a client's share. It is unreachable in practice,
/// because the client pauses for [`FOREVER`] first.
fn share_exceeded<S: Store>() -> S::Error {
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
        // Relaxed: clients are created one after the other.
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
        let work = work.as_ref().ok_or_else(share_exceeded::<S>)?;
        self.workload.run(store, &mut client.inner, work)
    }

    fn submit(
        &self,
        store: &S,
        client: &mut Self::Client,
        work: &Self::Work,
    ) -> Result<S::Pending<W::Output>, S::Error> {
        let work = work.as_ref().ok_or_else(share_exceeded::<S>)?;
        self.workload.submit(store, &mut client.inner, work)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use clearway::Pending;
    use clearway_testkit::Random;
    use clearway_workloads::{ClearwayStore, Commit};

    use super::*;

    #[test]
    fn shares_differ_by_one_at_most_and_add_up() {
        for (count, clients) in [(0, 1), (1, 3), (7, 7), (10, 4), (1_000, 64)] {
            let shares: Vec<u64> = (0..clients).map(|n| share(count, clients, n)).collect();
            assert_eq!(shares.iter().sum::<u64>(), count);
            assert!(shares[0] - shares[shares.len() - 1] <= 1, "{shares:?}");
        }
    }

    /// Records the numbers that each client draws, and rolls back every third transaction.
    struct Recorded {
        clients: AtomicU64,
        drawn: Mutex<Vec<(u64, u64)>>,
    }

    impl Workload<ClearwayStore> for Recorded {
        type Client = (u64, Random);
        type Work = u64;
        type Output = ();

        fn types(&self) -> &'static [&'static str] {
            &["put"]
        }

        fn client(&self, seed: u64) -> (u64, Random) {
            let number = self.clients.fetch_add(1, Ordering::Relaxed);
            (number, Random::stream(seed, number))
        }

        fn draw(&self, (number, random): &mut (u64, Random)) -> (usize, u64) {
            let drawn = random.below(1 << 40);
            self.drawn.lock().unwrap().push((*number, drawn));
            (0, drawn)
        }

        fn run(
            &self,
            store: &ClearwayStore,
            client: &mut (u64, Random),
            work: &u64,
        ) -> clearway::Result<()> {
            self.submit(store, client, work)?.wait()
        }

        fn submit(
            &self,
            store: &ClearwayStore,
            _: &mut (u64, Random),
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
        // One client draws the same sequence in both runs; with several clients, each of them does.
        assert_eq!(run(1, Commit::Pipelined), run(1, Commit::Blocking));
        let by_client = |commit| {
            let mut drawn = run(7, commit);
            drawn.sort_by_key(|(client, _)| *client);
            drawn
        };
        assert_eq!(by_client(Commit::Pipelined), by_client(Commit::Blocking));
    }
}
