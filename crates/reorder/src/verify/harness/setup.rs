//! The functions that are called before the function under test.

use super::Writer;
use crate::ir::{Function, Language, Type, Variable};

impl Writer<'_> {
    /// Returns a function of the setup, with the language if it stands in another source file.
    fn setup_function(&self, name: &str) -> Option<(&Function, Option<Language>)> {
        let own = self.program.function(name).map(|function| (function, None));
        own.or_else(|| {
            let mut others = self.options.others.iter();
            others.find_map(|other| Some((other.function(name)?, Some(other.language))))
        })
    }

    /// Returns the type behind the pointer that a function of the setup returns, and the pointer's
    /// type as it is written.
    fn made(&self, name: &str) -> Option<(Type, String)> {
        let result = self.in_language(&self.setup_function(name)?.0.result);
        let spelled = match &result {
            // An object of a class, which only the program itself can make.
            Type::Pointer { to, constant } if matches!(**to, Type::Class(_)) => {
                format!("{}{to} *", if *constant { "const " } else { "" })
            }
            _ => self.spell(&result)?,
        };
        match result {
            Type::Pointer { to, .. } => Some((*to, spelled)),
            _ => None,
        }
    }

    /// Returns a type of a C file as the program's language names it.
    fn in_language(&self, ty: &Type) -> Type {
        match ty {
            Type::Pointer { to, constant } => {
                Type::Pointer { to: Box::new(self.in_language(to)), constant: *constant }
            }
            Type::Record(name) if self.program.language == Language::Cpp => {
                Type::Record(name.strip_prefix("struct ").unwrap_or(name).to_owned())
            }
            _ => ty.clone(),
        }
    }

    /// Declares a function of the setup that stands in another source file.
    pub(super) fn declare_setup(&mut self, name: &str) {
        let Some((_, Some(language))) = self.setup_function(name) else { return };
        let Some((_, spelled)) = self.made(name) else { return };
        let foreign = language == Language::C && self.program.language == Language::Cpp;
        let linkage = if foreign { "extern \"C\" " } else { "" };
        let pointer = self.options.interface.pointer;
        self.line(&format!("{linkage}{spelled}{name}({pointer});"));
    }

    /// Calls a function of the setup. A pointer that it returns, such as one to prepared
    /// statements, is the argument for the parameter of that type.
    pub(super) fn setup(&mut self, name: &str) {
        let Some((to, spelled)) = self.made(name) else {
            return self.line(&format!("    {name}(connection);"));
        };
        let variable = self.fresh("setup");
        self.line(&format!("    {spelled}{variable} = {name}(connection);"));
        self.handles.push((to, variable));
    }

    /// Returns the variable with what a function of the setup made for a parameter of this type.
    pub(super) fn handle(&self, ty: &Type) -> Option<String> {
        let (Type::Pointer { to, .. } | Type::Reference { to, .. }) = ty else { return None };
        let (_, variable) = self.handles.iter().find(|(made, _)| *made == **to)?;
        let is_reference = matches!(ty, Type::Reference { .. });
        Some(if is_reference { format!("*{variable}") } else { variable.clone() })
    }

    /// Names the functions of the setup whose pointers no parameter receives.
    pub(super) fn note_unused_setup(&mut self, parameters: &[&Variable]) {
        for name in &self.options.setup {
            let note = match (self.setup_function(name), self.made(name)) {
                (None, _) => "neither the file nor one of --source defines it, so what it returns \
                              is not used"
                    .to_owned(),
                (Some((function, _)), None) if matches!(function.result, Type::Pointer { .. }) => {
                    let ty = &function.result;
                    format!("it returns `{ty}`, of which the file defines no fields; not used")
                }
                (_, Some((made, _))) if parameters.iter().all(|one| !leads_to(&one.ty, &made)) => {
                    format!("it returns `{made} *`, which is the type of no parameter; not used")
                }
                _ => continue,
            };
            self.notes.push(format!("--setup {name}: {note}"));
        }
    }
}

fn leads_to(ty: &Type, made: &Type) -> bool {
    matches!(ty, Type::Pointer { to, .. } | Type::Reference { to, .. } if **to == *made)
}
