//! One run of a test program: its environment, its end, what it printed, and its log.

use std::{
    ffi::OsString,
    fmt, fs,
    os::unix::process::ExitStatusExt,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
};

use super::{
    VerifyError,
    lines::restored,
    log::{self, Event},
};

/// The exit code that a sanitizer gives a program that it ends.
const SANITIZER: i32 = 99;
/// The exit codes of the mock, as in `mock_core.h`.
const UNSUPPORTED: i32 = 96;
const TOO_MANY: i32 = 97;
const NO_MEMORY: i32 = 98;

/// The parts that the runs of both programs share: a seed, and at most one failure.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Case {
    /// The seed of the inputs and of the rows.
    pub seed: u64,
    /// The failure that the mock makes.
    pub failure: Option<Failure>,
}

/// A query that the mock makes fail.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure {
    /// The key of the query in the log.
    pub key: String,
    /// The SQLSTATE, or SQLite's code; `LOST` for a lost connection, `EMPTY` for no row.
    pub code: &'static str,
    /// The text of the query, for messages.
    pub sql: String,
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "seed {}", self.seed)?;
        match &self.failure {
            None => Ok(()),
            Some(Failure { code: "LOST", sql, .. }) => write!(f, ", connection lost at: {sql}"),
            Some(Failure { code: "EMPTY", sql, .. }) => write!(f, ", no row for: {sql}"),
            Some(Failure { code, sql, .. }) if code.contains('_') => {
                write!(f, ", {code} at: {sql}")
            }
            Some(Failure { code, sql, .. }) => write!(f, ", SQLSTATE {code} at: {sql}"),
        }
    }
}

/// The end of a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Ending {
    /// The call returned.
    Returned,
    /// The program ended itself within the call.
    Exited(i32),
    /// The program broke: a signal, a sanitizer, no end. Its behaviour is undefined.
    Broke(String),
}

/// A run.
#[derive(Debug)]
pub(crate) struct Run {
    pub ending: Ending,
    pub events: Vec<Event>,
    pub output: String,
    pub errors: String,
    /// The request of the program that the mock cannot serve; the run ended there.
    pub unsupported: Option<String>,
}

impl Run {
    /// Returns the queries of the call, those of the setup excluded.
    pub(crate) fn call(&self) -> &[Event] {
        let begin = self.events.iter().position(|event| *event == Event::Begins);
        &self.events[begin.unwrap_or(0)..]
    }
}

/// The files that the runs read and write.
pub(crate) struct Place {
    /// The directory of the logs.
    pub directory: PathBuf,
    /// The file with the columns' types.
    pub columns: PathBuf,
    /// The file with the tables' keys.
    pub keys: PathBuf,
    /// The file with the prepared statements.
    pub prepared: PathBuf,
    /// The seconds that a call may take.
    pub limit: u64,
}

/// Runs both programs on a case, at the same time.
///
/// # Errors
/// [`VerifyError::Unsupported`] if the mock cannot run the original. What it cannot do of the
/// rewritten program alone, such as a statement that is not prepared yet, is a difference.
pub(crate) fn run_both(
    programs: [&Path; 2],
    case: &Case,
    place: &Place,
) -> Result<[Run; 2], VerifyError> {
    let logs = ["original.log", "rewritten.log"].map(|name| place.directory.join(name));
    let first = start(programs[0], case, &logs[0], place)?;
    let second = start(programs[1], case, &logs[1], place)?;
    let (first, second) = (finish(first, &logs[0]), finish(second, &logs[1]));
    let (first, second) = (first?, second?);
    match first.unsupported {
        Some(what) => Err(VerifyError::Unsupported(what)),
        None => Ok([first, second]),
    }
}

/// Runs a program on a case, alone.
///
/// # Errors
/// [`VerifyError::Unsupported`] if the mock cannot run it.
pub(crate) fn run_alone(program: &Path, case: &Case, place: &Place) -> Result<Run, VerifyError> {
    let log = place.directory.join("original.log");
    let run = finish(start(program, case, &log, place)?, &log)?;
    match run.unsupported {
        Some(what) => Err(VerifyError::Unsupported(what)),
        None => Ok(run),
    }
}

fn start(program: &Path, case: &Case, log: &Path, place: &Place) -> Result<Child, VerifyError> {
    let file = |error| VerifyError::File { path: log.to_owned(), error };
    fs::write(log, "").map_err(file)?;
    let mut command = Command::new(program);
    command
        .env("MOCKDB_LOG", log)
        .env("MOCKDB_SEED", case.seed.to_string())
        .env("MOCKDB_COLUMNS", &place.columns)
        .env("MOCKDB_KEYS", &place.keys)
        .env("MOCKDB_PREPARED", &place.prepared)
        .env("MOCKDB_LIMIT", place.limit.to_string())
        .env_remove("MOCKDB_FAIL")
        .env("ASAN_OPTIONS", sanitizer_options())
        .env("UBSAN_OPTIONS", sanitizer_options())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    if let Some(failure) = &case.failure {
        command.env("MOCKDB_FAIL", format!("{}:{}", failure.key, failure.code));
    }
    let cannot_start = |error| VerifyError::Start { program: program.display().to_string(), error };
    command.spawn().map_err(cannot_start)
}

fn sanitizer_options() -> OsString {
    format!("exitcode={SANITIZER}:detect_leaks=0:halt_on_error=1:handle_abort=0").into()
}

fn finish(child: Child, log: &Path) -> Result<Run, VerifyError> {
    let file = |error| VerifyError::File { path: log.to_owned(), error };
    let output = child.wait_with_output().map_err(file)?;
    let text = fs::read(log).map_err(file)?;
    let mut events = log::read(&whole_lines(&String::from_utf8_lossy(&text)))?;
    let unsupported = unsupported(&events);
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    let returned = events.contains(&Event::Ends);
    events.retain(|event| *event != Event::Ends);
    Ok(Run {
        ending: match &unsupported {
            Some(what) => Ending::Broke(format!("the mock does not know {what}")),
            None => ending(output.status, returned, &errors),
        },
        events,
        output: String::from_utf8_lossy(&output.stdout).into_owned(),
        errors,
        unsupported,
    })
}

/// Cuts off a last line that has no end: the program broke while the mock wrote it.
fn whole_lines(text: &str) -> String {
    text.rfind('\n').map_or(String::new(), |end| text[..=end].to_owned())
}

fn unsupported(events: &[Event]) -> Option<String> {
    events.iter().find_map(|event| match event {
        Event::Unsupported { what } => Some(what.clone()),
        _ => None,
    })
}

fn ending(status: ExitStatus, returned: bool, errors: &str) -> Ending {
    let report = || {
        let line = errors.lines().find(|line| line.contains("ERROR:") || line.contains("error:"));
        restored(line.unwrap_or("a sanitizer ended it").trim())
    };
    match status.code() {
        None if status.signal() == Some(14) => Ending::Broke("the call takes too long".to_owned()),
        None => Ending::Broke(format!("signal {}", status.signal().unwrap_or(0))),
        Some(SANITIZER) => Ending::Broke(report()),
        Some(TOO_MANY) => Ending::Broke("the call runs more than 10000 queries".to_owned()),
        Some(NO_MEMORY | UNSUPPORTED) => Ending::Broke("the mock could not go on".to_owned()),
        Some(_) if returned => Ending::Returned,
        Some(code) => Ending::Exited(code),
    }
}
