//! The driver's counts, over Clearway in memory. Clients that pause are tested in `pauses`.

mod pauses;

use std::time::Duration;

use crate::{ClearwayStore, Commit, Operations, Plan, ProgramError, Store, Workload, drive};

fn store() -> ClearwayStore {
    let options = clearway::Options::in_memory().cache_size(16 << 20);
    ClearwayStore::new(options.open("driver").unwrap())
}

fn plan(clients: u32, threads: usize, commit: Commit) -> Plan {
    let duration = Duration::from_millis(100);
    Plan { clients, threads: Some(threads), commit, duration, seed: 1 }
}

/// Alternates between a commit and a rollback.
struct Undecided;

impl Workload<ClearwayStore> for Undecided {
    type Client = u64;
    type Work = bool;
    type Output = ();

    fn types(&self) -> &'static [&'static str] {
        &["kept", "given up"]
    }

    fn client(&self, _seed: u64) -> u64 {
        0
    }

    fn draw(&self, client: &mut u64) -> (usize, bool) {
        *client += 1;
        let gives_up = client.is_multiple_of(2);
        (usize::from(gives_up), gives_up)
    }

    fn run(&self, store: &ClearwayStore, _: &mut u64, gives_up: &bool) -> clearway::Result<()> {
        self.submit(store, &mut 0, gives_up)?.wait()
    }

    fn submit(
        &self,
        store: &ClearwayStore,
        _: &mut u64,
        gives_up: &bool,
    ) -> clearway::Result<clearway::Pending<()>> {
        let table = store.table("one")?;
        store.submit("either", |tx| {
            tx.put(&table, b"row", b"value")?;
            if *gives_up { Err(clearway::Error::rollback()) } else { Ok(()) }
        })
    }
}

#[test]
fn rollbacks_that_were_asked_for_are_counted_by_type_and_end_no_run() {
    let store = store();
    for commit in [Commit::Pipelined, Commit::Blocking] {
        let outcome = drive(&store, &Undecided, &plan(4, 2, commit), &mut |_| true).unwrap();
        let [kept, given_up] = &outcome.types[..] else { panic!("{outcome:?}") };
        assert!(kept.commits > 0 && kept.rollbacks == 0, "{kept:?}");
        assert!(given_up.rollbacks > 0 && given_up.commits == 0, "{given_up:?}");
        assert_eq!((outcome.commits, outcome.rollbacks), (kept.commits, given_up.rollbacks));
        assert_eq!(outcome.latency.count(), outcome.commits);
    }
}
