//! Makes a program with a mistake smaller: leaves out statements while the mistake stays.

use super::{
    oracle::{Counts, Oracle, Wrong},
    program::Program,
};

/// Returns a smaller program with a mistake of the same kind, and the mistake.
pub(crate) fn shrink(
    oracle: &mut Oracle,
    program: &Program,
    wrong: &Wrong,
    seed: u64,
) -> (Program, Wrong) {
    // What is left out may have been the only use of a variable.
    oracle.warnings = matches!(wrong, Wrong::Compiler(..));
    let (mut smallest, mut last) = (program.clone(), wrong.clone());
    let mut at = smallest.groups.len();
    while at > 0 {
        at -= 1;
        let mut smaller = smallest.clone();
        smaller.groups.remove(at);
        let found = oracle.check(std::slice::from_ref(&smaller), seed, &mut Counts::default());
        if let Some((_, found)) = found.into_iter().find(|(_, found)| found.is_like(wrong)) {
            (smallest, last) = (smaller, found);
        }
    }
    oracle.warnings = true;
    (smallest, last)
}
