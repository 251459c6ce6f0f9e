//! Many schedules of one scenario, and one of them again.
//!
//! | variable | meaning |
//! | --- | --- |
//! | `CLEARWAY_SCHEDULES` | factor on the number of schedules of each scenario, default 1 |
//! | `CLEARWAY_SCHEDULE_SEED` | first seed, default 0 |
//! | `CLEARWAY_REPLAY` | a schedule as a failure prints it, or a file with one: run it alone |

use std::{env, path::Path, sync::Arc, time::Instant};

use shuttle::{
    Config, FailurePersistence, MaxSteps, Runner,
    scheduler::{PctScheduler, RandomScheduler, ReplayScheduler, Scheduler},
};

/// Number of steps after which a schedule counts as endless.
const STEPS_MAX: usize = 3_000_000;
/// A stack of a scenario's threads: engines format messages and nest deeply.
const STACK_BYTES: usize = 256 << 10;
/// Priority changes of the PCT scheduler: it finds bugs with up to this many ordering constraints.
const DEPTH: usize = 3;

/// Runs `scenario` under `count` schedules times `CLEARWAY_SCHEDULES`: two thirds of them drawn at
/// random, the others by priorities (Burckhardt et al., "A Randomized Scheduler with Probabilistic
/// Guarantees of Finding Bugs", ASPLOS 2010).
///
/// # Panics
/// If the scenario panics or hangs in any of them; the schedule is printed before.
pub fn check(name: &str, count: usize, scenario: impl Fn() + Send + Sync + 'static) {
    let number = |variable: &str| env::var(variable).ok().and_then(|text| text.parse::<f64>().ok());
    let scenario = Arc::new(scenario);
    if let Ok(schedule) = env::var("CLEARWAY_REPLAY") {
        // A whole engine's schedule is longer than a variable may be.
        let scheduler = match Path::new(&schedule).exists() {
            true => ReplayScheduler::new_from_file(&schedule).expect("a readable file"),
            false => ReplayScheduler::new_from_encoded(&schedule),
        };
        run(scheduler, &scenario);
        return;
    }
    let count = (count as f64 * number("CLEARWAY_SCHEDULES").unwrap_or(1.0)).ceil() as usize;
    let seed = number("CLEARWAY_SCHEDULE_SEED").unwrap_or(0.0) as u64;
    let begun = Instant::now();
    let by_priority = count / 3;
    run(RandomScheduler::new_from_seed(seed, count - by_priority), &scenario);
    if by_priority > 0 {
        run(PctScheduler::new_from_seed(seed, DEPTH, by_priority), &scenario);
    }
    let took = begun.elapsed();
    let rate = count as f64 / took.as_secs_f64();
    eprintln!("{name}: {count} schedules in {took:.2?}, {rate:.0} a second");
}

/// A number below `n`, drawn with the schedule and the same when it is replayed.
pub fn random(n: u64) -> u64 {
    use shuttle::rand::Rng;
    shuttle::rand::thread_rng().gen_range(0..n)
}

fn run(scheduler: impl Scheduler + 'static, scenario: &Arc<impl Fn() + Send + Sync + 'static>) {
    let mut config = Config::new();
    config.stack_size = STACK_BYTES;
    config.max_steps = MaxSteps::FailAfter(STEPS_MAX);
    config.failure_persistence = FailurePersistence::Print;
    config.silence_warnings = true;
    let scenario = scenario.clone();
    Runner::new(scheduler, config).run(move || scenario());
}
