//! The state that lowering a file to the IR keeps: its source, its variables and its records.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use clang::{Entity, EntityKind, Usr, source::File};

use super::{
    expanded::{Source, Span, range_in_main},
    owners::Owners,
    types::{self, Records},
};
use crate::{
    ir::{Expression, ExpressionKind, Language, Scope, Type, Variable, VariableIndex},
    source::Range,
};

/// The deepest nesting of expressions and statements that the IR represents.
pub(super) const MOST_LEVELS: usize = 200;

/// Lowers the entities of one file.
pub(super) struct Lowering<'tu, 's> {
    pub(super) source: &'s Source<'s>,
    pub(super) main: File<'tu>,
    pub(super) language: Language,
    pub(super) variables: Vec<Variable>,
    pub(super) records: Records,
    /// The values of the enumerators; `None` for a name with several.
    pub(super) enumerators: BTreeMap<String, Option<i64>>,
    /// The operands of the `sizeof`s, by the text; `None` for a text with several.
    pub(super) sizes: BTreeMap<String, Option<Type>>,
    known: HashMap<Entity<'tu>, VariableIndex>,
    /// The functions that the file defines, by their names: the identifiers of those of one name.
    pub(super) definitions: BTreeMap<String, BTreeSet<Usr>>,
    /// In C++, the names of functions of other files that stand outside of the functions: calls in
    /// the initializers of members, which any function may run.
    pub(super) outside: BTreeSet<String>,
    /// The functions of which a declaration says that another definition may replace theirs.
    pub(super) weak: HashSet<Usr>,
    /// The object of the method that is lowered.
    this: Option<(Entity<'tu>, Option<VariableIndex>)>,
    /// True if the function that is lowered returns a reference.
    pub(super) returns_reference: bool,
    /// The variables of the function that is lowered which own an object.
    pub(super) owners: Owners<'tu>,
    /// The words of the function that is lowered which stand in code without a representation.
    pub(super) hidden: HashSet<String>,
    /// The reason why the statement that is lowered cannot be represented.
    pub(super) trouble: Option<String>,
    /// True within a statement that a macro makes.
    pub(super) expanding: bool,
    pub(super) depth: usize,
}

impl<'tu, 's> Lowering<'tu, 's> {
    pub(super) fn new(
        source: &'s Source<'s>,
        main: File<'tu>,
        language: Language,
    ) -> Lowering<'tu, 's> {
        Lowering {
            source,
            main,
            language,
            variables: Vec::new(),
            records: Records::default(),
            enumerators: BTreeMap::new(),
            sizes: BTreeMap::new(),
            known: HashMap::new(),
            definitions: BTreeMap::new(),
            outside: BTreeSet::new(),
            weak: HashSet::new(),
            this: None,
            returns_reference: false,
            owners: HashMap::new(),
            hidden: HashSet::new(),
            trouble: None,
            expanding: false,
            depth: 0,
        }
    }

    /// Returns the tokens of an entity, if it stands in the file.
    pub(super) fn span(&self, entity: Entity<'tu>) -> Option<Span> {
        let range = range_in_main(entity, self.main)?;
        self.source.span(range.start, range.end)
    }

    /// Returns the text of the file that stands for exactly this entity.
    pub(super) fn file_range(&self, entity: Entity<'tu>) -> Option<Range> {
        self.span(entity).and_then(|span| self.source.file_range(span))
    }

    /// Returns the tokens of an entity as written, without the white space between them.
    pub(super) fn written(&self, entity: Entity<'tu>) -> String {
        let Some(span) = self.span(entity) else { return String::new() };
        let mut written = String::new();
        for place in span.first..=span.last {
            let token = self.source.token(place);
            let joins = |letter: char| letter.is_alphanumeric() || letter == '_';
            if written.ends_with(joins) && token.starts_with(joins) {
                written.push(' ');
            }
            written.push_str(token);
        }
        written
    }

    /// Begins a function; `method` is its entity if it has an object.
    pub(super) fn begin_function(&mut self, method: Option<Entity<'tu>>, result: &Type) {
        self.this = method.map(|method| (method, None));
        self.returns_reference = matches!(result, Type::Reference { .. });
    }

    /// Notes the words of code that the IR does not represent.
    pub(super) fn hide(&mut self, span: Span) {
        let words = (span.first..=span.last).map(|place| self.source.token(place));
        self.hidden.extend(words.map(str::to_owned));
    }

    /// Marks the variables from a place on that code without a representation may name.
    pub(super) fn mark_hidden(&mut self, from: usize) {
        let hidden = std::mem::take(&mut self.hidden);
        for variable in &mut self.variables[from..] {
            variable.hidden = hidden.contains(&variable.name);
        }
    }

    /// Returns the variable that `this` is in the method that is lowered.
    pub(super) fn this(&mut self) -> Option<VariableIndex> {
        let (method, known) = self.this?;
        if known.is_some() {
            return known;
        }
        let class = method.get_semantic_parent()?.get_type()?;
        self.records.add(class);
        let index = self.push(Variable {
            name: "this".to_owned(),
            scope: Scope::Parameter,
            ty: Type::Pointer {
                to: Box::new(types::lower(class)),
                constant: method.is_const_method(),
            },
            constant: true,
            volatile: false,
            hidden: false,
            owner: None,
            initial: None,
        });
        self.this = Some((method, Some(index)));
        Some(index)
    }

    fn push(&mut self, variable: Variable) -> VariableIndex {
        self.variables.push(variable);
        VariableIndex(self.variables.len() - 1)
    }

    /// Returns the variable of a declaration.
    pub(super) fn variable(&mut self, declaration: Entity<'tu>) -> VariableIndex {
        let key = declaration.get_canonical_entity();
        if let Some(&index) = self.known.get(&key) {
            return index;
        }
        let scope = types::scope(key);
        let name = match scope {
            Scope::Global => types::qualified_name(declaration),
            _ => declaration.get_name().unwrap_or_default(),
        };
        let (ty, owned) = (declaration.get_type(), self.owned_by(declaration));
        if let Some(ty) = owned.as_ref().map(|owned| owned.object).or(ty) {
            self.records.add(ty);
        }
        let declared = ty.map_or(Type::Other(String::new()), |ty| types::of_variable(ty, scope));
        let pointer = |object| Type::Pointer {
            to: Box::new(types::lower(object)),
            constant: types::is_constant(object),
        };
        let index = self.push(Variable {
            name,
            scope,
            ty: owned.map_or(declared, |owned| pointer(owned.object)),
            constant: ty.is_some_and(|ty| types::is_constant_variable(ty, scope)),
            volatile: ty.is_some_and(types::is_volatile),
            hidden: false,
            owner: self.owner(declaration).or_else(|| match scope {
                Scope::Local => self.unknown_owner(declaration),
                _ => None,
            }),
            initial: None,
        });
        self.known.insert(key, index);
        if scope == Scope::Global && self.variables[index.0].constant {
            let definition = declaration.get_definition().unwrap_or(declaration);
            let initial = self.initializer(definition).map(|value| self.expression(value));
            self.variables[index.0].initial = initial;
        }
        index
    }

    /// Returns true for a variable that may be another one by a second name: with the attribute
    /// `alias` or `weakref`, or with a name for the assembler.
    pub(super) fn is_alias(&self, declaration: Entity<'tu>) -> bool {
        declaration.get_children().into_iter().any(|child| match child.get_kind() {
            EntityKind::AsmLabelAttr => true,
            EntityKind::UnexposedAttr => {
                let written = self.written(child);
                written.contains("alias") || written.contains("weakref")
            }
            _ => false,
        })
    }

    /// Returns the initializer of a variable's declaration.
    ///
    /// libclang lists it among the sizes of arrays and the operands of `typeof`, and does not say
    /// which is which. The initializer stands behind `=`; in C++ also directly behind the name.
    pub(super) fn initializer(&self, declaration: Entity<'tu>) -> Option<Entity<'tu>> {
        let last = declaration.get_children().into_iter().rfind(|one| one.is_expression())?;
        let Some(span) = self.span(last) else {
            // It stands in another file, alone or with the whole declaration.
            let text = self.strip(last).get_kind() == EntityKind::StringLiteral;
            return (text || self.span(declaration).is_some()).then_some(last);
        };
        let before = span.first.checked_sub(1).map(|place| self.source.token(place));
        if before == Some("=") {
            return Some(last);
        }
        let name = range_in_main_start(declaration, self.main)?;
        let behind = self.source.tokens[span.first].range.start >= name;
        (self.language == Language::Cpp && behind && before != Some("[")).then_some(last)
    }

    /// Returns an expression that stands for something that the IR does not represent.
    pub(super) fn opaque(&self, entity: Entity<'tu>, reason: impl Into<String>) -> Expression {
        let range = self.file_range(entity);
        Expression { range, kind: ExpressionKind::Opaque(reason.into()) }
    }
}

/// Returns the offset of a declaration's name in the text that libclang read.
fn range_in_main_start(declaration: Entity<'_>, main: File<'_>) -> Option<usize> {
    let location = declaration.get_location()?.get_file_location();
    (location.file == Some(main)).then_some(location.offset as usize)
}

/// Returns the children of an entity that are expressions.
pub(super) fn operands<'tu>(entity: Entity<'tu>) -> Vec<Entity<'tu>> {
    entity.get_children().into_iter().filter(|child| child.is_expression()).collect()
}

/// Returns true for a function with an object.
pub(super) fn is_method(entity: Entity<'_>) -> bool {
    use EntityKind as Kind;
    match entity.get_kind() {
        Kind::Method => !entity.is_static_method(),
        Kind::Constructor | Kind::Destructor | Kind::ConversionFunction => true,
        _ => false,
    }
}
