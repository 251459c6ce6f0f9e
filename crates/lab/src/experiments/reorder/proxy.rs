//! The proxy that makes round trips longer: `examples/proxy.c`.

use std::{
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use crate::experiment::Outcome;

/// Runs a program until its own input ends: when the proxy is dropped, or the lab was killed.
const UNTIL_INPUT_ENDS: &str = r#""$0" "$@" </dev/null & cat >/dev/null; kill "$!""#;

/// A running proxy; it ends when it is dropped.
pub(super) struct Proxy {
    process: Child,
    socket: PathBuf,
}

impl Proxy {
    /// Starts a proxy that listens on `socket` and delays what it sends to `server` by
    /// `delay_us` microseconds.
    pub(super) fn start(
        program: &Path,
        socket: PathBuf,
        server: &Path,
        delay_us: u32,
    ) -> Outcome<Proxy> {
        let mut process = Command::new("sh")
            .args(["-c", UNTIL_INPUT_ENDS])
            .args([program, &socket, server])
            .arg(delay_us.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut line = String::new();
        if let Some(output) = process.stdout.take() {
            BufReader::new(output).read_line(&mut line)?;
        }
        let proxy = Proxy { process, socket };
        if line.is_empty() { Err("the proxy does not start".into()) } else { Ok(proxy) }
    }

    pub(super) fn socket(&self) -> &Path {
        &self.socket
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        let _ = self.process.wait();
    }
}
