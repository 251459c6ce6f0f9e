//! Reading a file: libclang's translation units of the file and of its expanded text.

use std::{
    path::Path,
    sync::atomic::{AtomicUsize, Ordering},
};

use clang::{Clang, Index, Parser, TranslationUnit, Unsaved, diagnostic::Severity, source::File};

use super::{
    Diagnostic, FrontEndError, agreement, expanded,
    expanded::{Expansions, Source, range_in_main},
    headers,
    lowering::Lowering,
    macros::{Definitions, events},
    precompiled::{self, Cache, Headers},
    tokens::{Lexed, lex, too_long},
};
use crate::{
    ir::{Function, Language, LeftOut, Program, StatementKind},
    source::Range,
};

/// Text behind the end of the file: a group that is left out. libclang's list of such groups is
/// only safe to read if it is not empty.
const END: &str = "\n\n#if 0\n#endif\n";

/// The file that is read, and how.
#[derive(Clone, Copy)]
struct Input<'a> {
    path: &'a Path,
    text: &'a str,
    arguments: &'a [String],
    language: Language,
    /// The headers that were read before; `None` if libclang reads them with the file.
    headers: Option<&'a Headers>,
    /// The number of times that libclang has read headers.
    reads: &'a AtomicUsize,
}

/// Reads a file.
pub(super) fn read(
    clang: &Clang,
    cache: &mut Cache<'_>,
    path: &Path,
    text: &str,
    arguments: &[String],
) -> Result<Program, FrontEndError> {
    let language = language(path, arguments);
    let lexed = lex(text, language);
    if let Some(place) = too_long(text, &lexed.tokens) {
        let line = place.line(text);
        let reason = format!("line {line} is in a statement that is too long for its parser");
        return Err(failed(path, &reason));
    }
    let headers = cache.of(path, text, arguments, language, &lexed);
    let input = Input { path, text, arguments, language, headers: None, reads: &cache.reads };
    if let Some(headers) = headers {
        let (arguments, headers) = (&headers.arguments, Some(&*headers));
        if let Ok(program) = read_input(clang, Input { arguments, headers, ..input }, &lexed) {
            return Ok(program);
        }
    }
    read_input(clang, input, &lexed)
}

/// Reads a file with the headers that were read before, or with all of its headers.
fn read_input(clang: &Clang, input: Input<'_>, lexed: &Lexed) -> Result<Program, FrontEndError> {
    let Input { path, text, language, headers, .. } = input;
    // With precompiled headers, the tree is that of the rest.
    let index = Index::new(clang, headers.is_some(), false);
    let (mut input, mut more_arguments) = (input, Vec::new());
    let mut unit = parse(&index, &input, text)?;
    let mut errors = errors(&unit, path, text);
    if errors.iter().any(|one| headers::is_missing(&one.message))
        && let Some(folder) = headers::folder()
    {
        more_arguments.extend_from_slice(input.arguments);
        more_arguments.extend(["-isystem".to_owned(), folder.display().to_string()]);
        input.arguments = &more_arguments;
        unit = parse(&index, &input, text)?;
        errors = self::errors(&unit, path, text);
    }
    if !errors.is_empty() {
        let path = path.to_owned();
        return Err(FrontEndError::DoesNotCompile { path, diagnostics: errors });
    }
    let mut expansions = expand(&input, &unit, lexed)?;
    let mut expanded = None;
    if !expansions.is_empty() {
        let mut second = parse(&index, &input, &expansions.expanded_text(text))?;
        if !self::errors(&second, path, text).is_empty() {
            // What a use makes has one place then, and most of it becomes opaque.
            expansions.leave(text, lexed, language);
            second = parse(&index, &input, &expansions.expanded_text(text))?;
        }
        expanded = Some(second);
    }
    let lowered = lower(&input, &unit, expanded.as_ref(), &expansions)?;
    Ok(Program {
        path: path.display().to_string(),
        language,
        macros: expansions.reported,
        directives: lexed.directives.clone(),
        ..lowered
    })
}

fn failed(path: &Path, reason: &str) -> FrontEndError {
    FrontEndError::Failed { path: path.to_owned(), reason: reason.to_owned() }
}

fn parse<'i>(
    index: &'i Index<'i>,
    input: &Input<'_>,
    text: &str,
) -> Result<TranslationUnit<'i>, FrontEndError> {
    let text = match input.headers {
        Some(headers) => precompiled::blanked(text, headers.length),
        None => {
            input.reads.fetch_add(1, Ordering::Relaxed);
            text.to_owned()
        }
    };
    let mut parser: Parser<'i> = index.parser(input.path);
    parser
        .arguments(input.arguments)
        .unsaved(&[Unsaved::new(input.path, text + END)])
        .detailed_preprocessing_record(true);
    parser.parse().map_err(|error| {
        let flags = input.arguments.join(" ");
        failed(input.path, &format!("{error}; check the compiler flags `{flags}`"))
    })
}

/// Returns the errors that libclang found.
fn errors(unit: &TranslationUnit<'_>, path: &Path, text: &str) -> Vec<Diagnostic> {
    let found = unit.get_diagnostics();
    let errors = found.iter().filter(|one| one.get_severity() >= Severity::Error);
    let errors = errors.map(|one| {
        let location = one.get_location().get_file_location();
        let file = location.file.map(|file| file.get_path());
        let last = text.lines().count().max(1) as u32;
        let here = file.as_deref() == Some(path);
        Diagnostic {
            file: file.map_or("the command line".to_owned(), |file| file.display().to_string()),
            line: if here { location.line.min(last) } else { location.line },
            column: location.column,
            message: one.get_text(),
        }
    });
    errors.collect()
}

fn main_file<'u>(
    input: &Input<'_>,
    unit: &'u TranslationUnit<'u>,
) -> Result<File<'u>, FrontEndError> {
    unit.get_file(input.path).ok_or_else(|| failed(input.path, "it is not in the unit"))
}

fn expand<'u>(
    input: &Input<'u>,
    unit: &'u TranslationUnit<'u>,
    lexed: &Lexed,
) -> Result<Expansions, FrontEndError> {
    let main = main_file(input, unit)?;
    let within = |entity| {
        range_in_main(entity, main).filter(|range| input.text.get(range.start..range.end).is_some())
    };
    let events = events(unit.get_entity(), input.text, &lexed.directives, &within);
    let macros = input.headers.map(|headers| &headers.macros);
    let mut definitions = Definitions::new(input.path, input.text, input.language, macros);
    Ok(expanded::expand(input.text, lexed, input.language, events, &mut definitions))
}

/// Lowers the functions from the expanded text, or from the file if it uses no macros.
fn lower<'u>(
    input: &Input<'_>,
    plain: &'u TranslationUnit<'u>,
    expanded: Option<&'u TranslationUnit<'u>>,
    expansions: &Expansions,
) -> Result<Program, FrontEndError> {
    let unit = expanded.unwrap_or(plain);
    let main = main_file(input, unit)?;
    let left_out: Vec<Range> = main
        .get_skipped_ranges()
        .iter()
        .map(|range| {
            let (start, end) = (range.get_start(), range.get_end());
            let offset = |one: clang::source::SourceLocation<'_>| one.get_file_location().offset;
            Range::new(offset(start) as usize, offset(end).max(offset(start)) as usize)
        })
        .collect();
    let source = Source::new(input.text, expansions, input.language, &left_out);
    let mut lowering = Lowering::new(&source, main, input.language);
    let entities = lowering.defined(unit.get_entity());
    lowering.note_definitions(&entities);
    lowering.note_weak(unit.get_entity());
    let mut functions = Vec::new();
    for &entity in &entities {
        functions.push(lowering.function(entity));
    }
    if expanded.is_some() {
        let before = Lowering::new(&source, main_file(input, plain)?, input.language);
        let before = before.defined(plain.get_entity());
        let same = before.len() == entities.len();
        for (place, function) in functions.iter_mut().enumerate() {
            let agrees = same && agreement::agree(before[place], entities[place]);
            if let Some(function) = function.as_mut().filter(|_| !agrees) {
                distrust(function);
            }
        }
    }
    let mut functions: Vec<Function> = functions.into_iter().flatten().collect();
    functions.sort_by_key(|function| function.range);
    Ok(Program {
        path: String::new(),
        language: input.language,
        variables: lowering.variables,
        records: lowering.records.into_sorted(),
        functions,
        macros: Vec::new(),
        directives: Vec::new(),
        enumerators: lowering.enumerators,
        sizes: lowering.sizes,
        left_out: LeftOut::default(),
    })
}

/// Makes the body of a function opaque: its macros were not expanded as libclang expands them.
fn distrust(function: &mut Function) {
    let range = function.body.range;
    let reason = "the uses of macros in this function could not be followed".to_owned();
    let opaque = crate::ir::Statement { range, kind: StatementKind::Opaque(reason) };
    function.body.kind = StatementKind::Block(vec![opaque]);
}

/// Returns the language of a file: as the flags say, or else as its name says.
fn language(path: &Path, arguments: &[String]) -> Language {
    let mut said = None;
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        let value = match argument.strip_prefix("-x") {
            Some("") => arguments.next().map(String::as_str),
            other => other,
        };
        if let Some(value) = value {
            said = Some(value.starts_with("c++"));
        }
    }
    let extension = path.extension().and_then(|one| one.to_str()).unwrap_or("");
    let names = ["cc", "cp", "cpp", "cxx", "c++", "C", "CC", "CPP", "hh", "hpp", "hxx", "H", "ii"];
    match said.unwrap_or(names.contains(&extension)) {
        true => Language::Cpp,
        false => Language::C,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn language_is_that_of_the_flags_or_of_the_name() {
        let found = |path: &str, arguments: &[&str]| {
            let arguments: Vec<String> = arguments.iter().map(|&one| one.to_owned()).collect();
            language(Path::new(path), &arguments)
        };
        assert_eq!(found("a.c", &[]), Language::C);
        assert_eq!(found("a.cpp", &["-O2"]), Language::Cpp);
        assert_eq!(found("a.C", &[]), Language::Cpp);
        assert_eq!(found("a.h", &["-x", "c++"]), Language::Cpp);
        assert_eq!(found("a.cc", &["-xc"]), Language::C);
    }
}
