//! The `clearway-prove` program: one subcommand for each lane.

use std::{process::ExitCode, time::Duration};

use clap::{Args, Parser, Subcommand};

use clearway_prove::{
    corruption, images, mutants,
    shards::{Shard, Sharding},
    simulation,
};

/// Runs the engine under power cuts, failing disks, corrupted files and planted bugs, and checks
/// the database that each of them leaves.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    #[command(subcommand)]
    lane: Lane,
}

#[derive(Subcommand)]
enum Lane {
    /// Simulate several transactions on one thread and a simulated disk; a seed chooses each step.
    Simulation(Simulation),
    /// Cut the power at each disk operation of some scenarios, and let each operation fail.
    Images(Images),
    /// Change bits and sectors of database files.
    Corruption(Corruption),
    /// Plant bugs, one at a time, and run the other lanes to detect each of them.
    Mutants(Mutants),
}

#[derive(Args)]
struct Simulation {
    /// The number of seeds. Default: 1000, or as many as the time allows.
    #[arg(long)]
    seeds: Option<u64>,
    /// The first seed, decimal or after 0x.
    #[arg(long, default_value = "0", value_parser = parse_seed)]
    seed: u64,
    /// The time limit in minutes.
    #[arg(long)]
    minutes: Option<f64>,
    #[command(flatten)]
    jobs: Jobs,
    /// Print every step.
    #[arg(long)]
    print_steps: bool,
}

#[derive(Args)]
struct Images {
    /// The number of images, sampled evenly over scenarios, operations and kinds of damage.
    /// Default: 10,000.
    #[arg(long)]
    images: Option<u64>,
    /// Examine all images.
    #[arg(long, conflicts_with = "images")]
    all: bool,
    /// Cut the power at each operation of each recovery as well.
    #[arg(long)]
    recovery: bool,
    /// The seed of the random choices, decimal or after 0x.
    #[arg(long, default_value = "0", value_parser = parse_seed)]
    seed: u64,
    /// Run only the scenario of this name.
    #[arg(long)]
    scenario: Option<String>,
    /// Run only this operation of the scenario.
    #[arg(long)]
    at: Option<usize>,
    /// Inflict only this damage, named as in the findings.
    #[arg(long)]
    damage: Option<String>,
    #[command(flatten)]
    jobs: Jobs,
}

impl Images {
    fn choice(self) -> images::Choice {
        let is_one = self.at.is_some() || self.damage.is_some();
        let images = (!self.all && !is_one).then(|| self.images.unwrap_or(10_000));
        let sharding = self.jobs.sharding(is_one);
        let Images { seed, recovery, scenario, at, damage, .. } = self;
        images::Choice { seed, images, recovery, scenario, at, damage, sharding }
    }
}

#[derive(Args)]
struct Corruption {
    /// The number of cases.
    #[arg(long, default_value_t = 10_000)]
    cases: u64,
    /// The seed of the random choices, decimal or after 0x.
    #[arg(long, default_value = "0", value_parser = parse_seed)]
    seed: u64,
    /// Run only this case.
    #[arg(long)]
    at: Option<u64>,
    #[command(flatten)]
    jobs: Jobs,
}

impl Corruption {
    fn choice(&self) -> corruption::Choice {
        let Corruption { cases, seed, at, .. } = *self;
        corruption::Choice { seed, cases, at, sharding: self.jobs.sharding(at.is_some()) }
    }
}

#[derive(Args)]
struct Mutants {
    /// Plant only this bug; may be given more than once.
    #[arg(long = "mutant")]
    names: Vec<String>,
    /// The time that a lane may take for a bug, in seconds.
    #[arg(long, default_value_t = 10.0)]
    seconds: f64,
    /// The first seed of each lane, decimal or after 0x.
    #[arg(long, default_value = "0", value_parser = parse_seed)]
    seed: u64,
    /// Build the lanes' test programs, check that their filters match tests, and hunt nothing.
    #[arg(long)]
    no_run: bool,
}

impl Mutants {
    fn choice(self) -> mutants::Choice {
        let time = Duration::from_secs_f64(self.seconds.max(0.1));
        let Mutants { names, seed, no_run: only_build, .. } = self;
        mutants::Choice { names, time, seed, only_build }
    }
}

/// The options that distribute the cases over processes.
#[derive(Args)]
struct Jobs {
    /// The number of processes that share the cases. Default: one for each core.
    #[arg(long)]
    jobs: Option<usize>,
    /// The shard of the cases that this process runs.
    #[arg(long, hide = true)]
    shard: Option<Shard>,
}

impl Jobs {
    /// Returns the distribution of the cases. A single case runs in one process.
    fn sharding(&self, is_one: bool) -> Sharding {
        let cores = || clearway_sync::thread::available_parallelism().map_or(1, usize::from);
        match self.shard {
            Some(shard) => Sharding::Shard(shard),
            None if is_one => Sharding::Processes(1),
            None => Sharding::Processes(self.jobs.unwrap_or_else(cores)),
        }
    }
}

fn parse_seed(text: &str) -> Result<u64, std::num::ParseIntError> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    }
}

impl Simulation {
    fn choice(&self) -> simulation::Choice {
        let time = self.minutes.map(|minutes| Duration::from_secs_f64(minutes * 60.0));
        let seeds = match time {
            None => Some(self.seeds.unwrap_or(1000)),
            Some(_) => self.seeds,
        };
        let sharding = self.jobs.sharding(self.print_steps || seeds == Some(1));
        simulation::Choice { seed: self.seed, seeds, time, sharding }
    }
}

fn main() -> ExitCode {
    let Arguments { lane } = Arguments::parse();
    let passed = match lane {
        Lane::Simulation(simulation) => {
            if simulation.print_steps {
                simulation::print_steps();
            }
            simulation::run(simulation.choice())
        }
        Lane::Images(lane) => images::run(&lane.choice()),
        Lane::Corruption(lane) => corruption::run(lane.choice()),
        Lane::Mutants(mutants) => mutants::run(&mutants.choice()),
    };
    if passed { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
