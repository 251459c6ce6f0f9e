//! The definitions of macros, and the uses of macros in a file.
//!
//! libclang reports definitions and uses in the order in which the preprocessor met them, so the
//! definition that is in effect at a use is the last one before it. It does not report uses within
//! the bodies of other macros; [`super::expansion`] finds those.

use std::{
    cell::RefCell,
    collections::HashMap,
    path::{Path, PathBuf},
    rc::Rc,
};

use clang::{Entity, EntityKind};

use super::tokens::{TokenKind, lex};
use crate::{ir::Language, source::Range};

/// A token of a macro's body.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct BodyToken {
    pub(super) text: Rc<str>,
    pub(super) kind: TokenKind,
    /// True if white space stands before it.
    pub(super) spaced: bool,
}

/// A definition of a macro.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Definition {
    pub(super) name: Rc<str>,
    /// The names of the parameters; `None` for an object-like macro. A variadic macro's last one is
    /// `__VA_ARGS__` or its own name.
    pub(super) parameters: Option<Vec<String>>,
    /// True if the last parameter takes all further arguments.
    pub(super) variadic: bool,
    pub(super) body: Vec<BodyToken>,
}

impl Definition {
    /// Reads a definition from its text, which begins with the name.
    pub(super) fn read(text: &str, language: Language) -> Option<Definition> {
        // A `#` at the start of a line would begin a directive; in a definition it never does.
        let joined = text.replace("\\\r\n", " ").replace("\\\n", " ").replace('\n', " ");
        let lexed = lex(&joined, language);
        let mut tokens = lexed.tokens.iter();
        let name = tokens.next()?;
        let mut rest = tokens.as_slice();
        let mut parameters = None;
        let mut variadic = false;
        if let Some(open) = rest.first()
            && open.range.start == name.range.end
            && open.range.of(&joined) == "("
        {
            let close = rest.iter().position(|token| token.range.of(&joined) == ")")?;
            let mut names: Vec<String> = Vec::new();
            for token in &rest[1..close] {
                match token.range.of(&joined) {
                    "," => {}
                    "..." => variadic = true,
                    name => names.push(name.to_owned()),
                }
            }
            if variadic && (names.is_empty() || rest[close - 2].range.of(&joined) == ",") {
                names.push("__VA_ARGS__".to_owned());
            }
            parameters = Some(names);
            rest = &rest[close + 1..];
        }
        let mut end = rest.first().map_or(0, |token| token.range.start);
        let body = rest.iter().map(|token| {
            let spaced = token.range.start > std::mem::replace(&mut end, token.range.end);
            BodyToken { text: token.range.of(&joined).into(), kind: token.kind, spaced }
        });
        let name = name.range.of(&joined).into();
        Some(Definition { name, parameters, variadic, body: body.collect() })
    }
}

/// The definitions that are in effect at a place of the file.
pub(super) struct Definitions<'tu> {
    /// The line in which the use that is expanded ends.
    pub(super) line: usize,
    language: Language,
    /// The definitions of precompiled headers.
    headers: Option<&'tu HeaderMacros>,
    /// The other ones; `None` for a name whose definition has ended.
    current: HashMap<String, Option<Entity<'tu>>>,
    read: HashMap<Entity<'tu>, Option<Rc<Definition>>>,
    files: Files,
}

impl<'tu> Definitions<'tu> {
    /// Returns the definitions before the first line; `path` is the file with the text `text`.
    pub(super) fn new(
        path: &Path,
        text: &str,
        language: Language,
        headers: Option<&'tu HeaderMacros>,
    ) -> Definitions<'tu> {
        let (current, read) = (HashMap::new(), HashMap::new());
        Definitions { line: 1, language, headers, current, read, files: Files::with(path, text) }
    }

    /// Takes a definition into effect.
    pub(super) fn define(&mut self, entity: Entity<'tu>) {
        if let Some(name) = entity.get_name() {
            self.current.insert(name, Some(entity));
        }
    }

    /// Ends the definition of a name.
    pub(super) fn undefine(&mut self, name: &str) {
        self.current.insert(name.to_owned(), None);
    }

    /// Returns the definition of a name, if there is one and its text can be read. Definitions of
    /// the compiler itself and of the command line have no text.
    pub(super) fn get(&mut self, name: &str) -> Option<Rc<Definition>> {
        if name == "__LINE__" {
            return Definition::read(&format!("__LINE__ {}", self.line), self.language)
                .map(Rc::new);
        }
        let Some(entity) = self.current.get(name) else { return self.headers?.get(name) };
        let entity = (*entity)?;
        if let Some(known) = self.read.get(&entity) {
            return known.clone();
        }
        let definition =
            Place::of(entity).and_then(|place| self.files.definition(&place, name, self.language));
        self.read.insert(entity, definition.clone());
        definition
    }
}

/// The definitions of headers, which outlive the unit that libclang has read them in.
pub(super) struct HeaderMacros {
    language: Language,
    places: HashMap<String, Place>,
    read: RefCell<HashMap<String, Option<Rc<Definition>>>>,
    files: RefCell<Files>,
}

impl HeaderMacros {
    /// Returns the definitions behind all of a unit, whose file `path` has the text `text`.
    pub(super) fn of(
        unit: Entity<'_>,
        path: &Path,
        text: &str,
        language: Language,
    ) -> HeaderMacros {
        let mut places = HashMap::new();
        for entity in unit.get_children() {
            if entity.get_kind() == EntityKind::MacroDefinition
                && let Some(name) = entity.get_name()
            {
                match Place::of(entity) {
                    Some(place) => places.insert(name, place),
                    None => places.remove(&name),
                };
            }
        }
        let files = RefCell::new(Files::with(path, text));
        HeaderMacros { language, places, read: RefCell::default(), files }
    }

    fn get(&self, name: &str) -> Option<Rc<Definition>> {
        if let Some(known) = self.read.borrow().get(name) {
            return known.clone();
        }
        let place = self.places.get(name)?;
        let definition = self.files.borrow_mut().definition(place, name, self.language);
        self.read.borrow_mut().insert(name.to_owned(), definition.clone());
        definition
    }
}

/// Where the text of a definition stands.
struct Place {
    path: PathBuf,
    range: std::ops::Range<usize>,
}

impl Place {
    fn of(entity: Entity<'_>) -> Option<Place> {
        if entity.is_builtin_macro() {
            return None;
        }
        let range = entity.get_range()?;
        let (start, end) =
            (range.get_start().get_file_location(), range.get_end().get_file_location());
        let path = start.file?.get_path();
        Some(Place { path, range: start.offset as usize..end.offset as usize })
    }
}

/// The contents of files.
struct Files(HashMap<PathBuf, Option<Vec<u8>>>);

impl Files {
    /// The file `path` has the text `text`.
    fn with(path: &Path, text: &str) -> Files {
        Files([(path.to_owned(), Some(text.as_bytes().to_vec()))].into())
    }

    /// Returns the definition of `name` at a place.
    fn definition(
        &mut self,
        place: &Place,
        name: &str,
        language: Language,
    ) -> Option<Rc<Definition>> {
        let read = |path: &PathBuf| std::fs::read(path).ok();
        let contents = self.0.entry(place.path.clone()).or_insert_with_key(read).as_ref()?;
        let text = String::from_utf8_lossy(contents.get(place.range.clone())?);
        Definition::read(&text, language).filter(|found| &*found.name == name).map(Rc::new)
    }
}

/// A definition or a use, as libclang reports them.
pub(super) enum Event<'tu> {
    /// A definition, here or in a header.
    Define(Entity<'tu>),
    /// The end of a definition by a directive of the file.
    Undefine(String),
    /// A use in the file, outside of directives.
    Use(String, Range),
}

/// Returns the definitions and uses in the order of the preprocessor.
///
/// `main` returns the range of an entity in the file, and `None` for one elsewhere.
pub(super) fn events<'tu>(
    unit: Entity<'tu>,
    text: &str,
    directives: &[Range],
    main: &impl Fn(Entity<'tu>) -> Option<Range>,
) -> Vec<Event<'tu>> {
    let mut undefined = directives
        .iter()
        .filter_map(|directive| {
            let rest = directive.of(text).strip_prefix('#')?.trim_start();
            let name = rest.strip_prefix("undef")?.split_whitespace().next()?;
            Some((directive.start, name.to_owned()))
        })
        .peekable();
    let mut events = Vec::new();
    for entity in unit.get_children() {
        if !entity.is_preprocessing() {
            continue;
        }
        let range = main(entity);
        while let Some((_, name)) =
            undefined.next_if(|(at, _)| range.is_some_and(|range| *at < range.start))
        {
            events.push(Event::Undefine(name));
        }
        match (entity.get_kind(), range, entity.get_name()) {
            (EntityKind::MacroDefinition, ..) => events.push(Event::Define(entity)),
            (EntityKind::MacroExpansion, Some(range), Some(name)) => {
                let before = directives.partition_point(|directive| directive.start <= range.start);
                let within = before.checked_sub(1).map(|last| directives[last]);
                if !within.is_some_and(|directive| directive.contains(range)) {
                    events.push(Event::Use(name, range));
                }
            }
            _ => {}
        }
    }
    events
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (Option<Vec<String>>, bool, Vec<String>) {
        let found = Definition::read(text, Language::C).expect("a definition");
        let body = found.body.iter().map(|token| token.text.to_string()).collect();
        (found.parameters, found.variadic, body)
    }

    #[test]
    fn parameters_stand_directly_behind_the_name() {
        assert_eq!(read("A (x)"), (None, false, vec!["(".into(), "x".into(), ")".into()]));
        assert_eq!(
            read("A(x, y) x"),
            (Some(vec!["x".into(), "y".into()]), false, vec!["x".into()])
        );
        assert_eq!(read("A()"), (Some(vec![]), false, vec![]));
    }

    #[test]
    fn variadic_parameters_have_a_name() {
        let names = |text| read(text).0.expect("parameters");
        assert_eq!(names("A(...) x"), ["__VA_ARGS__"]);
        assert_eq!(names("A(f, ...) f"), ["f", "__VA_ARGS__"]);
        assert_eq!(names("A(f, rest...) f"), ["f", "rest"]);
        assert!(read("A(f, rest...) f").1);
    }

    #[test]
    fn spliced_lines_belong_to_the_body() {
        assert_eq!(read("A \\\n  #x \\\r\n 2").2, ["#", "x", "2"]);
        assert_eq!(Definition::read("", Language::C), None);
    }
}
