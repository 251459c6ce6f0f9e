//! The process that cleans up if the lab is killed.
//!
//! Invariants:
//! - LAB-GUARD-1. If the lab ends without dropping its [`Guard`], the server that runs is stopped
//!   and the directory of the experiment is removed: the guard sees the pipe to the lab close
//!   without a last line.
//! - LAB-GUARD-2. The guard is in a process group of its own, so that Ctrl-C reaches the lab only.

use std::{
    io::{self, Write},
    os::unix::process::CommandExt,
    path::Path,
    process::{Child, Command, Stdio},
};

use super::workload::examples;

/// The line of a lab that has stopped its server.
const END: &str = "end";

/// Reads the names of the folders of servers in `$0`, the directory of the experiment; the last one
/// is that of the server that runs. The scripts are in `$1`, and the name of a folder begins with
/// that of its script. A server that is just starting cannot be stopped yet, so several attempts
/// are made.
const SCRIPT: &str = r#"
server=
while IFS= read -r line; do
    [ "$line" != end ] || exit 0
    server=$line
done
if [ -n "$server" ]; then
    left=40
    until "$1/${server%%-*}.sh" stop "$0/$server" || [ "$left" -eq 0 ]; do
        left=$((left - 1))
        sleep 0.5
    done
fi
rm -rf "$0""#;

/// A guard of the directory of an experiment.
pub(super) struct Guard(Child);

impl Guard {
    /// Starts the guard of a directory.
    pub(super) fn start(directory: &Path) -> io::Result<Guard> {
        let process = Command::new("sh")
            .args(["-c", SCRIPT])
            .args([directory, &examples().join("servers")])
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        Ok(Guard(process))
    }

    /// Names the folder of the server that starts next; no other one runs.
    pub(super) fn expect(&mut self, folder: &str) -> io::Result<()> {
        match &mut self.0.stdin {
            Some(input) => writeln!(input, "{folder}"),
            None => Ok(()),
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if let Some(mut input) = self.0.stdin.take() {
            // A guard that has been killed needs no line.
            let _ = writeln!(input, "{END}");
        }
        let _ = self.0.wait();
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, thread::sleep, time::Duration};

    use super::*;

    #[test]
    fn a_guard_removes_the_directory_only_if_the_lab_was_killed() {
        let directory = tempfile::tempdir().unwrap();
        let [kept, removed] = ["kept", "removed"].map(|name| directory.path().join(name));
        for place in [&kept, &removed] {
            fs::create_dir(place).unwrap();
        }
        drop(Guard::start(&kept).unwrap());
        let mut killed = Guard::start(&removed).unwrap();
        // The kernel closes the pipe of a lab that was killed.
        drop(killed.0.stdin.take());
        let mut attempts = 0;
        while removed.exists() && attempts < 1000 {
            attempts += 1;
            sleep(Duration::from_millis(10));
        }
        assert!(!removed.exists());
        assert!(kept.exists());
    }
}
