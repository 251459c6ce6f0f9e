//! Functions whose calls may run another definition than the one in the file: weak ones, which the
//! linker replaces, and virtual ones, which a class overrides.
//!
//! The attribute may stand on any declaration, and in a macro of a header. So libclang prints the
//! declarations, and the tokens of those in the file are read. It shows no attribute that a pragma
//! sets: the text of the file has the pragma, and a function that has only attributes which are not
//! shown counts as weak.

use clang::{Entity, EntityKind, PrintingPolicyFlag, StorageClass, Visibility};

use super::{lowering::Lowering, types};
use crate::ir::Language;

const WEAK: &str = "is weak and may be replaced by another definition";
const VIRTUAL: &str = "is virtual and may be overridden";

/// The beginnings of attributes, as libclang prints them, of definitions that may be replaced.
const ATTRIBUTES: &[&str] = &["((weak", "gnu::weak", "((gnu_inline", "gnu::gnu_inline", "((ifunc"];

impl<'tu> Lowering<'tu, '_> {
    /// Notes the functions that a declaration or a pragma makes weak.
    pub(super) fn note_weak(&mut self, unit: Entity<'tu>) {
        let mut names = pragmas(self.source.text);
        names.retain(|name| self.definitions.contains_key(name));
        for name in names {
            self.weak.extend(self.definitions[&name].iter().cloned());
        }
        let mut declared = Vec::new();
        self.declarations(unit, 0, &mut declared);
        for one in declared {
            if is_printed_weak(one) || self.is_written_weak(one) {
                self.weak.extend(one.get_usr());
            }
        }
    }

    /// Collects the declarations of functions that the file defines.
    fn declarations(&self, scope: Entity<'tu>, depth: usize, found: &mut Vec<Entity<'tu>>) {
        for entity in scope.get_children() {
            match entity.get_kind() {
                EntityKind::FunctionDecl | EntityKind::Method => {
                    let defined = self.definitions.get(&types::qualified_name(entity));
                    if defined
                        .is_some_and(|all| entity.get_usr().is_some_and(|usr| all.contains(&usr)))
                    {
                        found.extend([entity, entity.get_canonical_entity()]);
                    }
                }
                EntityKind::Namespace | EntityKind::LinkageSpec | EntityKind::UnexposedDecl
                    if depth < 50 =>
                {
                    self.declarations(entity, depth + 1, found);
                }
                _ => {}
            }
        }
    }

    /// Returns true if a declaration has an attribute as it is written. libclang drops one that
    /// stands behind the definition; other compilers do not.
    fn is_written_weak(&self, declaration: Entity<'tu>) -> bool {
        let Some(span) = self.span(declaration) else { return false };
        let ends = |place: &usize| matches!(self.source.token(*place), ";" | "{" | "}");
        let first = (0..span.first).rev().find(ends).map_or(0, |place| place + 1);
        let behind = (span.first..self.source.tokens.len()).take_while(|place| !ends(place));
        (first..span.first).chain(behind).any(|place| {
            let word = self.source.token(place).trim_matches('_');
            ["weak", "gnu_inline", "ifunc"].contains(&word)
        })
    }

    /// Returns the reason why a call of a function may run another definition.
    pub(super) fn replaceable(&self, function: Entity<'tu>) -> Option<String> {
        let is_weak = function.get_usr().is_some_and(|usr| self.weak.contains(&usr))
            || is_printed_weak(function.get_canonical_entity())
            || is_printed_weak(function)
            || has_hidden_attribute(function)
            || self.language == Language::C && is_inline_definition(function);
        if is_weak {
            return Some(WEAK.to_owned());
        }
        (function.is_virtual_method() && !is_final(function)).then(|| VIRTUAL.to_owned())
    }
}

/// Returns true for a method that no class overrides.
fn is_final(method: Entity<'_>) -> bool {
    let class = method.get_semantic_parent();
    let declared = [Some(method), Some(method.get_canonical_entity()), class];
    let mut parts = declared.into_iter().flatten().flat_map(|one| one.get_children());
    parts.any(|part| part.get_kind() == EntityKind::FinalAttr)
}

fn is_printed_weak(function: Entity<'_>) -> bool {
    let printer = function.get_pretty_printer();
    printer.set_flag(PrintingPolicyFlag::UseTerseOutput, true);
    // A name may have underscores around it.
    let printed = printer.print().replace("__", "");
    ATTRIBUTES.iter().any(|attribute| printed.contains(attribute))
}

/// Returns true if a function that other files see has attributes, but none that libclang shows.
fn has_hidden_attribute(function: Entity<'_>) -> bool {
    let shown = || function.get_children().into_iter().any(|child| child.is_attribute());
    function.get_kind() == EntityKind::FunctionDecl
        && function.has_attributes()
        && function.get_linkage() == Some(clang::Linkage::External)
        && function.get_visibility() == Some(Visibility::Default)
        && !shown()
}

/// Returns true for an inline definition of C: no declaration has `extern` or `static`, and the
/// program has another definition.
fn is_inline_definition(function: Entity<'_>) -> bool {
    let is_plain = |one: Entity<'_>| {
        one.is_inline_function() && one.get_storage_class() == Some(StorageClass::None)
    };
    is_plain(function) && is_plain(function.get_canonical_entity())
}

/// Returns the functions that pragmas of a text make weak.
fn pragmas(text: &str) -> Vec<String> {
    let mut names = Vec::new();
    for (at, _) in text.match_indices("ragma") {
        let behind = text[at + "ragma".len()..].trim_start_matches([' ', '\t', '(', '"']);
        let Some(behind) = behind.strip_prefix("weak") else { continue };
        let is_name = |one: char| one == '_' || one.is_alphanumeric();
        let name = behind.trim_start();
        let end = name.find(|one| !is_name(one)).unwrap_or(name.len());
        if name.len() < behind.len() && end > 0 {
            names.push(name[..end].to_owned());
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_of_pragmas_are_found() {
        let text =
            "#pragma weak notify\n# pragma  weak  a = b\n_Pragma(\"weak last\") #pragma weakly x";
        assert_eq!(pragmas(text), ["notify", "a", "last"]);
    }
}
