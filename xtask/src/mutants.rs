//! Mutants: planted bugs as patch files, and the copy of the sources that contains all of them.
//!
//! A patch inserts, where the bug stands, a switch that one process at a time can turn on. The
//! engine's own sources contain none. What must hold, checked by `cargo xtask tidy`:
//!
//! - MUTANTS-1: each patch applies to the sources by itself, so a commit that moves the lines
//!   around a switch moves the patch.
//! - MUTANTS-2: no two patches change the same or adjacent lines, so all can be merged into one
//!   copy that is built once. Their contexts may overlap: each patched file is merged with the
//!   sources as common ancestor.
//! - MUTANTS-3: each switch in a patch has the patch's name.
//! - MUTANTS-4: the tables of [`BUGS`] name all mutants, and none that does not exist.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    path::{Path, PathBuf},
    process::Command,
};

/// The folder of the patch files.
pub(crate) const FOLDER: &str = "crates/prove/mutants";
/// The document with the tables of known bugs. The last column names mutants.
pub(crate) const BUGS: &str = "docs/testing.md";
/// The copy of the sources with all mutants.
pub(crate) const COPY: &str = "target/mutants";
/// The module that the switches ask, its place in the copy, and the file that declares it.
const SWITCH: (&str, &str, &str) =
    ("crates/prove/mutants/switch.rs", "crates/base/src/mutant.rs", "crates/base/src/lib.rs");
/// The folder in the copy that cargo builds into.
const BUILT: &str = "target";

/// A patch file that breaks an invariant of this module.
#[derive(Debug)]
pub(crate) struct Fault {
    /// The patch file, from the root.
    pub(crate) path: String,
    pub(crate) message: String,
}

/// A patch file.
struct Patch {
    name: String,
    /// From the root.
    path: String,
    /// The files that it changes, from the root.
    files: Vec<String>,
    text: String,
}

/// The changed files with all mutants, by path from the root; and what is wrong with the patches.
struct Merged {
    texts: BTreeMap<String, String>,
    faults: Vec<Fault>,
}

/// Returns what is wrong with the patch files of the repository at `root`.
pub(crate) fn check(root: &Path) -> io::Result<Vec<Fault>> {
    let patches = read(root)?;
    let mut faults = merge(root, &patches)?.faults;
    if !patches.is_empty() {
        let bugs = fs::read_to_string(root.join(BUGS))?;
        let names: Vec<&str> = patches.iter().map(|patch| &*patch.name).collect();
        faults.extend(check_names(&names, &bugs));
    }
    Ok(faults)
}

/// Compares the names of mutants with those in the document (MUTANTS-4). What stands as code in the
/// last column of a table and has a hyphen is the name of a mutant.
fn check_names(names: &[&str], bugs: &str) -> Vec<Fault> {
    let rows = bugs.lines().filter_map(|line| line.trim_end().strip_suffix('|'));
    let cells = rows.filter_map(|row| row.rsplit('|').next());
    let named: BTreeSet<&str> = cells.flat_map(|cell| cell.split('`').skip(1).step_by(2)).collect();
    let is_name =
        |code: &str| code.contains('-') && code.chars().all(|c| c == '-' || c.is_alphanumeric());
    let fault = |message: String| Fault { path: BUGS.to_string(), message };
    let unknown = named.iter().filter(|code| is_name(code) && !names.contains(code));
    let unknown = unknown.map(|name| fault(format!("there is no mutant `{name}`")));
    let unnamed = names.iter().filter(|name| !named.contains(*name));
    unknown
        .chain(unnamed.map(|name| fault(format!("no table names the mutant `{name}`"))))
        .collect()
}

/// Writes the sources with all mutants to [`COPY`]; files that are right already stay as they are,
/// so that cargo builds only what has changed. Returns the copy's folder and the number of mutants.
///
/// # Errors
/// If a patch breaks an invariant, or `git` or the file system fails.
pub(crate) fn plant(root: &Path) -> io::Result<(PathBuf, usize)> {
    let patches = read(root)?;
    let mut merged = merge(root, &patches)?;
    if let Some(fault) = merged.faults.first() {
        return Err(io::Error::other(format!("{}: {}", fault.path, fault.message)));
    }
    let (switch, module, library) = SWITCH;
    let declared = format!("{}\npub mod mutant;\n", fs::read_to_string(root.join(library))?);
    merged.texts.insert(library.to_string(), declared);
    merged.texts.insert(module.to_string(), fs::read_to_string(root.join(switch))?);

    let mut files: BTreeSet<String> = tracked(root)?.into_iter().collect();
    files.extend(merged.texts.keys().cloned());
    let copy = root.join(COPY);
    for path in &files {
        let text = match merged.texts.get(path) {
            Some(text) => text.clone().into_bytes(),
            None => fs::read(root.join(path))?,
        };
        write_if_different(&copy.join(path), &text)?;
    }
    remove_others(&copy, &copy, &files)?;
    Ok((copy, patches.len()))
}

fn read(root: &Path) -> io::Result<Vec<Patch>> {
    let folder = root.join(FOLDER);
    if !folder.exists() {
        return Ok(Vec::new());
    }
    let mut patches = Vec::new();
    for entry in fs::read_dir(folder)? {
        let file = entry?.file_name().to_string_lossy().into_owned();
        let Some(name) = file.strip_suffix(".patch") else { continue };
        let path = format!("{FOLDER}/{file}");
        let text = fs::read_to_string(root.join(&path))?;
        let files = text.lines().filter_map(|line| line.strip_prefix("+++ b/"));
        let files = files.map(String::from).collect();
        patches.push(Patch { name: name.to_string(), path, files, text });
    }
    patches.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(patches)
}

/// Applies each patch to a copy of the files that it changes, and merges the results.
fn merge(root: &Path, patches: &[Patch]) -> io::Result<Merged> {
    // Outside of the repository, where `git apply` takes paths as they are.
    let scratch = tempfile::tempdir()?;
    let mut merged = Merged { texts: BTreeMap::new(), faults: Vec::new() };
    for (number, patch) in patches.iter().enumerate() {
        let own = scratch.path().join(number.to_string());
        if let Err(message) = apply(root, patch, &own)? {
            merged.faults.push(Fault { path: patch.path.clone(), message });
            continue;
        }
        for file in &patch.files {
            let (base, patched) = (fs::read_to_string(root.join(file))?, own.join(file));
            let text = match merged.texts.remove(file) {
                None => Some(fs::read_to_string(&patched)?),
                Some(others) => merge_file(scratch.path(), &others, &base, &patched)?,
            };
            match text {
                Some(text) => _ = merged.texts.insert(file.clone(), text),
                None => {
                    let message = format!("changes lines of {file} that another patch changes");
                    merged.faults.push(Fault { path: patch.path.clone(), message });
                }
            }
        }
    }
    Ok(merged)
}

/// Applies a patch to copies, in the folder `own`, of the files that it changes. The inner result
/// is an error if the patch does not apply or is malformed.
fn apply(root: &Path, patch: &Patch, own: &Path) -> io::Result<Result<(), String>> {
    let switches: Vec<&str> = patch.text.split("mutant::is(\"").skip(1).collect();
    let named = |rest: &&str| rest.strip_prefix(&*patch.name).is_some_and(|r| r.starts_with('"'));
    if switches.is_empty() || !switches.iter().all(named) {
        return Ok(Err(format!("every switch must be `mutant::is(\"{}\")`", patch.name)));
    }
    for file in &patch.files {
        let copy = own.join(file);
        fs::create_dir_all(copy.parent().unwrap_or(own))?;
        if let Err(error) = fs::copy(root.join(file), copy) {
            return Ok(Err(format!("{file}: {error}")));
        }
    }
    let patch_file = fs::canonicalize(root.join(&patch.path))?;
    let mut git = Command::new("git");
    git.args(["apply", "--whitespace=nowarn"]).arg(patch_file).current_dir(own);
    let output = git.output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    let first = said.lines().next().unwrap_or("git apply fails").to_string();
    Ok(if output.status.success() { Ok(()) } else { Err(first) })
}

/// Merges two changed versions of a file by their common ancestor; `None` if they conflict.
fn merge_file(
    scratch: &Path,
    others: &str,
    base: &str,
    patched: &Path,
) -> io::Result<Option<String>> {
    let (ours, ancestor) = (scratch.join("ours"), scratch.join("ancestor"));
    fs::write(&ours, others)?;
    fs::write(&ancestor, base)?;
    let mut git = Command::new("git");
    git.args(["merge-file", "--quiet"]).args([&ours, &ancestor]).arg(patched);
    let status = git.current_dir(scratch).status()?;
    if status.success() { fs::read_to_string(&ours).map(Some) } else { Ok(None) }
}

/// Returns the files of the working tree that git does not ignore, from the root.
fn tracked(root: &Path) -> io::Result<Vec<String>> {
    let mut git = Command::new("git");
    git.args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
    let output = git.current_dir(root).output()?;
    if !output.status.success() {
        return Err(io::Error::other("`git ls-files` fails; mutants need the git repository"));
    }
    let listed = String::from_utf8_lossy(&output.stdout).into_owned();
    let there = |path: &&str| !path.is_empty() && root.join(path).is_file();
    Ok(listed.split('\0').filter(there).map(String::from).collect())
}

fn write_if_different(path: &Path, text: &[u8]) -> io::Result<()> {
    if fs::read(path).is_ok_and(|old| old == text) {
        return Ok(());
    }
    fs::create_dir_all(path.parent().unwrap_or(path))?;
    fs::write(path, text)
}

/// Removes the files below `folder` that are not in `files`, except for what cargo has built.
fn remove_others(copy: &Path, folder: &Path, files: &BTreeSet<String>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let inside = path.strip_prefix(copy).unwrap_or(&path).to_string_lossy().into_owned();
        if path.is_dir() {
            if inside != BUILT {
                remove_others(copy, &path, files)?;
            }
        } else if !files.contains(&inside) {
            fs::remove_file(path)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
