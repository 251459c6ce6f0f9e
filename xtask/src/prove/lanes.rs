//! The lanes and their shares of the time.

use std::{
    fmt,
    process::{Command, Stdio},
};

use super::Budget;

/// A command to run.
pub(crate) struct Work {
    pub(crate) program: String,
    pub(crate) arguments: Vec<String>,
    pub(crate) environment: Vec<(String, String)>,
    /// The folder to run in, from the root of the repository.
    pub(crate) folder: &'static str,
    /// True if the program itself builds others, which its option `--no-run` only builds.
    pub(crate) builds_others: bool,
}

impl fmt::Display for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, value) in &self.environment {
            write!(f, "{name}={value:?} ")?;
        }
        if !self.folder.is_empty() {
            write!(f, "cd {} && ", self.folder)?;
        }
        write!(f, "{} {}", self.program, self.arguments.join(" "))
    }
}

impl Work {
    fn cargo(line: &str) -> Work {
        let arguments = line.split_whitespace().map(String::from).collect();
        let program = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
        Work { program, arguments, environment: Vec::new(), folder: "", builds_others: false }
    }

    fn with(mut self, name: &str, value: impl ToString) -> Work {
        self.environment.push((name.into(), value.to_string()));
        self
    }

    /// Returns the command that builds what this one runs, and runs none of it. It finds the same
    /// features and the same folder of built files, so that nothing is built twice.
    pub(super) fn building(mut self) -> Work {
        if self.builds_others {
            self.arguments.push("--no-run".into());
            return self;
        }
        let end = self.arguments.iter().position(|argument| argument == "--");
        self.arguments.truncate(end.unwrap_or(self.arguments.len()));
        match self.arguments.first().map(String::as_str) {
            Some("run") => self.arguments[0] = "build".into(),
            Some("test") => self.arguments.push("--no-run".into()),
            _ => {} // `cargo xtask mutants` writes sources.
        }
        self
    }
}

/// One way of looking for errors.
pub(crate) struct Lane {
    pub(crate) name: &'static str,
    /// Returns the reason why the lane cannot run on this machine, if there is one.
    pub(crate) cannot: fn() -> Option<String>,
    /// Whether it draws patterns of keys, and so must meet every order in a run.
    pub(crate) draws_patterns: bool,
    /// Returns the commands that the lane runs.
    pub(crate) work: fn(Budget, u64) -> Vec<Work>,
}

impl Lane {
    const fn new(name: &'static str, work: fn(Budget, u64) -> Vec<Work>) -> Lane {
        Lane { name, cannot: always, draws_patterns: false, work }
    }

    const fn unless(mut self, cannot: fn() -> Option<String>) -> Lane {
        self.cannot = cannot;
        self
    }

    const fn drawing_patterns(mut self) -> Lane {
        self.draws_patterns = true;
        self
    }
}

/// Lanes that begin with a different seed for each commit. The others begin with seed 1, in
/// particular the mutants: catching them must not depend on chance.
pub(crate) const FRESH: &[&str] = &["simulation"];

/// The command for programs of the lanes: built like a release, but with assertions and without the
/// slow link.
const PROVE: &str = "run --quiet --profile prove -p clearway-prove --";
const FUZZ: &str = "run --quiet --profile prove -p clearway-fuzz --";
const CHECK: &str = "run --quiet --profile prove -p clearway-check --";
/// A lane's share of a run with a number of minutes; `None` in CI.
fn minutes(budget: Budget, share: f64) -> Option<f64> {
    match budget {
        Budget::Ci => None,
        Budget::Minutes(all) => Some(all * share),
    }
}

/// Returns `ci` in CI, and otherwise the number that `an_hour` gives for the run's minutes.
fn amount(budget: Budget, ci: u64, an_hour: u64) -> u64 {
    match budget {
        Budget::Ci => ci,
        Budget::Minutes(minutes) => ((an_hour as f64 * minutes / 60.0) as u64).max(1),
    }
}

/// Returns the number that `an_hour` gives for the run's minutes; `None` in CI.
fn by_the_hour(budget: Budget, an_hour: u64) -> Option<u64> {
    (budget != Budget::Ci).then(|| amount(budget, 0, an_hour))
}

fn always() -> Option<String> {
    None
}

/// All lanes, the quick ones first, the longest last.
pub(crate) const LANES: &[Lane] = &[
    Lane::new("specs", specs),
    Lane::new("fuzz", fuzz).drawing_patterns(),
    Lane::new("corruption", corruption).drawing_patterns(),
    Lane::new("images", images).drawing_patterns(),
    Lane::new("simulation", simulation).drawing_patterns(),
    Lane::new("kill", kill).unless(not_linux).drawing_patterns(),
    Lane::new("syscalls", syscalls).unless(no_strace),
    Lane::new("power", power).unless(no_mount),
    Lane::new("histories", histories).drawing_patterns(),
    Lane::new("reorder", reorder),
    Lane::new("loom", loom),
    Lane::new("shuttle", shuttle),
    Lane::new("mutants", mutants),
];

fn not_linux() -> Option<String> {
    (!cfg!(target_os = "linux")).then(|| "it needs Linux's signals".into())
}

fn specs(budget: Budget, _: u64) -> Vec<Work> {
    if budget == Budget::Ci {
        return Vec::new(); // `cargo test` has just run them.
    }
    vec![Work::cargo("test --quiet -p clearway-txn --test isolation")]
}

fn fuzz(budget: Budget, seed: u64) -> Vec<Work> {
    // CI always runs the same first inputs, which include the seeds of earlier findings.
    let much = match minutes(budget, 0.1) {
        None => "--inputs 400".to_string(),
        Some(minutes) => format!("--seconds {:.1} --seed {seed}", minutes * 60.0 / 7.0),
    };
    vec![Work::cargo(&format!("{FUZZ} {much}"))]
}

fn corruption(budget: Budget, seed: u64) -> Vec<Work> {
    let cases = amount(budget, 10_000, 200_000);
    vec![Work::cargo(&format!("{PROVE} corruption --cases {cases} --seed {seed:#x}"))]
}

fn images(budget: Budget, seed: u64) -> Vec<Work> {
    let run = |which: &str| Work::cargo(&format!("{PROVE} images --seed {seed:#x} {which}"));
    match budget {
        Budget::Minutes(minutes) if minutes >= 30.0 => vec![run("--all --recovery")],
        budget => vec![
            run(&format!("--images {}", amount(budget, 12_000, 200_000))),
            // Takes a second: power fails during a creation, and again while the creation starts
            // over.
            run("--scenario create --all --recovery"),
        ],
    }
}

fn simulation(budget: Budget, seed: u64) -> Vec<Work> {
    let seeds = amount(budget, 20_000, 260_000);
    vec![Work::cargo(&format!("{PROVE} simulation --seed {seed:#x} --seeds {seeds}"))]
}

fn quietly(program: &str, arguments: &[&str]) -> bool {
    let mut command = Command::new(program);
    command.args(arguments).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

fn no_strace() -> Option<String> {
    let works = quietly("strace", &["-f", "-o", "/dev/null", "true"]);
    (!works).then(|| "strace is not there or may not trace".into())
}

fn no_mount() -> Option<String> {
    let works = quietly("losetup", &["-f"]) && quietly("python3", &["-V"]);
    (!works).then(|| "it needs root, loop devices and python3".into())
}

/// The process dies at a system call, or a system call fails.
fn syscalls(budget: Budget, seed: u64) -> Vec<Work> {
    let Some(rounds) = by_the_hour(budget, 300) else { return Vec::new() };
    let line = "test --quiet --release -p clearway --test kill traced -- --ignored --nocapture";
    let work = Work::cargo(line);
    vec![work.with("CLEARWAY_TRACED", rounds).with("CLEARWAY_KILL_SEED", seed)]
}

fn power(budget: Budget, seed: u64) -> Vec<Work> {
    let Some(cuts) = by_the_hour(budget, 100) else { return Vec::new() };
    let line = "test --quiet --release -p clearway --test kill power -- --ignored --nocapture";
    let work = Work::cargo(line);
    vec![work.with("CLEARWAY_POWER_CUTS", cuts).with("CLEARWAY_KILL_SEED", seed)]
}

/// Kills at failpoints, and at random moments; the two tests of these share the number. In CI
/// `cargo test` has just killed 140 times at random moments.
fn kill(budget: Budget, seed: u64) -> Vec<Work> {
    let line = "test --quiet --profile prove -p clearway --test kill failpoints -- --ignored \
                --nocapture";
    let chosen = Work::cargo(line).with("CLEARWAY_KILL_ROUNDS", amount(budget, 1, 15));
    let mut works = vec![chosen.with("CLEARWAY_KILL_SEED", seed)];
    if let Some(kills) = by_the_hour(budget, 500) {
        let tests = "killed_under_load killed_during_recovery";
        let line = format!("test --quiet --release -p clearway --test kill -- {tests}");
        let random = Work::cargo(&line).with("CLEARWAY_KILLS", kills);
        works.push(random.with("CLEARWAY_KILL_SEED", seed));
    }
    works
}

fn histories(budget: Budget, seed: u64) -> Vec<Work> {
    let (calm, killed) = (amount(budget, 20, 220), amount(budget, 5, 60));
    vec![
        Work::cargo(&format!("{CHECK} run --histories {calm} --seed {seed}")),
        Work::cargo(&format!("{CHECK} run --histories {killed} --crashes 4 --seed {seed}")),
    ]
}

/// Random programs, reordered and run on SQLite, and random transactions, of which two at a time
/// are interleaved. In CI `cargo test` has just run 510 and 1,200.
fn reorder(budget: Budget, seed: u64) -> Vec<Work> {
    let Some(programs) = by_the_hour(budget, 20_000) else { return Vec::new() };
    let test = "test --quiet --profile prove -p clearway-reorder --test";
    let tests = ["random random_programs", "interleavings outcomes"];
    let works = tests.map(|name| {
        let work = Work::cargo(&format!("{test} {name} -- --nocapture"));
        work.with("CLEARWAY_REORDER_PROGRAMS", programs).with("CLEARWAY_REORDER_SEED", seed)
    });
    works.into()
}

fn loom(_: Budget, _: u64) -> Vec<Work> {
    let packages = "-p clearway-sync -p clearway-pool -p clearway-log -p clearway-lock \
                    -p clearway-txn -p clearway -p clearway-variants";
    let work = Work::cargo(&format!("test --quiet {packages} --lib models::"));
    vec![work.with("RUSTFLAGS", "--cfg loom").with("CARGO_TARGET_DIR", "target/loom")]
}

fn shuttle(budget: Budget, seed: u64) -> Vec<Work> {
    let packages = "-p clearway-pool -p clearway-lock -p clearway-log -p clearway-txn \
                    -p clearway -p clearway-variants";
    let work = Work::cargo(&format!("test --quiet {packages} --test scheduled"));
    // A factor on the roughly 45,500 schedules that CI runs.
    let factor = match budget {
        Budget::Ci => 1.0,
        Budget::Minutes(minutes) => (minutes / 60.0 * 18.0).max(0.1),
    };
    let work = work.with("RUSTFLAGS", "--cfg shuttle").with("CARGO_TARGET_DIR", "target/shuttle");
    vec![work.with("CLEARWAY_SCHEDULES", factor).with("CLEARWAY_SCHEDULE_SEED", seed)]
}

fn mutants(_: Budget, seed: u64) -> Vec<Work> {
    let mut hunt = Work::cargo(&format!("{PROVE} mutants --seed {seed:#x} --seconds 14"));
    (hunt.folder, hunt.builds_others) = (crate::mutants::COPY, true);
    vec![Work::cargo("xtask mutants"), hunt]
}
