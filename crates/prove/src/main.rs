//! The `clearway-prove` program: one subcommand for each lane.

use std::{process::ExitCode, time::Duration};

use clap::{Args, Parser, Subcommand};

use clearway_prove::{
    flips, images, mutants,
    parts::{Part, Share},
    stepped,
};

/// Runs the engine where everything that can go wrong does, and judges what is left.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    #[command(subcommand)]
    lane: Lane,
}

#[derive(Subcommand)]
enum Lane {
    /// One thread, several transactions, a simulated disk; each step comes from the seed.
    Stepped(Stepped),
    /// The power is cut at each operation of some scripts, and each operation fails.
    Images(Images),
    /// Bits and sectors of databases are changed.
    Flips(Flips),
    /// Planted bugs, one at a time, each hunted by the other lanes.
    Mutants(Mutants),
}

#[derive(Args)]
struct Stepped {
    /// How many seeds. Default: 1000, or as many as the time allows.
    #[arg(long)]
    seeds: Option<u64>,
    /// The first seed, decimal or after 0x.
    #[arg(long, default_value = "0", value_parser = parse_seed)]
    seed: u64,
    /// For how many minutes.
    #[arg(long)]
    minutes: Option<f64>,
    #[command(flatten)]
    jobs: Jobs,
    /// Print every step.
    #[arg(long)]
    tell: bool,
}

#[derive(Args)]
struct Images {
    /// How many images, sampled evenly over scripts, operations and damages. Default: 10,000.
    #[arg(long)]
    images: Option<u64>,
    /// All of them.
    #[arg(long, conflicts_with = "images")]
    all: bool,
    /// Cut the power at each operation of each recovery, too.
    #[arg(long)]
    recovery: bool,
    /// Of what is drawn, decimal or after 0x.
    #[arg(long, default_value = "0", value_parser = parse_seed)]
    seed: u64,
    /// Only this script.
    #[arg(long)]
    script: Option<String>,
    /// Only this operation of the script.
    #[arg(long)]
    at: Option<usize>,
    /// Only this damage, as findings name it.
    #[arg(long)]
    damage: Option<String>,
    #[command(flatten)]
    jobs: Jobs,
}

impl Images {
    fn choice(self) -> images::Choice {
        let is_one = self.at.is_some() || self.damage.is_some();
        let images = (!self.all && !is_one).then(|| self.images.unwrap_or(10_000));
        let share = self.jobs.share(is_one);
        let Images { seed, recovery, script, at, damage, .. } = self;
        images::Choice { seed, images, recovery, script, at, damage, share }
    }
}

#[derive(Args)]
struct Flips {
    /// How many cases.
    #[arg(long, default_value_t = 10_000)]
    flips: u64,
    /// Of what is drawn, decimal or after 0x.
    #[arg(long, default_value = "0", value_parser = parse_seed)]
    seed: u64,
    /// Only this case.
    #[arg(long)]
    at: Option<u64>,
    #[command(flatten)]
    jobs: Jobs,
}

impl Flips {
    fn choice(&self) -> flips::Choice {
        let Flips { flips, seed, at, .. } = *self;
        flips::Choice { seed, flips, at, share: self.jobs.share(at.is_some()) }
    }
}

#[derive(Args)]
struct Mutants {
    /// Hunts this mutant only; may be given more than once.
    #[arg(long = "mutant")]
    names: Vec<String>,
    /// Time limit of a lane for each mutant.
    #[arg(long, default_value_t = 10.0)]
    seconds: f64,
    /// Where the lanes' seeds begin, decimal or after 0x.
    #[arg(long, default_value = "0", value_parser = parse_seed)]
    seed: u64,
}

impl Mutants {
    fn choice(self) -> mutants::Choice {
        let time = Duration::from_secs_f64(self.seconds.max(0.1));
        mutants::Choice { names: self.names, time, seed: self.seed }
    }
}

/// How the work is shared.
#[derive(Args)]
struct Jobs {
    /// Processes that share the cases. Default: one for each core.
    #[arg(long)]
    jobs: Option<usize>,
    /// The part of such a process.
    #[arg(long, hide = true)]
    part: Option<Part>,
}

impl Jobs {
    /// One case alone needs no second process.
    fn share(&self, is_one: bool) -> Share {
        let cores = || clearway_sync::thread::available_parallelism().map_or(1, usize::from);
        match self.part {
            Some(part) => Share::Part(part),
            None if is_one => Share::Processes(1),
            None => Share::Processes(self.jobs.unwrap_or_else(cores)),
        }
    }
}

fn parse_seed(text: &str) -> Result<u64, std::num::ParseIntError> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    }
}

impl Stepped {
    fn choice(&self) -> stepped::Choice {
        let time = self.minutes.map(|minutes| Duration::from_secs_f64(minutes * 60.0));
        let seeds = match time {
            None => Some(self.seeds.unwrap_or(1000)),
            Some(_) => self.seeds,
        };
        let share = self.jobs.share(self.tell || seeds == Some(1));
        stepped::Choice { seed: self.seed, seeds, time, share }
    }
}

fn main() -> ExitCode {
    let Arguments { lane } = Arguments::parse();
    let held = match lane {
        Lane::Stepped(stepped) => {
            if stepped.tell {
                stepped::tell_steps();
            }
            stepped::run(stepped.choice())
        }
        Lane::Images(lane) => images::run(&lane.choice()),
        Lane::Flips(lane) => flips::run(lane.choice()),
        Lane::Mutants(mutants) => mutants::run(&mutants.choice()),
    };
    if held { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
