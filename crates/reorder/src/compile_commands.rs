//! The flags with which a build compiles a file, from its `compile_commands.json`.
//!
//! An entry has a folder, a file and either the words of the command or the command as a shell
//! reads it. Of the words remain the flags: without the compiler, the file, the output and what
//! only writes other files. Paths are made absolute, since the tool runs in another folder.

use std::{
    fmt,
    path::{Path, PathBuf},
};

use serde::Deserialize;

/// A compilation of the database.
#[derive(Deserialize)]
struct Entry {
    directory: PathBuf,
    file: PathBuf,
    #[serde(default)]
    arguments: Option<Vec<String>>,
    #[serde(default)]
    command: Option<String>,
}

/// A database of compilations that has no flags for a file.
#[derive(Debug)]
pub enum NoFlags {
    /// It is not a list of compilations.
    NotCommands(PathBuf, serde_json::Error),
    /// It does not have the file.
    NoEntry(PathBuf, PathBuf),
    /// The entry of the file has no command that a shell can read.
    NoCommand(PathBuf, PathBuf),
}

impl fmt::Display for NoFlags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoFlags::NotCommands(path, error) => write!(
                f,
                "{}:{}: this is no list of compile commands: {error}; let the build write it \
                 (cmake -DCMAKE_EXPORT_COMPILE_COMMANDS=ON, or bear -- make)",
                path.display(),
                error.line()
            ),
            NoFlags::NoEntry(path, file) => write!(
                f,
                "{}: {} is not compiled there; give its flags behind `--`",
                path.display(),
                file.display()
            ),
            NoFlags::NoCommand(path, file) => write!(
                f,
                "{}: the command of {} is missing, or its quotes do not match; give the flags \
                 behind `--`",
                path.display(),
                file.display()
            ),
        }
    }
}

impl std::error::Error for NoFlags {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            NoFlags::NotCommands(_, error) => Some(error),
            _ => None,
        }
    }
}

/// Returns the flags with which a file is compiled, by the first entry for it in `text`, which the
/// file `commands` has.
///
/// # Errors
/// [`NoFlags`] if there is none.
pub fn flags(text: &str, commands: &Path, file: &Path) -> Result<Vec<String>, NoFlags> {
    let entries: Vec<Entry> = serde_json::from_str(text)
        .map_err(|error| NoFlags::NotCommands(commands.to_owned(), error))?;
    let folder = commands.parent().unwrap_or(Path::new(""));
    let wanted = canonical(file);
    let place = |entry: &Entry| folder.join(&entry.directory);
    let entry = entries.iter().find(|entry| canonical(&place(entry).join(&entry.file)) == wanted);
    let entry = entry.ok_or_else(|| NoFlags::NoEntry(commands.to_owned(), file.to_owned()))?;
    let words = match (&entry.arguments, &entry.command) {
        (Some(arguments), _) => Some(arguments.clone()),
        (None, Some(command)) => shlex::split(command),
        (None, None) => None,
    };
    let words = words.ok_or_else(|| NoFlags::NoCommand(commands.to_owned(), file.to_owned()))?;
    let folder = std::path::absolute(place(entry)).unwrap_or_else(|_| place(entry));
    Ok(kept(&words, &folder, &wanted))
}

fn canonical(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// Flags that are left out, with the word behind them.
const PAIRS: [&str; 6] = ["-o", "-MF", "-MT", "-MQ", "-MJ", "-include-pch"];

/// Flags that are left out.
const SINGLE: [&str; 9] = ["-c", "-S", "-E", "-M", "-MM", "-MD", "-MMD", "-MP", "-MG"];

/// Flags with a path, which may be the next word or follow at once.
const PATHS: [&str; 13] = [
    "-iwithprefixbefore",
    "-idirafter",
    "-isysroot",
    "-isystem",
    "-imacros",
    "--sysroot=",
    "-include",
    "-iprefix",
    "-iquote",
    "-I",
    "-L",
    "-B",
    "-F",
];

/// Returns the words of a command that are flags for the file, with absolute paths.
fn kept(words: &[String], folder: &Path, file: &Path) -> Vec<String> {
    let mut flags = Vec::new();
    // The compiler, and a program that starts it.
    let mut words = words.iter().skip_while(|word| !word.starts_with('-')).peekable();
    while let Some(word) = words.next() {
        let left_out = SINGLE.contains(&word.as_str())
            || word.starts_with("-o")
            || !word.starts_with('-') && canonical(&folder.join(word)) == file
            || word == "--";
        if PAIRS.contains(&word.as_str()) {
            words.next();
        } else if let Some((flag, path)) = with_path(word) {
            match (path, words.peek()) {
                ("", Some(_)) => {
                    flags.push(flag.to_owned());
                    let path = words.next().map_or("", |word| word.as_str());
                    flags.push(absolute(path, folder));
                }
                _ => flags.push(format!("{flag}{}", absolute(path, folder))),
            }
        } else if !left_out {
            flags.push(word.clone());
        }
    }
    flags
}

/// Returns the flag and the path of a word that has a path.
fn with_path(word: &str) -> Option<(&'static str, &str)> {
    PATHS.iter().find_map(|flag| Some((*flag, word.strip_prefix(flag)?)))
}

fn absolute(path: &str, folder: &Path) -> String {
    // A path that begins with `=` is one below the system's root.
    if path.is_empty() || path.starts_with('=') {
        return path.to_owned();
    }
    folder.join(path).display().to_string()
}

#[cfg(test)]
mod tests;
