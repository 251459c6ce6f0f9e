//! A database server of its own, in a directory of the experiment.
//!
//! Invariants:
//! - LAB-SERVER-1. A server ends when its [`Server`] is dropped, and also if the lab is killed
//!   (LAB-GUARD-1). It is in a process group of its own, so that Ctrl-C reaches the lab only.

use std::{
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use super::workload::{System, examples};
use crate::experiment::Outcome;

/// A running server.
pub(super) struct Server {
    system: System,
    directory: PathBuf,
}

impl Server {
    /// Starts a server with its data in `directory`. `options` are further options of the server.
    pub(super) fn start(system: System, directory: PathBuf, options: &str) -> Outcome<Server> {
        let started = Command::new(script(system))
            .arg("start")
            .arg(&directory)
            .env(options_variable(system), options)
            .process_group(0)
            .stdin(Stdio::null())
            .output()?;
        // A server that did not start in time may still run.
        let server = Server { system, directory };
        if started.status.success() {
            return Ok(server);
        }
        let message = String::from_utf8_lossy(&started.stderr);
        let name = system.name();
        Err(format!("needs {name}, whose server does not start: {}", message.trim()).into())
    }

    /// Returns the path of the server's socket.
    pub(super) fn socket(&self) -> PathBuf {
        match self.system {
            System::MariaDb => self.directory.join("socket"),
            System::Postgres => self.directory.join("socket").join(POSTGRES_SOCKET),
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let mut stop = Command::new(script(self.system));
        stop.arg("stop").arg(&self.directory).stdin(Stdio::null()).process_group(0);
        // If there is nothing to stop, the script fails.
        let _ = stop.output();
    }
}

/// The name that libpq gives the socket in a directory.
const POSTGRES_SOCKET: &str = ".s.PGSQL.5432";

/// Returns a path for a socket in `directory` that a client finds.
pub(super) fn socket_in(system: System, directory: &Path) -> PathBuf {
    match system {
        System::MariaDb => directory.join("proxy"),
        System::Postgres => directory.join(POSTGRES_SOCKET),
    }
}

/// Returns the driver's address of the server behind a socket.
pub(super) fn address(system: System, socket: &Path) -> String {
    match system {
        System::MariaDb => socket.display().to_string(),
        System::Postgres => {
            let directory = socket.parent().unwrap_or(socket).display();
            format!("host={directory} user=tpcc dbname=tpcc")
        }
    }
}

fn script(system: System) -> PathBuf {
    examples().join("servers").join(match system {
        System::MariaDb => "mariadb.sh",
        System::Postgres => "postgres.sh",
    })
}

fn options_variable(system: System) -> &'static str {
    match system {
        System::MariaDb => "MARIADB_OPTIONS",
        System::Postgres => "PG_OPTIONS",
    }
}
