//! The `clearway-fuzz` program: feeds the engine bytes that it did not write.
//!
//! A target takes bytes and must survive them: no panic, no endless loop, no unbounded memory, and
//! no result that differs from its model. Inputs are mutations of the target's examples of valid
//! input. One target is the canary, which must fail: if it does not, the fuzzer cannot find errors.
//! The input for a seed depends on the seed alone.

mod mutate;
mod target;
mod targets;

use std::{
    path::PathBuf,
    process::ExitCode,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use clap::Parser;
use rustix::time::{ClockId, clock_gettime};

use mutate::Mutator;
use target::{Target, Verdict};

/// Feeds the decoders, the readers and the interface of the engine with mutated input.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    /// Run only this target; may be given more than once.
    #[arg(long, value_name = "T")]
    target: Vec<String>,
    /// Seconds for each target.
    #[arg(long, default_value_t = 5.0)]
    seconds: f64,
    /// The first input's seed; the others follow.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Number of inputs for each target, however long they take.
    #[arg(long)]
    inputs: Option<u64>,
    /// Feed only this file to the target.
    #[arg(long, value_name = "FILE", requires = "target")]
    input: Option<PathBuf>,
}

/// Upper bound on the processor time for an input; no target needs a hundredth of it. On a busy
/// machine the elapsed time has no bound.
const SLOW: Duration = Duration::from_secs(5);
/// Time after which an input counts as an endless loop.
const HANG: Duration = Duration::from_secs(60);

/// The input being fed and its start time, for the watching thread.
static AT: Mutex<Option<(&str, u64, Instant)>> = Mutex::new(None);

/// Watches the inputs, and ends the program if one of them does not end.
fn watch() -> ! {
    loop {
        std::thread::sleep(HANG / 60);
        let at = *AT.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((target, seed, since)) = at
            && since.elapsed() > HANG
        {
            clearway_console::say!("{target:<12} DIED: it does not end\n{}", command(target, seed));
            std::process::exit(2);
        }
    }
}

/// The command line that feeds an input again.
fn command(target: &str, seed: u64) -> String {
    format!(
        "SEED={seed} cargo run --profile prove -p clearway-fuzz -- \
         --target {target} --seed {seed} --inputs 1"
    )
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    // The fuzzer catches a panic and reports it once.
    if arguments.input.is_none() {
        std::panic::set_hook(Box::new(|_| ()));
    }
    let targets: Vec<Target> = targets::all();
    let chosen: Vec<&Target> = targets
        .iter()
        .filter(|t| arguments.target.is_empty() || arguments.target.iter().any(|n| n == t.name))
        .collect();
    if chosen.is_empty() {
        let names: Vec<_> = targets.iter().map(|target| target.name).collect();
        clearway_console::tell!("there is no such target; there are {}", names.join(", "));
        return ExitCode::from(2);
    }
    if let Some(file) = &arguments.input {
        return feed_file(chosen[0], file);
    }
    std::thread::spawn(|| watch());
    let mut found = 0;
    for target in &chosen {
        found += u64::from(!fuzz(target, &arguments));
        if clearway_sync::broken().is_some() {
            clearway_console::say!(
                "no other target is run: every engine of this process has stopped"
            );
            break;
        }
    }
    clearway_console::say!("{}", targets::drawn());
    clearway_console::say!("{}", targets::waits());
    clearway_console::say!("fuzz: {} targets, {found} with findings", chosen.len());
    if found == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn feed_file(target: &Target, file: &std::path::Path) -> ExitCode {
    let Ok(bytes) = std::fs::read(file) else {
        clearway_console::tell!("cannot read {}", file.display());
        return ExitCode::from(2);
    };
    match target.run(&bytes) {
        Verdict::Survived => {
            clearway_console::say!("{}: survived", target.name);
            ExitCode::SUCCESS
        }
        Verdict::Died(why) => {
            clearway_console::say!("{}: {why}", target.name);
            ExitCode::FAILURE
        }
    }
}

/// Feeds one target. Returns true if it behaved as required.
fn fuzz(target: &Target, arguments: &Arguments) -> bool {
    let begun = Instant::now();
    let over = |fed: u64| match arguments.inputs {
        Some(inputs) => fed >= inputs,
        None => begun.elapsed().as_secs_f64() >= arguments.seconds,
    };
    let examples = (target.examples)();
    let (mut fed, mut seed) = (0, arguments.seed);
    while !over(fed) {
        let input = Mutator::new(seed).mutate(&examples);
        let started = Instant::now();
        *AT.lock().unwrap_or_else(PoisonError::into_inner) = Some((target.name, seed, started));
        let before = processor_time();
        let mut verdict = target.run(&input);
        let used = processor_time().saturating_sub(before);
        if used > SLOW {
            let seconds = used.as_secs_f64();
            verdict = Verdict::Died(format!("took {seconds:.1} s of processor time"));
        }
        fed += 1;
        if let Verdict::Died(why) = verdict {
            return report(target, seed, &input, &why, fed);
        }
        seed += 1;
    }
    if target.must_fail {
        clearway_console::say!(
            "{:<12} SURVIVED {fed} inputs, and must not: the fuzzer is blind",
            target.name
        );
    } else {
        clearway_console::say!("{:<12} survived {fed} inputs", target.name);
    }
    !target.must_fail
}

/// Returns the processor time that this process has used.
fn processor_time() -> Duration {
    let now = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

/// Reports an input that killed its target, and keeps it.
fn report(target: &Target, seed: u64, input: &[u8], why: &str, fed: u64) -> bool {
    if target.must_fail {
        clearway_console::say!("{:<12} died after {fed} inputs, as it must", target.name);
        return true;
    }
    let file = std::env::temp_dir().join(format!("clearway-fuzz-{}-{seed}", target.name));
    let kept = std::fs::write(&file, input).is_ok();
    clearway_console::say!("{:<12} DIED: {why}", target.name);
    clearway_console::say!("{}", command(target.name, seed));
    if kept {
        clearway_console::say!("the input is kept in {}", file.display());
    }
    false
}
