//! The patch files as a catalogue: each begins with a line that describes the mutant and a line
//! `Caught by:` that names the lanes that hunt it, the quickest first.

use std::{fs, io, path::Path};

use super::lane::Lane;

/// A planted bug.
#[derive(Debug)]
pub(super) struct Mutant {
    /// The name of the patch file without its ending, and the argument of the switch.
    pub(super) name: String,
    /// One sentence that states what the mutant does wrong.
    pub(super) description: String,
    /// The lanes that hunt it, in order.
    pub(super) lanes: Vec<Lane>,
}

/// The folder of the patch files.
const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/mutants");
const LANES: &str = "Caught by: ";

/// Reads all patch files, sorted by name.
///
/// # Errors
/// If a file cannot be read, or lacks its description or its lanes.
pub(super) fn read() -> io::Result<Vec<Mutant>> {
    let mut mutants = Vec::new();
    for entry in fs::read_dir(FOLDER)? {
        let path = entry?.path();
        if path.extension().is_some_and(|end| end == "patch") {
            mutants.push(parse(&path, &fs::read_to_string(&path)?)?);
        }
    }
    mutants.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(mutants)
}

fn parse(path: &Path, text: &str) -> io::Result<Mutant> {
    let bad = |what: &str| io::Error::other(format!("{}: {what}", path.display()));
    let name = path.file_stem().and_then(|name| name.to_str()).ok_or_else(|| bad("no name"))?;
    let mut lines = text.lines();
    let description = lines.next().filter(|line| line.ends_with('.'));
    let description = description.ok_or_else(|| bad("the first line is no sentence"))?;
    let lanes = lines.next().and_then(|line| line.strip_prefix(LANES));
    let lanes = lanes.ok_or_else(|| bad("the second line does not begin with `Caught by: `"))?;
    let lane = |name: &str| Lane::named(name).ok_or_else(|| bad(&format!("no lane `{name}`")));
    let lanes = lanes.split(", ").map(lane).collect::<io::Result<Vec<Lane>>>()?;
    Ok(Mutant { name: name.to_string(), description: description.to_string(), lanes })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_patch_file_has_a_description_and_lanes() {
        let mutants = read().unwrap();
        assert!(mutants.len() >= 91, "{}", mutants.len());
        assert!(mutants.iter().all(|mutant| !mutant.lanes.is_empty()));
    }

    #[test]
    fn header_without_a_sentence_or_with_an_unknown_lane_is_refused() {
        let parsed = |text: &str| parse(Path::new("mutants/early.patch"), text);
        let mutant = parsed("It ends early.\nCaught by: log, specs\n\n--- a/x\n").unwrap();
        assert_eq!((&*mutant.name, &*mutant.description), ("early", "It ends early."));
        assert_eq!(mutant.lanes, [Lane::Log, Lane::Specs]);
        for text in ["", "--- a/x\n", "It ends early.\n", "It ends early.\nCaught by: luck\n"] {
            assert!(parsed(text).is_err(), "{text:?}");
        }
    }
}
