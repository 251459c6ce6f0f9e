//! The front end: reads C and C++ with libclang, which is loaded at run time, and makes the IR.
//!
//! libclang shows a tree of the program after preprocessing, without operators, and with one place
//! for all that a macro makes. The front end gets the rest from the text:
//!
//! 1. libclang reads the file and reports errors, definitions of macros and uses of macros. If the
//!    file was read before, its headers are not read again (`precompiled`).
//! 2. The front end expands the uses (`expansion`) and lets libclang read the expanded text,
//!    in which everything has a place of its own. The trees of both texts must agree.
//! 3. Functions, statements and expressions are lowered with the tokens of the expanded text, and
//!    their places are mapped back to the file (`expanded`).
//!
//! Invariants: the range of a statement or an expression is the text that stands for exactly it;
//! where there is no such text, the range of an expression is `None`, and the statement around it
//! becomes opaque. What the tokens do not confirm is opaque.
//!
//! One thread of the process owns libclang and reads one file at a time.

mod agreement;
mod calls;
mod compound;
mod constants;
mod defaults;
mod endings;
mod expanded;
mod expansion;
mod expressions;
mod functions;
mod headers;
mod library;
mod lowering;
mod macros;
mod members;
mod operators;
mod owners;
mod precompiled;
mod replaceable;
mod statements;
pub(crate) mod tokens;
mod types;
mod units;

use std::{
    fmt, io,
    path::{Path, PathBuf},
    sync::{
        Arc, OnceLock,
        atomic::{AtomicUsize, Ordering},
        mpsc::{Sender, channel},
    },
    thread,
};

pub use self::library::prepare;
use crate::ir::Program;

/// The size of the stack on which trees are walked; they may be deep.
const STACK: usize = 256 << 20;

/// A loaded libclang.
#[derive(Clone)]
pub struct FrontEnd {
    requests: Sender<Request>,
    reads: Arc<AtomicUsize>,
}

/// A mistake that libclang found in the source.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnostic {
    /// The file with the mistake.
    pub file: String,
    /// Its line, from 1.
    pub line: u32,
    /// Its column, from 1.
    pub column: u32,
    /// The mistake.
    pub message: String,
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}: {}", self.file, self.line, self.column, self.message)
    }
}

/// A reason why a file has no IR.
#[derive(Debug)]
pub enum FrontEndError {
    /// There is no libclang, or it cannot be loaded.
    NotFound {
        /// The message of the loader.
        detail: String,
    },
    /// libclang is in a folder that the loader does not search.
    Elsewhere {
        /// The library.
        path: PathBuf,
    },
    /// The file cannot be read.
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The reason.
        error: io::Error,
    },
    /// The source does not compile.
    DoesNotCompile {
        /// The file.
        path: PathBuf,
        /// The errors, in the order in which libclang found them.
        diagnostics: Vec<Diagnostic>,
    },
    /// libclang or the front end cannot read the file.
    Failed {
        /// The file.
        path: PathBuf,
        /// The cause.
        reason: String,
    },
}

impl fmt::Display for FrontEndError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FrontEndError::NotFound { detail } => write!(
                f,
                "libclang, which reads C and C++, is not found: install it with `apt install \
                 libclang1-14 libclang-common-14-dev` or `pip install libclang` ({detail})"
            ),
            FrontEndError::Elsewhere { path } => {
                let path = path.display();
                write!(
                    f,
                    "libclang is at {path}, which the loader does not search: run the program \
                     again with LIBCLANG_PATH={path}"
                )
            }
            FrontEndError::Unreadable { path, error } => {
                write!(f, "{}: the file cannot be read: {error}", path.display())
            }
            FrontEndError::DoesNotCompile { path, diagnostics } => {
                write!(
                    f,
                    "{}: the source does not compile; correct it, or give the missing compiler \
                     flags behind `--`:",
                    path.display()
                )?;
                diagnostics.iter().try_for_each(|one| write!(f, "\n  {one}"))
            }
            FrontEndError::Failed { path, reason } => {
                write!(f, "{}: libclang cannot read the file: {reason}", path.display())
            }
        }
    }
}

impl std::error::Error for FrontEndError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            FrontEndError::Unreadable { error, .. } => Some(error),
            _ => None,
        }
    }
}

/// A file to read.
struct Request {
    path: PathBuf,
    text: String,
    arguments: Vec<String>,
    reply: Sender<Result<Program, FrontEndError>>,
}

impl FrontEnd {
    /// Loads libclang: the library that `LIBCLANG_PATH` names, or else the newest one that a
    /// package installed. See [`prepare`] for libraries elsewhere.
    ///
    /// # Errors
    /// [`FrontEndError::NotFound`], or [`FrontEndError::Elsewhere`] if `CLEARWAY_LIBCLANG` names a
    /// library or Python has one that only [`prepare`] can load.
    pub fn load() -> Result<FrontEnd, FrontEndError> {
        static LOADED: OnceLock<Result<FrontEnd, String>> = OnceLock::new();
        if let Some(path) = library::elsewhere() {
            return Err(FrontEndError::Elsewhere { path });
        }
        match LOADED.get_or_init(start) {
            Ok(front_end) => Ok(front_end.clone()),
            Err(detail) => Err(FrontEndError::NotFound { detail: detail.clone() }),
        }
    }

    /// Returns how many times libclang has read the headers of a file since it was loaded.
    pub fn header_reads(&self) -> usize {
        self.reads.load(Ordering::Relaxed)
    }

    /// Reads a file, or `text` in its place, with the flags that the compiler gets for it.
    ///
    /// # Errors
    /// The file cannot be read, it does not compile, or libclang fails.
    pub fn parse(
        &self,
        path: &Path,
        text: Option<&str>,
        arguments: &[String],
    ) -> Result<Program, FrontEndError> {
        let text = match text {
            Some(text) => text.to_owned(),
            None => std::fs::read_to_string(path)
                .map_err(|error| FrontEndError::Unreadable { path: path.to_owned(), error })?,
        };
        let failed = |reason: &str| FrontEndError::Failed {
            path: path.to_owned(),
            reason: reason.to_owned(),
        };
        if path.to_str().is_none_or(|path| path.contains('\0')) {
            return Err(failed("its name is not UTF-8"));
        }
        if text.contains('\0') || arguments.iter().any(|one| one.contains('\0')) {
            return Err(failed("it contains a zero byte"));
        }
        let (reply, answer) = channel();
        let (path, arguments) = (path.to_owned(), arguments.to_vec());
        let request = Request { path, text, arguments, reply };
        let gone = || failed("the thread that reads files has ended");
        self.requests.send(request).map_err(|_| gone())?;
        answer.recv().map_err(|_| gone())?
    }
}

/// Starts the thread that owns libclang.
fn start() -> Result<FrontEnd, String> {
    let (requests, pending) = channel::<Request>();
    let (loaded, outcome) = channel();
    let reads = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&reads);
    let serve = move || {
        let clang = match clang::Clang::new() {
            Ok(clang) => clang,
            Err(detail) => {
                let _ = loaded.send(Err(detail));
                return;
            }
        };
        let _ = loaded.send(Ok(()));
        let mut cache = precompiled::Cache::new(&clang, counted);
        for request in pending {
            let read = std::panic::AssertUnwindSafe(|| {
                units::read(&clang, &mut cache, &request.path, &request.text, &request.arguments)
            });
            let result = std::panic::catch_unwind(read).unwrap_or_else(|panic| {
                let reason = panic.downcast_ref::<String>().map(String::as_str);
                let reason = reason.or_else(|| panic.downcast_ref::<&str>().copied());
                let reason = reason.unwrap_or("the front end panicked").to_owned();
                Err(FrontEndError::Failed { path: request.path.clone(), reason })
            });
            let _ = request.reply.send(result);
        }
    };
    let thread = thread::Builder::new().name("libclang".to_owned()).stack_size(STACK);
    thread.spawn(serve).map_err(|error| error.to_string())?;
    outcome.recv().map_err(|error| error.to_string())??;
    Ok(FrontEnd { requests, reads })
}
