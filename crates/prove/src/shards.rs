//! Distributes the cases of a lane over processes.
//!
//! Threads would not scale: opening a database, reading pages in and evicting them change the
//! kernel's page table of the process, and its threads contend for that. To use several cores, a
//! lane starts its own program once for each core and adds up the counts of all shards.

use std::{
    collections::BTreeMap,
    fmt,
    io::{self, BufRead, BufReader},
    num::NonZeroU64,
    ops::AddAssign,
    process::{Child, ChildStdout, Command, Stdio},
    str::FromStr,
    time::{Duration, Instant},
};

use clearway_sync::thread;
use clearway_testkit::Drawn;

/// Every `of`-th case, from case `index` on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shard {
    index: u64,
    of: NonZeroU64,
}

impl Shard {
    /// All cases.
    pub const WHOLE: Shard = Shard { index: 0, of: NonZeroU64::MIN };

    /// The numbers of its cases in ascending order, without end.
    pub(crate) fn numbers(self) -> impl Iterator<Item = u64> {
        (self.index..).step_by(self.of.get() as usize)
    }

    pub(crate) fn is_first(self) -> bool {
        self.index == 0
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index, self.of)
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Shard, String> {
        let parsed = text.split_once('/').and_then(|(index, of)| {
            let shard = Shard { index: index.parse().ok()?, of: of.parse().ok()? };
            (shard.index < shard.of.get()).then_some(shard)
        });
        parsed.ok_or_else(|| format!("{text:?} is no shard, such as 0/2 or 1/2"))
    }
}

/// Named counters, which can be added up over the shards.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(crate) struct Counts(BTreeMap<String, u64>);

impl Counts {
    pub(crate) fn add(&mut self, name: &str, more: u64) {
        *self.0.entry(name.into()).or_default() += more;
    }

    pub(crate) fn get(&self, name: &str) -> u64 {
        self.0.get(name).copied().unwrap_or(0)
    }

    /// Adds the patterns that were drawn, under a prefix that no other counter has.
    pub(crate) fn add_drawn(&mut self, drawn: &Drawn) {
        Drawn::names().for_each(|name| self.add(&format!("{DRAWN}{name}"), drawn.count(name)));
    }

    /// Returns the patterns that were drawn.
    pub(crate) fn drawn(&self) -> Drawn {
        let mut drawn = Drawn::default();
        Drawn::names().for_each(|name| drawn.add(name, self.get(&format!("{DRAWN}{name}"))));
        drawn
    }
}

impl AddAssign<&Counts> for Counts {
    fn add_assign(&mut self, other: &Counts) {
        other.0.iter().for_each(|(name, more)| self.add(name, *more));
    }
}

/// The prefix of the counters of drawn patterns.
const DRAWN: &str = "drawn-";

/// The first word of the line in which a shard reports its counts.
const LINE: &str = "counts:";

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(LINE)?;
        self.0.iter().try_for_each(|(name, count)| write!(f, " {name}={count}"))
    }
}

impl Counts {
    /// Parses a line that the `Display` implementation printed; `None` for any other line.
    fn parse(line: &str) -> Option<Counts> {
        let pairs = line.strip_prefix(LINE)?.split_whitespace();
        let pair = |pair: &str| {
            let (name, count) = pair.split_once('=')?;
            Some((name.to_string(), count.parse().ok()?))
        };
        pairs.map(pair).collect::<Option<_>>().map(Counts)
    }
}

/// The processes that run the cases.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sharding {
    /// This number of child processes, each with the arguments of this one.
    Processes(usize),
    /// This process, which is one of the children and runs this shard.
    Shard(Shard),
}

impl Sharding {
    /// Runs `work`, which returns its counts and whether all cases passed, or `None` if it printed
    /// why it could not start. Then calls `print_summary` with the counts of all shards. Returns
    /// true if all cases passed.
    pub(crate) fn run(
        self,
        work: impl FnOnce(Shard) -> Option<(Counts, bool)>,
        print_summary: impl FnOnce(&Counts, Duration),
    ) -> bool {
        let begun = Instant::now();
        let done = match self {
            Sharding::Shard(shard) => {
                let Some((counts, all_passed)) = work(shard) else { return false };
                clearway_console::say!("{counts}");
                return all_passed;
            }
            Sharding::Processes(0 | 1) => work(Shard::WHOLE),
            Sharding::Processes(count) => Some(run_shards(count as u64)),
        };
        let Some((counts, all_passed)) = done else { return false };
        print_summary(&counts, begun.elapsed());
        all_passed
    }
}

/// A process that runs one shard, and the thread that reads its output.
struct Worker {
    child: Child,
    reader: thread::JoinHandle<Counts>,
}

/// Starts the shards and adds up their counts. The first shard that fails ends the others, which
/// would only find the same fault again.
fn run_shards(count: u64) -> (Counts, bool) {
    let shards = (0..count).filter_map(|index| Some(Shard { index, of: NonZeroU64::new(count)? }));
    let mut workers = Vec::new();
    let mut all_passed = true;
    for shard in shards {
        match start(shard) {
            Ok(worker) => workers.push(worker),
            Err(error) => {
                clearway_console::say!("shard {shard} does not start: {error}");
                all_passed = false;
            }
        }
    }
    all_passed &= wait_for(&mut workers);
    let mut counts = Counts::default();
    for mut worker in workers {
        let _ = worker.child.wait();
        match worker.reader.join() {
            Ok(shard) => counts += &shard,
            Err(_) => all_passed = false,
        }
    }
    (counts, all_passed)
}

fn start(shard: Shard) -> io::Result<Worker> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(std::env::args_os().skip(1)).args(["--shard", &shard.to_string()]);
    let mut child = command.stdout(Stdio::piped()).spawn()?;
    let output = child.stdout.take();
    let reader = thread::spawn(move || output.map_or_else(Counts::default, pass_on));
    Ok(Worker { child, reader })
}

/// Prints the output of a shard except for its counts, which it returns.
fn pass_on(output: ChildStdout) -> Counts {
    let mut counts = Counts::default();
    for line in BufReader::new(output).lines().map_while(Result::ok) {
        match Counts::parse(&line) {
            Some(shard) => counts += &shard,
            None => clearway_console::say!("{line}"),
        }
    }
    counts
}

/// Waits for all shards, and kills the others when one fails. Returns true if all succeeded.
fn wait_for(workers: &mut [Worker]) -> bool {
    loop {
        let mut is_running = false;
        for index in 0..workers.len() {
            match workers[index].child.try_wait() {
                Ok(None) => is_running = true,
                Ok(Some(status)) if status.success() => (),
                Ok(Some(_)) | Err(_) => {
                    workers.iter_mut().for_each(|worker| drop(worker.child.kill()));
                    return false;
                }
            }
        }
        if !is_running {
            return true;
        }
        thread::sleep(Duration::from_millis(20));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_share_all_numbers() {
        let shard =
            |text: &str| text.parse::<Shard>().unwrap().numbers().take(3).collect::<Vec<_>>();
        assert_eq!(shard("0/3"), [0, 3, 6]);
        assert_eq!(shard("1/3"), [1, 4, 7]);
        assert_eq!(shard("2/3"), [2, 5, 8]);
        assert_eq!(Shard::WHOLE.numbers().take(3).collect::<Vec<_>>(), [0, 1, 2]);
    }

    #[test]
    fn an_invalid_shard_is_refused() {
        for text in ["", "1", "2/2", "0/0", "-1/2", "a/b"] {
            assert!(text.parse::<Shard>().is_err(), "{text}");
        }
    }

    #[test]
    fn counts_go_through_a_line_and_add_up() {
        let mut counts = Counts::default();
        counts.add("cases", 3);
        counts.add("findings", 0);
        let read = Counts::parse(&counts.to_string()).unwrap();
        assert_eq!(read, counts);
        counts += &read;
        assert_eq!((counts.get("cases"), counts.get("unknown")), (6, 0));
        assert_eq!(Counts::parse("counts: cases"), None);
        assert_eq!(Counts::parse("ORACLE-1: counts: a=1"), None);
    }
}
