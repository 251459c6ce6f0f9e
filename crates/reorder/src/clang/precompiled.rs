//! The headers of a file, which libclang reads once for all texts of the file.
//!
//! The search for splits reads many texts of one file, which differ behind its headers only. When a
//! file is read for the second time, libclang precompiles the directives at its begin. It reads the
//! rest of all further texts with the result.
//!
//! Invariants
//! 1. *Same places.* Blanks stand in place of the directives that are precompiled.
//! 2. *Same program.* Only `#include` and `#define` are precompiled, as far as the last `#include`
//!    before the first token. A text that cannot be read with precompiled headers is read without.
//! 3. *No trace.* The file with the precompiled headers has no name, so that it ends with the
//!    process.
//! 4. *No old header.* If a header has another size or time than before, the headers are
//!    precompiled again. A new header that hides one of them by its folder is not noticed.
//!
//! libclang lists what stands behind precompiled headers in the order in which it was analysed, the
//! instances of templates among it; [`functions`](super::functions) leaves them out.
//!
//! Measured (2026-11-25, 2 cores beside other work): a file of 5,509 lines with 50 transactions and
//! 70 splits is rewritten in 9.9 s of processor time, and in 13.8 s without this module.

use std::{
    collections::BTreeSet,
    fs::File,
    path::{Path, PathBuf},
    rc::Rc,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::SystemTime,
};

use clang::{Clang, EntityKind, Index, TranslationUnit, Unsaved, diagnostic::Severity};

use super::{headers, macros::HeaderMacros, tokens::Lexed};
use crate::ir::Language;

/// The number of files whose headers are kept. A split may include one header more, so that two
/// texts of a file have different headers.
const FILES_MAX: usize = 8;

/// Flags that include further files, which precompiled headers would include twice.
const INCLUDING: [&str; 4] = ["-include", "-imacros", "-fmodules", "-Xclang"];

/// Precompiled headers.
pub(super) struct Headers {
    /// The length of the text that they stand for.
    pub(super) length: usize,
    pub(super) macros: HeaderMacros,
    /// The headers, as they were read.
    stamps: Vec<(PathBuf, Stamp)>,
    /// The flags of the compiler that reads the rest.
    pub(super) arguments: Vec<String>,
    /// Keeps the file, which has no name.
    _file: File,
}

/// The size of a header and the time of its last change; `None` if it is gone.
type Stamp = Option<(u64, SystemTime)>;

fn stamp(path: &Path) -> Stamp {
    let data = path.metadata().ok()?;
    Some((data.len(), data.modified().ok()?))
}

/// A file whose headers were read.
#[derive(PartialEq)]
struct Key {
    path: PathBuf,
    arguments: Vec<String>,
    prefix: String,
}

enum State {
    ReadOnce,
    Precompiled(Rc<Headers>),
    /// They cannot be precompiled.
    Refused,
}

/// The headers of the files that were read last.
pub(super) struct Cache<'c> {
    clang: &'c Clang,
    files: Vec<(Key, State)>,
    /// The number of times that libclang has read headers.
    pub(super) reads: Arc<AtomicUsize>,
}

impl<'c> Cache<'c> {
    pub(super) fn new(clang: &'c Clang, reads: Arc<AtomicUsize>) -> Cache<'c> {
        Cache { clang, files: Vec::new(), reads }
    }

    /// Returns the precompiled headers of a text, if this is not the first text with them.
    pub(super) fn of(
        &mut self,
        path: &Path,
        text: &str,
        arguments: &[String],
        language: Language,
        lexed: &Lexed,
    ) -> Option<Rc<Headers>> {
        let includes = |one: &String| INCLUDING.iter().any(|flag| one.starts_with(flag));
        let length = prefix(text, lexed)?;
        if arguments.iter().any(includes) {
            return None;
        }
        let prefix = text[..length].to_owned();
        let key = Key { path: path.to_owned(), arguments: arguments.to_vec(), prefix };
        let Some(at) = self.files.iter().position(|(one, _)| *one == key) else {
            if self.files.len() == FILES_MAX {
                self.files.remove(0);
            }
            self.files.push((key, State::ReadOnce));
            return None;
        };
        let is_old =
            |headers: &Headers| headers.stamps.iter().any(|(path, then)| stamp(path) != *then);
        if matches!(&self.files[at].1, State::Precompiled(headers) if is_old(headers)) {
            self.files[at].1 = State::ReadOnce;
        }
        if let State::ReadOnce = self.files[at].1 {
            self.reads.fetch_add(1, Ordering::Relaxed);
            self.files[at].1 = match precompile(self.clang, &key, language) {
                Some(headers) => State::Precompiled(Rc::new(headers)),
                None => State::Refused,
            };
        }
        match &self.files[at].1 {
            State::Precompiled(headers) => Some(Rc::clone(headers)),
            _ => None,
        }
    }
}

/// Returns the length of the text that is precompiled; `None` if it includes no header.
fn prefix(text: &str, lexed: &Lexed) -> Option<usize> {
    let first = lexed.tokens.first().map_or(text.len(), |token| token.range.start);
    let is = |directive: &str, name: &str| {
        directive.strip_prefix('#').is_some_and(|rest| rest.trim_start().starts_with(name))
    };
    let directives = lexed.directives.iter().take_while(|one| {
        let directive = one.of(text);
        one.end <= first && (is(directive, "include") || is(directive, "define"))
    });
    directives.filter(|one| is(one.of(text), "include")).map(|one| one.end).last()
}

/// Returns a text without its first bytes, with blanks in their place.
pub(super) fn blanked(text: &str, length: usize) -> String {
    let kept = |byte: u8| if matches!(byte, b'\n' | b'\r') { char::from(byte) } else { ' ' };
    let mut blanked: String = text.bytes().take(length).map(kept).collect();
    blanked.push_str(&text[length..]);
    blanked
}

/// Precompiles the headers of a file.
fn precompile(clang: &Clang, key: &Key, language: Language) -> Option<Headers> {
    if !cfg!(target_os = "linux") {
        return None;
    }
    // In the folder of the file, so that libclang finds the headers there.
    let name = key.path.file_name()?.to_str()?;
    let path = key.path.with_file_name(format!("headers of {name}"));
    let index = Index::new(clang, false, false);
    let parse = |arguments: &[String]| {
        let mut parser = index.parser(&path);
        let text = Unsaved::new(&path, format!("{}\n", key.prefix));
        parser.arguments(arguments).unsaved(&[text]);
        parser.detailed_preprocessing_record(true).incomplete(true);
        parser.parse().ok()
    };
    let mut arguments = key.arguments.clone();
    let mut unit = parse(&arguments)?;
    let misses = |one: &clang::diagnostic::Diagnostic<'_>| headers::is_missing(&one.get_text());
    if unit.get_diagnostics().iter().any(misses) {
        arguments.extend(["-isystem".to_owned(), headers::folder()?.display().to_string()]);
        unit = parse(&arguments)?;
    }
    if unit.get_diagnostics().iter().any(|one| one.get_severity() >= Severity::Error) {
        return None;
    }
    let folder = tempfile::tempdir().ok()?;
    let saved = folder.path().join("headers.pch");
    unit.save(&saved).ok()?;
    let file = File::open(&saved).ok()?;
    arguments.extend(["-include-pch".to_owned(), unnamed(&file)?]);
    let macros = HeaderMacros::of(unit.get_entity(), &path, &key.prefix, language);
    let (length, stamps) = (key.prefix.len(), stamps(&unit));
    Some(Headers { length, macros, stamps, arguments, _file: file })
}

/// Returns the headers that a unit includes, each once.
fn stamps(unit: &TranslationUnit<'_>) -> Vec<(PathBuf, Stamp)> {
    let entities = unit.get_entity().get_children();
    let included = entities.iter().filter(|one| one.get_kind() == EntityKind::InclusionDirective);
    let paths: BTreeSet<PathBuf> =
        included.filter_map(|one| one.get_file()).map(|file| file.get_path()).collect();
    paths.into_iter().map(|path| (path.clone(), stamp(&path))).collect()
}

/// Returns a path that leads to an open file after its name is gone.
#[cfg(target_os = "linux")]
fn unnamed(file: &File) -> Option<String> {
    use std::os::fd::AsRawFd;
    Some(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

#[cfg(not(target_os = "linux"))]
fn unnamed(_: &File) -> Option<String> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clang::tokens::lex;

    fn headers(text: &str) -> Option<&str> {
        prefix(text, &lex(text, Language::C)).map(|length| &text[..length])
    }

    #[test]
    fn directives_before_the_first_token_are_precompiled() {
        assert_eq!(headers("int a;\n#include <a.h>\n"), None);
        assert_eq!(headers("#define A\nint a;\n"), None);
        let text = "/* é */\n#define A\n# include <a.h>\n#define B\nint a;\n#include <b.h>\n";
        assert_eq!(headers(text), Some("/* é */\n#define A\n# include <a.h>"));
        assert_eq!(headers("#include <a.h>\n#ifdef A\n#include <b.h>\n"), Some("#include <a.h>"));
    }

    #[test]
    fn blanks_keep_places_and_lines() {
        assert_eq!(blanked("/* é */\r\n#a\nint", 12), "        \r\n  \nint");
    }
}
