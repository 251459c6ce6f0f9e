//! The lanes that hunt mutants, and their commands.

use std::process::Command;

use super::Choice;

/// A lane that can hunt a mutant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Lane {
    Simulation,
    Images,
    /// The images of one scenario, the creation of a database, and of all its recoveries.
    Creations,
    Corruption,
    Specs,
    /// The unit tests of the lock manager and of its variants.
    Locks,
    /// The tests of intent locks, those of the variants included.
    Intents,
    /// The log's tests.
    Log,
    /// The unit tests of the array in which inserters of the log's variants meet, and of releases
    /// that they delegate: other tests hang when a slot is reused while a member still waits in it.
    Slots,
    /// The tree's tests of the locks that it requests.
    Borders,
    /// The façade's tests of its results: none leaves before what it depends on is durable, and no
    /// transaction commits after an unhandled error of a scan.
    Answers,
    /// The transactions' tests of upkeep.
    Upkeep,
    /// The tree's tests of operations that wait, of those in a cache of which few pages can be
    /// evicted, and of adoptions that are left to upkeep.
    Needs,
    /// The pool's test of pages that are evicted together.
    Evictions,
    /// The pool's tests of closes while the disk does not complete a write.
    Closes,
    /// The tests of tasks, of the façade's and of the transactions'.
    Tasks,
    /// The tests of what passes from one thread or task to another: a grant that is not picked up,
    /// an admission, a job, a wake-up of a task of a pipeline.
    Handovers,
    /// The tests of two-stage execution, of the façade and of the transactions.
    Staging,
}

/// The tests of a lane.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tests {
    /// Cargo's arguments that select test programs.
    pub(super) programs: &'static str,
    /// Parts of names: each test with one of them runs, or every test if there are none.
    pub(super) filters: &'static [&'static str],
}

impl Tests {
    /// Returns the command that runs the tests.
    fn run(&self) -> Command {
        let mut command = self.cargo();
        command.args(self.filters);
        command
    }

    /// Returns the command that lists all tests of the programs, one a line: a name and `: test`.
    pub(super) fn list(&self) -> Command {
        let mut command = self.cargo();
        command.arg("--list");
        command
    }

    fn cargo(&self) -> Command {
        let mut command = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
        // In the profile of this program, so that the engine is built once for both.
        command.args(["test", "--quiet", "--profile", "prove"]);
        command.args(self.programs.split(' ')).arg("--");
        command
    }
}

impl Lane {
    /// All lanes.
    const ALL: [Lane; 18] = [
        Lane::Simulation,
        Lane::Images,
        Lane::Creations,
        Lane::Corruption,
        Lane::Specs,
        Lane::Locks,
        Lane::Intents,
        Lane::Log,
        Lane::Slots,
        Lane::Borders,
        Lane::Answers,
        Lane::Upkeep,
        Lane::Needs,
        Lane::Evictions,
        Lane::Closes,
        Lane::Tasks,
        Lane::Handovers,
        Lane::Staging,
    ];
    /// The lanes that are tests of a crate.
    pub(super) const TESTS: [Lane; 14] = [
        Lane::Specs,
        Lane::Locks,
        Lane::Intents,
        Lane::Log,
        Lane::Slots,
        Lane::Borders,
        Lane::Answers,
        Lane::Upkeep,
        Lane::Needs,
        Lane::Evictions,
        Lane::Closes,
        Lane::Tasks,
        Lane::Handovers,
        Lane::Staging,
    ];

    /// Returns the lane with this name.
    pub(super) fn named(name: &str) -> Option<Lane> {
        Lane::ALL.into_iter().find(|lane| lane.name() == name)
    }

    /// Returns the name by which a patch file and the report call the lane.
    pub(super) fn name(self) -> &'static str {
        match self {
            Lane::Simulation => "simulation",
            Lane::Images => "images",
            Lane::Creations => "creations",
            Lane::Corruption => "corruption",
            Lane::Specs => "specs",
            Lane::Locks => "locks",
            Lane::Intents => "intents",
            Lane::Log => "log",
            Lane::Slots => "slots",
            Lane::Borders => "borders",
            Lane::Answers => "answers",
            Lane::Upkeep => "upkeep",
            Lane::Needs => "needs",
            Lane::Evictions => "evictions",
            Lane::Closes => "closes",
            Lane::Tasks => "tasks",
            Lane::Handovers => "handovers",
            Lane::Staging => "staging",
        }
    }

    /// Returns the tests of the lane, if it is tests of a crate.
    pub(super) fn tests(self) -> Option<Tests> {
        let (programs, filters): (_, &[&str]) = match self {
            Lane::Specs => ("-p clearway-txn -p clearway-variants --test isolation", &[]),
            // The other tests take seconds, and catch no more of the mutants.
            Lane::Locks => ("-p clearway-lock -p clearway-variants --lib", &[]),
            Lane::Intents => ("-p clearway-lock -p clearway-variants --test lock", &["intents::"]),
            Lane::Borders => ("-p clearway-tree --test api", &["locks::"]),
            Lane::Log => ("-p clearway-log --lib --test api", &[]),
            Lane::Slots => ("-p clearway-variants --lib", &["log::array::", "log::releases::"]),
            Lane::Answers => ("-p clearway --test hunts", &["answers::", "scan_errors::"]),
            Lane::Upkeep => ("-p clearway-txn --test hunts", &["upkeep::"]),
            Lane::Needs => {
                const FILTERS: &[&str] =
                    &["gives_its_pins", "few_pages_can_be_evicted", "rest_of_a_chain"];
                ("-p clearway-tree --test api", FILTERS)
            }
            Lane::Evictions => ("-p clearway-pool --test api", &["evicted_together"]),
            Lane::Closes => ("-p clearway-pool --test api", &["held_writes::"]),
            Lane::Tasks => {
                ("-p clearway-txn -p clearway --test hunts", &["tasks::", "cancelled::"])
            }
            Lane::Handovers => (
                "-p clearway-lock -p clearway-pool -p clearway-txn -p clearway --lib --test lock",
                &["cancelled_grant_", "admission::", "offload::", "pipeline::tasks::"],
            ),
            Lane::Staging => ("-p clearway-txn -p clearway --lib --test hunts", &["staging::"]),
            Lane::Simulation | Lane::Images | Lane::Creations | Lane::Corruption => return None,
        };
        Some(Tests { programs, filters })
    }

    /// Returns the command that runs the lane.
    pub(super) fn command(self, choice: &Choice) -> Command {
        if let Some(tests) = self.tests() {
            return tests.run();
        }
        let this = std::env::current_exe().expect("a running program has a path");
        let mut command = Command::new(this);
        let minutes = format!("{}", choice.time.as_secs_f64() / 60.0);
        let seed = format!("{:#x}", choice.seed);
        match self {
            Lane::Simulation => {
                command.args(["simulation", "--minutes", &minutes, "--seed", &seed])
            }
            Lane::Images => command.args(["images", "--images", "4000", "--seed", &seed]),
            Lane::Creations => {
                command.args(["images", "--scenario", "create", "--all", "--recovery"])
            }
            Lane::Corruption => command.args(["corruption", "--cases", "3000", "--seed", &seed]),
            _ => unreachable!("returned above: the lane is tests of a crate"),
        };
        command
    }
}
