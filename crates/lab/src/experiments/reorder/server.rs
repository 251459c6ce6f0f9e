//! A database server of its own, in a directory of the experiment.
//!
//! Invariants:
//! - LAB-SERVER-1. A server ends when its [`Server`] is dropped, and also if the lab is killed: a
//!   guard, which is a process of its own, stops the server as soon as the pipe to the lab closes.
//!   Server and guard are in process groups of their own, so that Ctrl-C reaches the lab only.

use std::{
    io::Write,
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use super::workload::{System, examples};
use crate::experiment::Outcome;

/// Waits for a line on its input, and stops the server in `$1`. If the input ends without a line,
/// the lab was killed: then the guard also removes the directory `$2`. A server that is just
/// starting cannot be stopped yet, so several attempts are made.
const GUARD: &str = r#"
if read -r line; then
    "$0" stop "$1"
else
    left=40
    until "$0" stop "$1" || [ "$left" -eq 0 ]; do
        left=$((left - 1))
        sleep 0.5
    done
    rm -rf "$2"
fi"#;

/// A running server.
pub(super) struct Server {
    system: System,
    directory: PathBuf,
    guard: Child,
}

impl Server {
    /// Starts a server with its data in `directory`, which is in `place`, the directory of the
    /// experiment. `options` are further options of the server.
    pub(super) fn start(
        system: System,
        place: &Path,
        directory: PathBuf,
        options: &str,
    ) -> Outcome<Server> {
        let script = script(system);
        let guard = Command::new("sh")
            .args(["-c", GUARD])
            .args([&script, &directory, place])
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let started = Command::new(&script)
            .arg("start")
            .arg(&directory)
            .env(options_variable(system), options)
            .process_group(0)
            .stdin(Stdio::null())
            .output()?;
        let mut server = Server { system, directory, guard };
        if started.status.success() {
            return Ok(server);
        }
        // There is nothing to stop; a guard without a server ends with an error.
        server.stop();
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

    fn stop(&mut self) {
        if let Some(mut input) = self.guard.stdin.take() {
            // If the guard has ended, so has the server.
            let _ = input.write_all(b"stop\n");
        }
        let _ = self.guard.wait();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
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
