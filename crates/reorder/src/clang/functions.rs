//! The functions that a file defines.

use std::collections::BTreeSet;

use clang::{Entity, EntityKind};

use super::{
    expanded::Span,
    lowering::{Lowering, is_method},
    types,
};
use crate::{
    ir::{Function, Language, Statement, StatementKind, Type, VariableIndex, plain},
    source::Range,
};

/// The keywords that may stand in front of a parenthesis.
const KEYWORDS: [&str; 14] = [
    "if",
    "for",
    "while",
    "switch",
    "return",
    "sizeof",
    "catch",
    "alignof",
    "_Alignof",
    "typeof",
    "decltype",
    "noexcept",
    "__attribute__",
    "operator",
];

impl<'tu> Lowering<'tu, '_> {
    /// Returns the functions that are defined in the file.
    pub(super) fn defined(&self, unit: Entity<'tu>) -> Vec<Entity<'tu>> {
        let mut found = Vec::new();
        self.collect(unit, 0, &mut found);
        found
    }

    fn collect(&self, scope: Entity<'tu>, depth: usize, found: &mut Vec<Entity<'tu>>) {
        use EntityKind as Kind;
        for entity in scope.get_children() {
            let inside = |entity: Entity<'tu>| {
                let location = entity.get_location().map(|one| one.get_file_location());
                location.is_some_and(|location| location.file == Some(self.main))
            };
            match entity.get_kind() {
                Kind::FunctionDecl
                | Kind::Method
                | Kind::Constructor
                | Kind::Destructor
                | Kind::ConversionFunction
                | Kind::FunctionTemplate
                    if entity.is_definition()
                        && !entity.is_defaulted()
                        && inside(entity)
                        && !is_instance(entity) =>
                {
                    found.push(entity);
                }
                Kind::Namespace
                | Kind::LinkageSpec
                | Kind::UnexposedDecl
                | Kind::StructDecl
                | Kind::ClassDecl
                | Kind::UnionDecl
                | Kind::ClassTemplate
                | Kind::ClassTemplatePartialSpecialization
                    if depth < 50 && inside(entity) =>
                {
                    self.collect(entity, depth + 1, found);
                }
                _ => {}
            }
        }
    }

    /// Notes the functions that are defined in the file, so that calls of others have other names.
    pub(super) fn note_definitions(&mut self, defined: &[Entity<'tu>]) {
        for &entity in defined {
            let of_name = self.definitions.entry(types::qualified_name(entity)).or_default();
            of_name.extend(entity.get_usr());
        }
        if self.language == Language::Cpp {
            let spans: Vec<Span> = defined.iter().filter_map(|&one| self.span(one)).collect();
            let is_inside = |place| spans.iter().any(|one| (one.first..=one.last).contains(&place));
            let names = self.functions_among((0..self.source.len()).filter(|&one| !is_inside(one)));
            let own: BTreeSet<&str> = self.definitions.keys().map(|name| plain(name)).collect();
            self.outside = names.difference(&own).map(|&name| name.to_owned()).collect();
        }
    }

    /// Returns the name by which a call names its function: with the types of the parameters if the
    /// file defines another function of that name, such as an overload.
    pub(super) fn called_name(&self, function: Entity<'tu>) -> String {
        let name = types::qualified_name(function);
        let Some(defined) = self.definitions.get(&name) else { return name };
        let mut same = [Some(function), function.get_template()].into_iter().flatten();
        if same.any(|one| one.get_usr().is_some_and(|usr| defined.contains(&usr))) {
            return name;
        }
        let types = function.get_type().and_then(|ty| ty.get_argument_types()).unwrap_or_default();
        let types: Vec<String> = types.iter().map(|ty| ty.get_display_name()).collect();
        format!("{name}({})", types.join(", "))
    }

    /// Lowers a function.
    pub(super) fn function(&mut self, entity: Entity<'tu>) -> Option<Function> {
        let span = self.span(entity)?;
        let range = self.source.outer_range(span)?;
        let first = self.variables.len();
        let result = entity.get_result_type().map_or(Type::Void, types::lower);
        self.begin_function(is_method(entity).then_some(entity), &result);
        self.owners = self.owners_of(entity, span);
        let declared = entity.get_arguments().unwrap_or_default();
        let template = is_template(entity);
        let object = if template { None } else { self.this() };
        let parameters: Vec<VariableIndex> = match template {
            true => Vec::new(),
            false => {
                let declared = declared.into_iter().map(|one| self.variable(one));
                object.into_iter().chain(declared).collect()
            }
        };
        let body = self.body(entity, span, range, template);
        self.mark_hidden(first);
        let name = types::qualified_name(entity);
        let method = object.is_some();
        let replaceable = self.replaceable(entity);
        let hidden = BTreeSet::new();
        let mut function =
            Function { name, range, result, method, replaceable, hidden, parameters, body };
        function.hidden = self.hidden(span, &function);
        Some(function)
    }

    /// Returns the names of functions in the tokens of a function, those of calls and those that
    /// the file defines, as far as they do not stand in its representation.
    fn hidden(&self, span: Span, function: &Function) -> BTreeSet<String> {
        let represented = function.named();
        let named = self.functions_among(span.first..=span.last);
        let hidden = named.difference(&represented).map(|&name| name.to_owned());
        hidden.chain(self.outside.iter().cloned()).collect()
    }

    /// Returns the names of functions among some tokens: those of calls, those that a `_Generic`
    /// may choose, and those that the file defines.
    fn functions_among(&self, places: impl Iterator<Item = usize>) -> BTreeSet<&str> {
        let token = |place| self.source.token(place);
        let defined: BTreeSet<&str> = self.definitions.keys().map(|name| plain(name)).collect();
        let is_function = |&place: &usize| {
            let (name, next) = (token(place), token(place + 1));
            let is_name = name.starts_with(|one: char| one == '_' || one.is_alphabetic());
            let is_chosen = place > 0 && token(place - 1) == ":";
            let is_function = next == "(" || is_chosen || defined.contains(name);
            is_name && !KEYWORDS.contains(&name) && is_function
        };
        places.filter(is_function).map(token).collect()
    }

    fn body(&mut self, entity: Entity<'tu>, span: Span, whole: Range, template: bool) -> Statement {
        let body = entity.get_children().into_iter().rfind(|child| child.is_statement());
        let block = body.filter(|body| body.get_kind() == EntityKind::CompoundStmt);
        let place = block.and_then(|body| self.span(body)).filter(|place| {
            self.source.token(place.first) == "{" && self.source.token(place.last) == "}"
        });
        let initializes = place.is_some_and(|place| {
            entity.get_kind() == EntityKind::Constructor
                && (span.first..place.first).any(|at| self.source.token(at) == ":")
        });
        let coroutine = (span.first..=span.last).find(|&at| {
            let token = self.source.token(at);
            ["co_await", "co_return", "co_yield"].contains(&token)
        });
        let reason = match (body, block, place) {
            _ if template => "the code of a template",
            _ if coroutine.is_some() && self.language == Language::Cpp => "a coroutine",
            _ if initializes => "the member initializers of a constructor",
            (Some(body), ..) if body.get_kind() == EntityKind::TryStmt => {
                "`try` around the body of a function"
            }
            (_, Some(block), Some(place)) => return self.function_block(block, place, whole),
            _ => "the body of the function is not a block of the file",
        };
        let range = place.and_then(|place| self.source.outer_range(place)).unwrap_or(whole);
        self.opaque_block(place, range, reason.to_owned())
    }

    fn function_block(&mut self, block: Entity<'tu>, place: Span, whole: Range) -> Statement {
        let direct = [place.first, place.last].iter().all(|&at| self.source.usage(at).is_none());
        let Some(range) = self.source.outer_range(place).filter(|_| direct) else {
            let usage = self.source.usage(place.first).or(self.source.usage(place.last));
            let name = usage.map_or("?", |usage| self.source.macro_name(usage));
            let reason = format!("the macro `{name}` makes the body of the function");
            return self.opaque_block(None, whole, reason);
        };
        match self.statements(&block.get_children(), place, false) {
            Ok(statements) => Statement { range, kind: StatementKind::Block(statements) },
            Err(reason) => self.opaque_block(Some(place), range, reason),
        }
    }

    /// Returns a block with one opaque statement: all that stands between the braces.
    pub(super) fn opaque_block(
        &self,
        place: Option<Span>,
        range: Range,
        reason: String,
    ) -> Statement {
        let inner = place.filter(|place| place.last > place.first + 1).and_then(|place| {
            self.source.outer_range(Span { first: place.first + 1, last: place.last - 1 })
        });
        let inner = inner.unwrap_or(range);
        let opaque = Statement { range: inner, kind: StatementKind::Opaque(reason) };
        Statement { range, kind: StatementKind::Block(vec![opaque]) }
    }
}

/// Returns true for a function that the compiler makes of a template. libclang lists it if the
/// headers are precompiled.
fn is_instance(entity: Entity<'_>) -> bool {
    let template = entity.get_template();
    template.is_some_and(|template| template.get_location() == entity.get_location())
}

/// Returns true if the code of a function depends on template parameters.
fn is_template(entity: Entity<'_>) -> bool {
    let mut scope = Some(entity);
    while let Some(here) = scope {
        if matches!(
            here.get_kind(),
            EntityKind::FunctionTemplate
                | EntityKind::ClassTemplate
                | EntityKind::ClassTemplatePartialSpecialization
        ) {
            return true;
        }
        scope = here.get_semantic_parent();
    }
    false
}
