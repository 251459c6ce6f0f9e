//! Finding libclang.
//!
//! The crate `clang` loads the library that `LIBCLANG_PATH` names, or else the newest one in the
//! folders where distributions put it. A library elsewhere, which `CLEARWAY_LIBCLANG` names or the
//! PyPI wheel `libclang` brought, can only be loaded if `LIBCLANG_PATH` is set when the process
//! starts, because changing the environment of a running process is not safe. [`prepare`] therefore
//! starts the program again with it.

use std::{
    env,
    ffi::OsString,
    path::{Path, PathBuf},
    process::Command,
};

use super::FrontEndError;

/// The variable by which a user selects the library.
const SELECTED: &str = "CLEARWAY_LIBCLANG";
/// The variable that the crate `clang` reads.
const LOADED: &str = "LIBCLANG_PATH";

/// Starts the program again with `LIBCLANG_PATH` if libclang is only found in a folder that the
/// loader does not search. A program calls this first; it returns if nothing is to be done.
///
/// # Errors
/// [`FrontEndError::Elsewhere`] if the program cannot be started again.
pub fn prepare() -> Result<(), FrontEndError> {
    let Some(path) = elsewhere() else { return Ok(()) };
    let error = FrontEndError::Elsewhere { path: path.clone() };
    let Ok(program) = env::current_exe() else { return Err(error) };
    let mut command = Command::new(program);
    command.args(env::args_os().skip(1)).env(LOADED, &path).env(SELECTED, &path);
    restart(command);
    Err(error)
}

#[cfg(unix)]
fn restart(mut command: Command) {
    use std::os::unix::process::CommandExt;
    // It returns only if the program cannot be started; `prepare` reports that.
    let _ = command.exec();
}

#[cfg(not(unix))]
fn restart(_: Command) {}

/// Returns the library to load if the loader would not load it by itself.
pub(super) fn elsewhere() -> Option<PathBuf> {
    choose(env::var_os(SELECTED), env::var_os(LOADED), || installed().is_some(), wheel)
}

fn choose(
    selected: Option<OsString>,
    loaded: Option<OsString>,
    installed: impl Fn() -> bool,
    wheel: impl Fn() -> Option<PathBuf>,
) -> Option<PathBuf> {
    match (selected, loaded) {
        (Some(selected), loaded) => {
            (loaded.as_ref() != Some(&selected)).then(|| PathBuf::from(selected))
        }
        (None, Some(_)) => None,
        (None, None) if installed() => None,
        (None, None) => wheel(),
    }
}

/// Returns the library of a package of Debian or of LLVM.
fn installed() -> Option<PathBuf> {
    let names = |version: u32| {
        let folder = format!("/usr/lib/llvm-{version}/lib");
        let own = ["libclang.so", "libclang.so.1"].map(|name| format!("{folder}/{name}"));
        let shared =
            ["x86_64-linux-gnu", "aarch64-linux-gnu"].into_iter().flat_map(move |folder| {
                ["so", "so.1"].map(|end| format!("/usr/lib/{folder}/libclang-{version}.{end}"))
            });
        own.into_iter().chain(shared)
    };
    (14..=20).rev().flat_map(names).map(PathBuf::from).find(|path| path.exists())
}

/// Returns the library of the PyPI wheel, if Python knows it.
fn wheel() -> Option<PathBuf> {
    const ASK: &str = "import importlib.util as u; s = u.find_spec('clang'); \
                       print(list(s.submodule_search_locations)[0] if s else '')";
    let output = Command::new("python3").args(["-c", ASK]).output().ok()?;
    let folder = String::from_utf8(output.stdout).ok()?;
    let folder = folder.trim();
    let path = Path::new(folder).join("native").join("libclang.so");
    (!folder.is_empty() && path.exists()).then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(selected: Option<&str>, loaded: Option<&str>, installed: bool) -> Option<String> {
        let wheel = || Some(PathBuf::from("/wheel"));
        choose(selected.map(Into::into), loaded.map(Into::into), || installed, wheel)
            .map(|path| path.display().to_string())
    }

    #[test]
    fn selected_library_goes_before_all_others() {
        assert_eq!(found(Some("/a"), None, true).as_deref(), Some("/a"));
        assert_eq!(found(Some("/a"), Some("/b"), true).as_deref(), Some("/a"));
        assert_eq!(found(Some("/a"), Some("/a"), true), None);
    }

    #[test]
    fn wheel_is_asked_for_last() {
        assert_eq!(found(None, None, false).as_deref(), Some("/wheel"));
        assert_eq!(found(None, None, true), None);
        assert_eq!(found(None, Some("/b"), false), None);
    }
}
