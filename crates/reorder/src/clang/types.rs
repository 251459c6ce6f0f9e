//! Types, names and records, from libclang's canonical types.

use clang::{Entity, EntityKind, StorageClass, Type as ClangType, TypeKind};

use crate::ir::{Record, Scope, Type};

/// Returns the type in the IR.
pub(super) fn lower(ty: ClangType<'_>) -> Type {
    lower_canonical(ty.get_canonical_type(), 0)
}

/// Returns the type of a variable: a parameter that is declared as an array or a function is a
/// pointer.
pub(super) fn of_variable(ty: ClangType<'_>, scope: Scope) -> Type {
    match lower(ty) {
        Type::Array { of, .. } if scope == Scope::Parameter => {
            Type::Pointer { to: of, constant: is_constant(ty) }
        }
        Type::Function => Type::Pointer { to: Box::new(Type::Function), constant: false },
        other => other,
    }
}

/// Returns true if a variable is constant.
pub(super) fn is_constant_variable(ty: ClangType<'_>, scope: Scope) -> bool {
    let array = matches!(lower(ty), Type::Array { .. });
    is_constant(ty) && !(array && scope == Scope::Parameter)
}

fn lower_canonical(ty: ClangType<'_>, depth: usize) -> Type {
    let name = || unqualified(&ty.get_display_name());
    if depth > 50 {
        return Type::Other(name());
    }
    let inner = |ty: Option<ClangType<'_>>| {
        ty.map_or(Type::Other(String::new()), |ty| {
            lower_canonical(ty.get_canonical_type(), depth + 1)
        })
    };
    match ty.get_kind() {
        TypeKind::Void => Type::Void,
        TypeKind::Bool => Type::Scalar("bool".to_owned()),
        TypeKind::Enum if is_of_truth_values(ty) => Type::Other(name()),
        kind if is_scalar(kind) => Type::Scalar(name()),
        TypeKind::Pointer => {
            let to = ty.get_pointee_type();
            Type::Pointer { to: Box::new(inner(to)), constant: to.is_some_and(is_constant) }
        }
        TypeKind::LValueReference | TypeKind::RValueReference => {
            let to = ty.get_pointee_type();
            Type::Reference { to: Box::new(inner(to)), constant: to.is_some_and(is_constant) }
        }
        TypeKind::ConstantArray => {
            let length = ty.get_size().map(|size| size as u64);
            Type::Array { of: Box::new(inner(ty.get_element_type())), length }
        }
        TypeKind::IncompleteArray | TypeKind::VariableArray => {
            Type::Array { of: Box::new(inner(ty.get_element_type())), length: None }
        }
        TypeKind::FunctionPrototype | TypeKind::FunctionNoPrototype => Type::Function,
        TypeKind::Record => record_type(ty),
        _ => Type::Other(name()),
    }
}

fn is_scalar(kind: TypeKind) -> bool {
    use TypeKind as Kind;
    matches!(
        kind,
        Kind::CharS
            | Kind::CharU
            | Kind::SChar
            | Kind::UChar
            | Kind::WChar
            | Kind::Char16
            | Kind::Char32
            | Kind::Short
            | Kind::UShort
            | Kind::Int
            | Kind::UInt
            | Kind::Long
            | Kind::ULong
            | Kind::LongLong
            | Kind::ULongLong
            | Kind::Int128
            | Kind::UInt128
            | Kind::Float
            | Kind::Double
            | Kind::LongDouble
            | Kind::Float128
            | Kind::Enum
    )
}

/// Returns true if an enumeration's underlying type is `bool`: it keeps no value but 0 and 1,
/// whatever is cast to it.
fn is_of_truth_values(ty: ClangType<'_>) -> bool {
    let underlying = ty.get_declaration().and_then(|it| it.get_enum_underlying_type());
    underlying.is_some_and(|it| it.get_canonical_type().get_kind() == TypeKind::Bool)
}

fn record_type(ty: ClangType<'_>) -> Type {
    match ty.get_declaration() {
        Some(declaration) if !ty.is_pod() && is_complete(declaration) => {
            Type::Class(qualified_name(declaration))
        }
        Some(declaration) => Type::Record(record_name(declaration, ty)),
        None => Type::Other(unqualified(&ty.get_display_name())),
    }
}

fn is_complete(declaration: Entity<'_>) -> bool {
    declaration.get_definition().is_some()
}

/// Returns the name of a structure or union, the same in C and C++: `struct payment_input`. One
/// without a tag has the name of its typedef, or else a name with the place of its definition.
fn record_name(declaration: Entity<'_>, ty: ClangType<'_>) -> String {
    let display = unqualified(&ty.get_canonical_type().get_display_name());
    let tagged = declaration.get_name().is_some_and(|name| !name.is_empty() && !name.contains('('));
    if !tagged || display.contains('(') || display.starts_with("struct ") {
        return display;
    }
    match declaration.get_kind() {
        EntityKind::UnionDecl if display.starts_with("union ") => display,
        EntityKind::UnionDecl => format!("union {display}"),
        _ => format!("struct {display}"),
    }
}

/// Returns the name of a field; that of an unnamed structure or union within another is empty.
pub(super) fn field_name(field: Entity<'_>) -> String {
    // Newer versions of libclang name it by its place.
    field.get_name().filter(|name| !name.contains('(')).unwrap_or_default()
}

/// Returns the name of a structure, union or class, as in its type.
pub(super) fn record_name_of(ty: ClangType<'_>) -> String {
    match lower(ty) {
        Type::Record(name) | Type::Class(name) | Type::Other(name) => name,
        _ => String::new(),
    }
}

/// Returns the name with its namespaces and classes, without template arguments, without inline and
/// unnamed namespaces: `std::basic_string::append`.
pub(super) fn qualified_name(entity: Entity<'_>) -> String {
    let name = entity.get_name().filter(|name| !name.is_empty());
    let mut parts = vec![name.unwrap_or_else(|| "(unnamed)".to_owned())];
    let mut parent = entity.get_semantic_parent();
    while let Some(outer) = parent {
        let scope = matches!(
            outer.get_kind(),
            EntityKind::Namespace
                | EntityKind::StructDecl
                | EntityKind::ClassDecl
                | EntityKind::UnionDecl
                | EntityKind::ClassTemplate
                | EntityKind::ClassTemplatePartialSpecialization
        );
        if scope && !outer.is_inline_namespace() {
            parts.extend(outer.get_name().filter(|name| !name.is_empty()));
        }
        parent = outer.get_semantic_parent();
    }
    parts.reverse();
    let name = parts.join("::");
    // `operator<` and its kind have angle brackets of their own.
    match name.find('<') {
        Some(at) if !name.contains("operator") => name[..at].to_owned(),
        _ => name,
    }
}

/// Returns true if a value of the type is constant: for an array, its elements.
pub(super) fn is_constant(ty: ClangType<'_>) -> bool {
    let ty = ty.get_canonical_type();
    ty.is_const_qualified() || ty.get_element_type().is_some_and(is_constant)
}

/// Returns true if a value of the type is volatile or atomic, and so shared with other code: for an
/// array, its elements.
pub(super) fn is_volatile(ty: ClangType<'_>) -> bool {
    let ty = ty.get_canonical_type();
    let is_atomic = || unqualified(&ty.get_display_name()).starts_with("_Atomic");
    ty.is_volatile_qualified() || is_atomic() || ty.get_element_type().is_some_and(is_volatile)
}

/// Returns true if a type has an array whose length is computed when the program runs, also behind
/// pointers.
pub(super) fn has_variable_length(ty: ClangType<'_>) -> bool {
    let ty = ty.get_canonical_type();
    let inner = ty.get_element_type().or_else(|| ty.get_pointee_type());
    ty.get_kind() == TypeKind::VariableArray || inner.is_some_and(has_variable_length)
}

fn unqualified(name: &str) -> String {
    let mut name = name.trim();
    while let Some(rest) = ["const ", "volatile ", "restrict ", "__restrict "]
        .iter()
        .find_map(|qualifier| name.strip_prefix(qualifier))
    {
        name = rest;
    }
    name.to_owned()
}

/// Returns where a variable lives.
pub(super) fn scope(variable: Entity<'_>) -> Scope {
    if variable.get_kind() == EntityKind::ParmDecl {
        return Scope::Parameter;
    }
    let local = variable.get_semantic_parent().is_some_and(|parent| {
        matches!(
            parent.get_kind(),
            EntityKind::FunctionDecl
                | EntityKind::Method
                | EntityKind::Constructor
                | EntityKind::Destructor
                | EntityKind::ConversionFunction
                | EntityKind::LambdaExpr
        )
    });
    match variable.get_storage_class() {
        Some(StorageClass::Extern | StorageClass::PrivateExtern) => Scope::Global,
        _ if !local => Scope::Global,
        Some(StorageClass::Static) => Scope::Static,
        _ if variable.get_tls_kind().is_some() => Scope::Static,
        _ => Scope::Local,
    }
}

/// Collects the records that types lead to.
#[derive(Default)]
pub(super) struct Records {
    found: Vec<Record>,
    names: std::collections::HashSet<String>,
}

impl Records {
    /// Adds the records that a type leads to, through pointers, elements and fields.
    pub(super) fn add(&mut self, ty: ClangType<'_>) {
        let mut pending = vec![ty.get_canonical_type()];
        while let Some(ty) = pending.pop() {
            if let Some(inner) = ty.get_pointee_type().or_else(|| ty.get_element_type()) {
                pending.push(inner.get_canonical_type());
                continue;
            }
            let Type::Record(name) = lower(ty) else { continue };
            let definition = ty.get_declaration().and_then(|one| one.get_definition());
            let Some(definition) = definition.filter(|_| !self.names.contains(&name)) else {
                continue;
            };
            self.names.insert(name.clone());
            let mut fields = Vec::new();
            let is_base = |one: &Entity<'_>| one.get_kind() == EntityKind::BaseSpecifier;
            let bases = definition.get_children().into_iter().filter(is_base);
            for ty in bases.filter_map(|base| base.get_type()) {
                fields.push((String::new(), lower(ty)));
                pending.push(ty.get_canonical_type());
            }
            for field in ty.get_fields().unwrap_or_default() {
                let Some(ty) = field.get_type() else { continue };
                fields.push((field_name(field), lower(ty)));
                pending.push(ty.get_canonical_type());
            }
            let union = definition.get_kind() == EntityKind::UnionDecl;
            self.found.push(Record { name, union, fields });
        }
    }

    /// Returns the records, by name.
    pub(super) fn into_sorted(mut self) -> Vec<Record> {
        self.found.sort_by(|a, b| a.name.cmp(&b.name));
        self.found
    }
}
