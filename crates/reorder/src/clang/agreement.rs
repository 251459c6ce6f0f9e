//! Comparing the tree of a file with the tree of its expanded text.
//!
//! The front end expands macros itself. If it makes a mistake, such as with a macro that a header
//! defines and undefines again, libclang reads another program from the expanded text than from the
//! file; then the function in question is not represented.

use clang::{Entity, EntityKind};

/// Returns true if two entities of two texts have the same tree: the same kinds and names, and the
/// same values of numbers.
pub(super) fn agree(left: Entity<'_>, right: Entity<'_>) -> bool {
    if left.get_kind() != right.get_kind() || name(left) != name(right) {
        return false;
    }
    let number = matches!(
        left.get_kind(),
        EntityKind::IntegerLiteral | EntityKind::FloatingLiteral | EntityKind::CharacterLiteral
    );
    if number && left.evaluate() != right.evaluate() {
        return false;
    }
    let (left, right) = (left.get_children(), right.get_children());
    left.len() == right.len() && left.iter().zip(right).all(|(&left, right)| agree(left, right))
}

/// Returns the name without the place that newer versions give to what has no name.
fn name(entity: Entity<'_>) -> Option<String> {
    let mut name = entity.get_name()?;
    if let Some(at) = name.find(" at ") {
        name.truncate(at);
    }
    Some(name)
}
