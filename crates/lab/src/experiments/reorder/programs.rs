//! Building and running the programs of `crates/reorder/examples`.

use std::{
    path::{Path, PathBuf},
    process::{Command, Output},
    time::Duration,
};

use serde_json::Value;

use super::workload::{System, examples};
use crate::experiment::{Outcome, Sample};

/// The measurements of one run of the driver.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Driven {
    /// Transactions in each second.
    pub(crate) tps: f64,
    /// The latency of a transaction with all its attempts: the mean and the 95th percentile.
    pub(crate) mean_ms: f64,
    pub(crate) p95_ms: f64,
    /// The share of attempts whose transaction the server has rolled back.
    pub(crate) aborted: f64,
    /// The share of the time of all processors of the machine that was not idle.
    pub(crate) busy: f64,
}

impl Driven {
    /// Reads the driver's report.
    fn read(text: &[u8]) -> Outcome<Driven> {
        let report: Value = serde_json::from_slice(text)?;
        let number = |name: &str| {
            report[name].as_f64().ok_or_else(|| format!("the driver's report has no {name}"))
        };
        let (count, aborts) = (number("count")?, number("aborts")?);
        Ok(Driven {
            tps: number("per_second")?,
            mean_ms: number("mean_ms")?,
            p95_ms: number("p95_ms")?,
            aborted: if aborts > 0.0 { aborts / (count + aborts) } else { 0.0 },
            busy: number("processors_busy")?,
        })
    }

    pub(crate) fn sample(&self) -> Sample {
        vec![
            ("tps", self.tps),
            ("mean ms", self.mean_ms),
            ("p95 ms", self.p95_ms),
            ("aborted %", self.aborted * 100.0),
            ("busy %", self.busy * 100.0),
        ]
    }
}

/// The settings of a run of the driver.
pub(super) struct Drive<'a> {
    pub(super) program: &'a Path,
    pub(super) address: String,
    pub(super) clients: u32,
    /// The driver's name for the number of shared rows, and the number.
    pub(super) size: (&'static str, u32),
    pub(super) mix: &'static str,
    pub(super) time: Duration,
    pub(super) warmup: Duration,
    pub(super) seed: u32,
    /// True if the driver is to check the consistency conditions of the database at the end.
    pub(super) checks: bool,
    /// The file that an instrumented program writes.
    pub(super) profile: Option<&'a Path>,
}

impl Drive<'_> {
    /// Runs the driver.
    ///
    /// # Errors
    /// Also if the database violates a consistency condition afterwards.
    pub(super) fn run(&self) -> Outcome<Driven> {
        let mut command = Command::new(self.program);
        let (size_name, size) = self.size;
        command.arg(&self.address).args([
            format!("clients={}", self.clients),
            format!("seconds={}", self.time.as_secs_f64()),
            format!("warmup={}", self.warmup.as_secs_f64()),
            format!("seed={}", self.seed),
            format!("check={}", u8::from(self.checks)),
            format!("{size_name}={size}"),
        ]);
        if !self.mix.is_empty() {
            command.arg(format!("mix={}", self.mix));
        }
        if let Some(profile) = self.profile {
            command.env("CLEARWAY_PROFILE", profile);
        }
        Driven::read(&finished(command.output()?, "the driver")?.stdout)
    }
}

/// Returns the output of a program that has succeeded; otherwise its last messages as an error.
pub(super) fn finished(output: Output, what: &str) -> Outcome<Output> {
    if output.status.success() {
        return Ok(output);
    }
    let messages = String::from_utf8_lossy(&output.stderr);
    let mut last: Vec<&str> = messages.trim().lines().rev().take(5).collect();
    last.reverse();
    Err(format!("{what} failed: {}", last.join("\n")).into())
}

/// The folder for programs, and make.
pub(super) struct Builder {
    folder: PathBuf,
}

impl Builder {
    pub(super) fn new(folder: PathBuf) -> Builder {
        Builder { folder }
    }

    /// Builds a program that the Makefile knows, for a system, and returns its path.
    pub(super) fn known(&self, system: System, name: &str) -> Outcome<PathBuf> {
        let program = self.folder.join(match system {
            System::MariaDb => format!("mariadb_{name}"),
            System::Postgres => name.to_string(),
        });
        self.make(&[&program.display().to_string()])?;
        Ok(program)
    }

    /// Builds the driver with transactions from the given sources. `flags` are further flags of
    /// the compiler.
    pub(super) fn driver(
        &self,
        system: System,
        sources: &[PathBuf],
        flags: &str,
        name: &str,
    ) -> Outcome<PathBuf> {
        let program = self.folder.join(name);
        let target = match system {
            System::MariaDb => "mariadb-driver",
            System::Postgres => "driver",
        };
        let sources: Vec<String> = sources.iter().map(|path| path.display().to_string()).collect();
        self.make(&[
            target,
            &format!("SOURCES={}", sources.join(" ")),
            &format!("OUT={}", program.display()),
            &format!("CFLAGS=-O2 -g {flags}"),
        ])?;
        Ok(program)
    }

    fn make(&self, arguments: &[&str]) -> Outcome<()> {
        let mut command = Command::new("make");
        command
            .arg("--silent")
            .arg("-C")
            .arg(examples())
            .arg(format!("BUILD={}", self.folder.display()))
            .args(arguments)
            // A `make` that runs the lab would pass its own flags on.
            .env_remove("MAKEFLAGS")
            .env_remove("MFLAGS");
        finished(command.output()?, "make")?;
        Ok(())
    }
}

/// Returns an error that names a program which is not installed.
pub(super) fn need(program: &str, package: &str) -> Outcome<()> {
    let search = std::env::var_os("PATH").unwrap_or_default();
    // Debian has the servers in a folder that is in no user's search path.
    let folders = std::env::split_paths(&search).chain([PathBuf::from("/usr/sbin")]);
    let mut found = folders.map(|folder| folder.join(program));
    if found.any(|path| path.is_file()) {
        return Ok(());
    }
    Err(format!("needs {package}: {program} is not installed").into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_report_of_the_driver_is_read() {
        let text = br#"{"count": 30, "per_second": 15.0, "mean_ms": 2.5, "p95_ms": 4.0,
            "aborts": 10, "processors_busy": 0.5}"#;
        let driven = Driven::read(text).unwrap();
        assert_eq!((driven.tps, driven.mean_ms, driven.p95_ms), (15.0, 2.5, 4.0));
        assert_eq!((driven.aborted, driven.busy), (0.25, 0.5));
        assert!(Driven::read(br#"{"count": 30}"#).is_err());
        assert!(Driven::read(b"no report").is_err());
    }

    #[test]
    fn a_missing_program_is_named() {
        let error = need("no-such-program", "MariaDB").unwrap_err().to_string();
        assert_eq!(error, "needs MariaDB: no-such-program is not installed");
        assert!(need("sh", "a shell").is_ok());
    }
}
