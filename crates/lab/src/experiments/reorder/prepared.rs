//! The programs of a workload before and after the reordering.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use clearway_reorder::profile::{Key, Profile, RUNTIME};

use super::{
    programs::Driven,
    rewriting::{self, Tool},
    site::{DELAYS, Setting, Site},
    workload::examples,
};
use crate::experiment::Outcome;

/// The time of a run that chooses between delays or orders, and of one that measures a profile.
const PROBE: Duration = Duration::from_millis(1_500);
const PROFILE: Duration = Duration::from_millis(2_000);
/// The number of runs of which the busiest counts, since short runs differ.
const PROBES: u32 = 2;
/// The greatest share of busy processors at which a delay shows the effect of locks.
const BUSY_MOST: f64 = 0.8;

/// The programs of a workload.
pub(crate) struct Prepared {
    pub(crate) original: PathBuf,
    pub(crate) reordered: PathBuf,
    /// The sources of the reordered program.
    sources: Vec<PathBuf>,
    tool: Tool,
    /// The delay at which the workload is compared, in microseconds.
    pub(crate) delay_us: u32,
    /// The way in which the order was found, and the costs, for people.
    pub(crate) summary: String,
}

/// A measured query.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct QueryTime {
    pub(crate) key: Key,
    /// The time that a transaction spends in it on average, in nanoseconds.
    pub(crate) ns: u64,
}

/// The rewritten texts of the sources of a workload.
struct Texts {
    texts: Vec<String>,
    summary: String,
}

impl Prepared {
    /// Reorders a workload by estimates, and builds both programs. The delay is that of `setting`.
    pub(crate) fn by_estimates(site: &mut Site, setting: &Setting<'_>) -> Outcome<Prepared> {
        let (workload, system) = (setting.workload, setting.system);
        let tool = Tool::new(system, workload.data.schema(system), workload.distinct)?;
        let originals = originals(setting);
        let estimated = reorder(&tool, &originals, None)?;
        let name = name(setting);
        let original = site.builder.driver(system, &originals, "", &format!("{name}-original"))?;
        let (sources, reordered) = build(site, setting, &estimated, "reordered")?;
        let summary = format!("{}: by estimates: {}", workload.name, estimated.summary);
        Ok(Prepared { original, reordered, sources, tool, delay_us: setting.delay_us, summary })
    }

    /// Builds a program that has nothing to reorder, as both programs.
    pub(crate) fn unchanged(site: &mut Site, setting: &Setting<'_>) -> Outcome<Prepared> {
        let workload = setting.workload;
        let system = setting.system;
        let tool = Tool::new(system, workload.data.schema(system), workload.distinct)?;
        let originals = originals(setting);
        let original = site.builder.driver(system, &originals, "", &name(setting))?;
        let (reordered, sources) = (original.clone(), originals);
        let summary = format!("{}: as it is", workload.name);
        Ok(Prepared { original, reordered, sources, tool, delay_us: setting.delay_us, summary })
    }

    /// Reorders a workload by estimates like [`Prepared::by_estimates`], chooses the delay if
    /// `delay` is `None`, and takes the order by a profile if it is the better one. The profile is
    /// measured on the server with the setting's clients and size, and with the delay. If the
    /// better order makes the processors too busy, the delay is chosen again.
    pub(crate) fn by_profile(
        site: &mut Site,
        setting: &Setting<'_>,
        delay: Option<u32>,
    ) -> Outcome<Prepared> {
        let mut prepared = Prepared::by_estimates(site, setting)?;
        prepared.delay_us = match delay {
            Some(delay) => delay,
            None => prepared.choose_delay(site, setting)?,
        };
        let is_other = prepared.compare_profile(site, setting)?;
        if is_other && delay.is_none() {
            prepared.delay_us = prepared.choose_delay(site, setting)?;
        }
        Ok(prepared)
    }

    /// Takes the order by a profile if it is another one and better. Returns true if it is taken.
    fn compare_profile(&mut self, site: &mut Site, setting: &Setting<'_>) -> Outcome<bool> {
        let setting = &Setting { delay_us: self.delay_us, time: PROFILE, ..*setting };
        let originals = originals(setting);
        let run = self.profile(site, setting, &originals, "profile")?;
        let measured = match reorder(&self.tool, &originals, Some(&run.0)) {
            Ok(texts) => texts,
            Err(error) => {
                self.summary += &format!("; not by a profile: {error}");
                return Ok(false);
            }
        };
        if measured.texts == read_all(&self.sources)? {
            self.summary += "; a profile gives the same order";
            return Ok(false);
        }
        let (sources, program) = build(site, setting, &measured, "profiled")?;
        let setting = &Setting { time: PROBE, ..*setting };
        let before = site.drive(setting, &self.reordered)?.tps;
        let after = site.drive(setting, &program)?.tps;
        let compared = format!("by estimates {before:.0}/s, by a profile {after:.0}/s");
        if after > before {
            self.summary = format!("{}: by a profile: {}", setting.workload.name, measured.summary);
            (self.sources, self.reordered) = (sources, program);
        }
        self.summary += &format!("; {compared}");
        Ok(after > before)
    }

    /// Returns the smallest delay at which the processors are not too busy; the largest if there
    /// is none.
    fn choose_delay(&mut self, site: &mut Site, setting: &Setting<'_>) -> Outcome<u32> {
        for delay_us in DELAYS {
            let setting = Setting { delay_us, time: PROBE, ..*setting };
            let mut busy = 0.0_f64;
            for seed in 0..PROBES {
                busy = busy.max(site.drive(&Setting { seed, ..setting }, &self.reordered)?.busy);
            }
            self.summary += &format!("; {:.0} % busy at {delay_us} µs", busy * 100.0);
            if busy <= BUSY_MOST {
                return Ok(delay_us);
            }
        }
        Ok(*DELAYS.last().unwrap_or(&0))
    }

    /// Returns the queries of the original program in the order of the source.
    pub(crate) fn queries(&self, setting: &Setting<'_>) -> Outcome<Vec<Key>> {
        let mut keys = Vec::new();
        for source in originals(setting) {
            keys.extend(self.tool.instrument(&source, &fs::read_to_string(&source)?)?.1);
        }
        Ok(keys)
    }

    /// Measures the time of each query, in the original or in the reordered program.
    pub(crate) fn query_times(
        &self,
        site: &mut Site,
        setting: &Setting<'_>,
        reordered: bool,
    ) -> Outcome<(Driven, Vec<QueryTime>)> {
        let (sources, label) = match reordered {
            true => (self.sources.clone(), "reordered-times"),
            false => (originals(setting), "original-times"),
        };
        let (profile, driven) = self.profile(site, setting, &sources, label)?;
        let transactions = transactions(&profile).max(1);
        let times = profile.queries.into_iter();
        let times = times.map(|(key, times)| QueryTime { key, ns: times.sum / transactions });
        Ok((driven, times.collect()))
    }

    /// Runs the instrumented program of some sources.
    fn profile(
        &self,
        site: &mut Site,
        setting: &Setting<'_>,
        sources: &[PathBuf],
        label: &str,
    ) -> Outcome<(Profile, Driven)> {
        let name = format!("{}-{label}", name(setting));
        let folder = site.folder(&name)?;
        let file = folder.join("profile.json");
        for (name, text) in RUNTIME {
            fs::write(folder.join(name), text)?;
        }
        let mut files = vec![folder.join("clearway_profile.c")];
        for source in sources {
            let (text, _) = self.tool.instrument(source, &fs::read_to_string(source)?)?;
            files.push(written(&folder, source, &text)?);
        }
        let flags = format!("-I{}", folder.display());
        let program = site.builder.driver(setting.system, &files, &flags, &name)?;
        let driven = site.drive_measured(setting, &program, Some(&file))?;
        Ok((Profile::read(&file)?, driven))
    }
}

/// Returns the number of transactions of a run: that of their begins, if they are measured.
fn transactions(profile: &Profile) -> u64 {
    let is_begin = |key: &Key| key.sql.eq_ignore_ascii_case("BEGIN");
    let begins = profile.queries.iter().filter(|(key, _)| is_begin(key));
    let begins: u64 = begins.map(|(_, times)| times.count).sum();
    let most = profile.queries.values().map(|times| times.count).max();
    if begins > 0 { begins } else { most.unwrap_or(0) }
}

fn originals(setting: &Setting<'_>) -> Vec<PathBuf> {
    let sources = setting.workload.sources(setting.system);
    sources.iter().map(|source| examples().join(source)).collect()
}

fn name(setting: &Setting<'_>) -> String {
    let workload = setting.workload.name.replace(' ', "_");
    format!("{workload}-{:?}", setting.system).to_lowercase()
}

fn reorder(tool: &Tool, sources: &[PathBuf], profile: Option<&Profile>) -> Outcome<Texts> {
    let (mut texts, mut summaries) = (Vec::new(), Vec::new());
    for source in sources {
        let rewritten = tool.reorder(source, &fs::read_to_string(source)?, profile)?;
        summaries.push(rewriting::summary(&rewritten));
        texts.push(rewritten.text);
    }
    Ok(Texts { texts, summary: summaries.join(", ") })
}

/// Writes texts and builds the program of them.
fn build(
    site: &mut Site,
    setting: &Setting<'_>,
    texts: &Texts,
    label: &str,
) -> Outcome<(Vec<PathBuf>, PathBuf)> {
    let name = format!("{}-{label}", name(setting));
    let folder = site.folder(&name)?;
    let files: Outcome<Vec<PathBuf>> = originals(setting)
        .iter()
        .zip(&texts.texts)
        .map(|(source, text)| written(&folder, source, text))
        .collect();
    let files = files?;
    let program = site.builder.driver(setting.system, &files, "", &name)?;
    Ok((files, program))
}

/// Writes a text to a file in `folder` with the name of `source`.
fn written(folder: &Path, source: &Path, text: &str) -> Outcome<PathBuf> {
    let path = folder.join(source.file_name().ok_or("a source has no name")?);
    fs::write(&path, text)?;
    Ok(path)
}

fn read_all(files: &[PathBuf]) -> Outcome<Vec<String>> {
    files.iter().map(|file| fs::read_to_string(file).map_err(Into::into)).collect()
}
