//! A process that runs TPC-C is killed (`SIGKILL`) in the middle; afterwards all consistency
//! conditions hold, everything that was acknowledged is there, and hardly anything else. With lazy
//! commits the conditions hold as well, but the last reported transactions may be missing.
//!
//! The child is this test binary, started again with a directory in its environment. It reports
//! each acknowledged transaction on standard output before it continues with that transaction's
//! client, so each client has at most one unreported transaction.
//!
//! `CLEARWAY_KILLS=100 cargo test --test tpcc_kill` kills more often.

use std::{
    collections::VecDeque,
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::mpsc,
    thread,
    time::Duration,
};

use clearway::{CommitMode, Database, Options, Pending};
use clearway_testkit::Random;
use clearway_workloads::{
    ClearwayStore, ProgramError, Tpcc, TpccClient, TpccMix, TpccScale, TpccTransaction, Workload,
};

const DIRECTORY: &str = "CLEARWAY_TPCC_KILL_DIRECTORY";
const ROUND: &str = "CLEARWAY_TPCC_KILL_ROUND";
const MODE: &str = "CLEARWAY_TPCC_KILL_MODE";
/// Kills, unless the environment says otherwise.
const KILLS: u64 = 8;
/// Agent threads of the child, and clients of each.
const AGENTS: u64 = 2;
const CLIENTS: u64 = 8;
/// Upper bound on the child's silence, which includes the time to open the database.
const PATIENCE: Duration = Duration::from_secs(60);
/// Upper bound on the acknowledged transactions after which a child is killed.
const TRANSACTIONS_MAX: u64 = 1_000;

/// The commit mode of the child.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mode {
    Pipelined,
    Blocking,
    Lazy,
}

impl Mode {
    const ALL: [Mode; 3] = [Mode::Pipelined, Mode::Blocking, Mode::Lazy];

    /// The mode of the child, whose index the environment gives.
    fn of_environment() -> Mode {
        Mode::ALL[std::env::var(MODE).unwrap().parse::<usize>().unwrap()]
    }

    fn commit_mode(self) -> CommitMode {
        if self == Mode::Lazy { CommitMode::Lazy } else { CommitMode::Durable }
    }

    /// Number of transactions that an agent keeps in flight.
    fn in_flight(self) -> usize {
        if self == Mode::Pipelined { CLIENTS as usize } else { 1 }
    }
}

/// Two warehouses with few undelivered orders, so that deliveries come upon empty districts.
fn scale() -> TpccScale {
    TpccScale { new_orders_per_district: 3, ..TpccScale::small(2) }
}

/// Caches from tight to ample, checkpoints from frequent to rare.
fn open(path: &Path, round: u64, mode: Mode) -> Database {
    let (cache, checkpoint) = ([2, 4, 32][(round % 3) as usize], [1, 8][(round % 2) as usize]);
    let options = Options::new().cache_size(cache << 20).log_capacity(128 << 20);
    let options = options.commit_mode(mode.commit_mode());
    options.checkpoint_every(checkpoint << 20).open(path).unwrap()
}

fn prepare(db: &Database) -> (ClearwayStore, Tpcc<ClearwayStore>) {
    let store = ClearwayStore::new(db.clone());
    let tpcc = Tpcc::prepare(&store, scale(), TpccMix::Standard, 2, &|_rows| true).unwrap();
    (store, tpcc)
}

/// The acknowledged transactions of all children.
#[derive(Clone, Copy, Default, Debug)]
struct Acknowledged {
    orders: u64,
    payments: u64,
    deliveries: u64,
}

impl Acknowledged {
    /// Adds a line of the child: the transaction's type and its figure.
    fn add(&mut self, kind: usize, figure: i64) {
        match TpccTransaction::ALL[kind] {
            TpccTransaction::NewOrder => self.orders += 1,
            TpccTransaction::Payment => self.payments += 1,
            TpccTransaction::Delivery => self.deliveries += figure as u64,
            TpccTransaction::OrderStatus | TpccTransaction::StockLevel => {}
        }
    }
}

/// Starts a child, kills it when `count` transactions were acknowledged, and adds the acknowledged
/// ones.
fn run_child(path: &Path, round: u64, mode: Mode, count: u64, acknowledged: &mut Acknowledged) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child_process", "--nocapture", "--test-threads=1"])
        .env(DIRECTORY, path)
        .env(ROUND, round.to_string())
        .env(MODE, (mode as usize).to_string())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let (sender, reports) = mpsc::channel();
    // Read without a pause, so that the child is not stopped by a full pipe.
    let reader = thread::spawn(move || {
        let mut line = String::new();
        // A line without its end was cut off by the kill and is ignored.
        while output.read_line(&mut line).unwrap_or(0) > 0 && line.ends_with('\n') {
            if let ["ack", kind, figure] = line.split_whitespace().collect::<Vec<_>>()[..] {
                let _ = sender.send((kind.parse().unwrap(), figure.parse().unwrap()));
            }
            line.clear();
        }
    });
    for _ in 0..count {
        let Ok((kind, figure)) = reports.recv_timeout(PATIENCE) else {
            let _ = child.kill();
            panic!("the child acknowledges nothing: {:?}", child.wait());
        };
        acknowledged.add(kind, figure);
    }
    child.kill().unwrap();
    let status = child.wait().unwrap();
    assert!(status.code().is_none(), "the child ended by itself: {status}");
    reader.join().unwrap();
    reports.try_iter().for_each(|(kind, figure)| acknowledged.add(kind, figure));
}

/// Compares the data with what the children acknowledged before `kills` kills.
fn check(path: &Path, round: u64, mode: Mode, kills: u64, acknowledged: &Acknowledged) {
    let db = open(path, round, Mode::Blocking);
    let (store, tpcc) = prepare(&db);
    let report = tpcc.check(&store, 2).unwrap();
    assert!(report.is_consistent(), "after kill {kills}:\n{report}");
    let unreported = kills * AGENTS * CLIENTS;
    for (what, reported, found, each) in [
        ("orders", acknowledged.orders, report.orders, 1),
        ("payments", acknowledged.payments, report.payments, 1),
        ("deliveries", acknowledged.deliveries, report.deliveries, 10),
    ] {
        assert!(
            found <= reported + unreported * each && (mode == Mode::Lazy || found >= reported),
            "{mode:?}, after kill {kills}: {reported} {what} were acknowledged, {found} are there"
        );
    }
    db.verify().unwrap();
    db.close().unwrap();
}

/// Kills `kills` children, unless the environment says how many.
fn kill_some(mode: Mode, kills: u64) {
    let wanted = std::env::var("CLEARWAY_KILLS").ok().and_then(|kills| kills.parse().ok());
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = place.path().join("db");
    let mut acknowledged = Acknowledged::default();
    check(&path, 2, mode, 0, &acknowledged);
    let mut random = Random::new(1);
    for kill in 1..=wanted.unwrap_or(kills) {
        // At least one, so that it has begun.
        run_child(&path, kill, mode, 1 + random.below(TRANSACTIONS_MAX), &mut acknowledged);
        check(&path, kill, mode, kill, &acknowledged);
    }
    println!("{mode:?}: {acknowledged:?}");
    let Acknowledged { orders, payments, deliveries } = acknowledged;
    assert!(orders > 0 && payments > 0 && deliveries > 0, "{acknowledged:?}");
}

#[test]
fn killed_in_the_middle_all_conditions_hold_and_nothing_acknowledged_is_lost() {
    kill_some(Mode::Pipelined, KILLS);
}

#[test]
fn the_same_if_each_commit_is_awaited() {
    kill_some(Mode::Blocking, KILLS / 2);
}

#[test]
fn the_conditions_hold_after_lazy_commits_too() {
    kill_some(Mode::Lazy, KILLS / 2);
}

/// Not an independent test: the children of the test above run it.
#[test]
fn child_process() {
    let Some(path) = std::env::var_os(DIRECTORY) else { return };
    let round = std::env::var(ROUND).unwrap().parse().unwrap();
    let mode = Mode::of_environment();
    let db = open(&PathBuf::from(path), round, mode);
    let (store, tpcc) = prepare(&db);
    // The output of the test harness must end on a line of its own.
    say("\n");
    thread::scope(|scope| {
        for _ in 0..AGENTS {
            scope.spawn(|| {
                let clients = (0..CLIENTS).map(|_| tpcc.client(round)).collect();
                let error = serve(&store, &tpcc, mode, clients).unwrap_err();
                eprintln!("the child's load failed: {error}");
                std::process::exit(4);
            });
        }
    });
}

/// Keeps as many transactions of the clients in flight as the mode allows, and reports which were
/// acknowledged.
fn serve(
    store: &ClearwayStore,
    tpcc: &Tpcc<ClearwayStore>,
    mode: Mode,
    mut free: Vec<TpccClient>,
) -> clearway::Result<()> {
    let mut under_way: VecDeque<(TpccClient, usize, Pending<i64>)> = VecDeque::new();
    loop {
        if under_way.len() < mode.in_flight()
            && let Some(mut client) = free.pop()
        {
            let (kind, work) = tpcc.draw(&mut client);
            match tpcc.submit(store, &mut client, &work) {
                Ok(pending) => under_way.push_back((client, kind, pending)),
                Err(error) if error.is_rollback() => free.push(client),
                Err(error) => return Err(error),
            }
        } else if let Some((client, kind, pending)) = under_way.pop_front() {
            match pending.wait() {
                Ok(figure) => say(&format!("ack {kind} {figure}\n")),
                Err(error) if error.is_rollback() => {}
                Err(error) => return Err(error),
            }
            free.push(client);
        }
    }
}

/// One write of whole lines.
fn say(lines: &str) {
    let mut output = std::io::stdout().lock();
    output.write_all(lines.as_bytes()).and_then(|()| output.flush()).unwrap();
}
