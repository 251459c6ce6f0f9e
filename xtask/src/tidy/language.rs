//! Plain technical English: finds words for which there is a better one, and doc comments that open
//! with a clause instead of a verb or a noun phrase.
//!
//! Words are checked in comments, literals, identifiers and Markdown alike. A word is on the list
//! if it has no other meaning in the field, is no name on disk, and is nothing that a user types.

use super::{Text, Violation, scan::Source, violation};

/// A word or phrase, and the replacement. A blank stands for white space, a hyphen for what joins
/// the parts of a name.
const WORDS: &[(&[&str], &str)] = &[
    (&["whoever"], "name the actor"),
    (&["somebody", "anybody"], "name the actor: another transaction, a thread, a caller"),
    (&["nobody"], "name the actor: no transaction, no thread, no caller"),
    (&["him", "his"], "name the actor again"),
    (&["told", "tells"], "reported, notified, delivered, recognized"),
    (&["so many"], "at most N, the number of"),
    (&["others than"], "other than"),
    (&["flight", "flights", "fly", "flies"], "in-flight flush, flush"),
    (&["lands", "landed"], "completes"),
    (&["timekeeper"], "timer"),
    (&["headroom"], "log space reserve"),
    (&["keep-from"], "retention LSN"),
    (&["doom", "dooms", "doomed"], "mark as victim"),
    (&["board"], "published waits"),
    (&["announce", "announces", "announced"], "publish a wait"),
    (&["bequeath", "bequeaths", "bequeathed"], "pass on inherited locks"),
    (&["renounce", "renounces", "renounced"], "drop inherited locks"),
    (&["crowd", "crowded"], "oversubscribed"),
    (&["door", "doors"], "forbidden API, boundary"),
    (&["condemn", "condemns", "condemned"], "poison"),
    (&["debt", "debts"], "pending adoption"),
    (&["owe", "owes", "owed"], "pending undo, undo-next LSN"),
    (&["stranded"], "failed deallocation"),
    (&["kennel"], "mutation catalogue"),
];
/// Files that contain the words in order to define or to test this check.
const OWN: &[&str] = &["xtask/src/tidy/language.rs", "xtask/src/tidy/language/tests.rs"];

/// The parts of a text that words are made of, in lower case.
struct Part {
    at: usize,
    word: String,
    join: Join,
}

/// The separator between a part and the one before it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Join {
    /// In the same name: after an underscore, a hyphen or a change of case.
    Name,
    /// After white space, comment marks included.
    Space,
    Other,
}

/// The listed words in `text`, each with its position.
fn listed_words(text: &str) -> Vec<(usize, String)> {
    let parts = parts(text);
    let mut found = Vec::new();
    for at in 0..parts.len() {
        for (words, instead) in WORDS {
            let hit = words.iter().find(|word| stands_at(&parts[at..], word));
            let in_flight = at > 0 && parts[at].join != Join::Other && parts[at - 1].word == "in";
            if let Some(word) = hit.filter(|_| !in_flight) {
                found.push((parts[at].at, format!("`{word}`: {instead}")));
            }
        }
    }
    found
}

/// Returns whether `parts` begin with `phrase`.
fn stands_at(parts: &[Part], phrase: &str) -> bool {
    let mut join = None;
    let mut parts = parts.iter();
    phrase.split_inclusive([' ', '-']).all(|word| {
        let matches = parts.next().is_some_and(|part| {
            part.word == word.trim_end_matches([' ', '-']) && join.is_none_or(|j| j == part.join)
        });
        join = Some(if word.ends_with('-') { Join::Name } else { Join::Space });
        matches
    })
}

fn parts(text: &str) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    let mut between = String::new();
    let mut last_lower = false;
    for (at, character) in text.char_indices() {
        if !character.is_alphabetic() {
            between.push(character);
            continue;
        }
        let camel = between.is_empty() && last_lower && character.is_uppercase();
        last_lower = character.is_lowercase();
        if !between.is_empty() || camel || parts.is_empty() {
            let join = join_of(&between);
            parts.push(Part { at, word: String::new(), join });
            between.clear();
        }
        let part = parts.last_mut().expect("one was pushed");
        part.word.extend(character.to_lowercase());
    }
    parts
}

fn join_of(between: &str) -> Join {
    match between {
        "" | "_" | "-" => Join::Name,
        _ if between.chars().all(|c| c.is_whitespace() || matches!(c, '/' | '!')) => Join::Space,
        _ => Join::Other,
    }
}

/// First words of doc comments that are clauses without a main verb, and what to begin with.
const OPENINGS: &[(&[&str], &str)] = &[
    (&["What", "Which"], "begin with the noun itself"),
    (&["How", "Why", "Who", "Whose", "Whom"], "begin with a noun phrase or a verb"),
    (&["Answers", "Tells", "Says"], "begin with `Returns` or `Reports`"),
];

/// The doc comments of `source` that open with a clause, by position. `Whether` may open the
/// comment of a function that returns a `bool`, or of a field or constant that is one.
fn openings(source: &Source) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let (mut at, mut in_doc) = (0, false);
    for line in source.text.split_inclusive('\n') {
        let start = at;
        at += line.len();
        let indent = line.len() - line.trim_start().len();
        let is_comment = source.comments[start + indent..].starts_with("//");
        let text = ["///", "//!"].iter().find_map(|mark| line.trim_start().strip_prefix(mark));
        let Some(text) = text.filter(|text| is_comment && !text.starts_with('/')) else {
            in_doc = false;
            continue;
        };
        if std::mem::replace(&mut in_doc, true) {
            continue;
        }
        let first = text.trim().split(|c: char| !c.is_alphabetic()).next().unwrap_or_default();
        let opening = OPENINGS.iter().find(|(words, _)| words.contains(&first));
        if let Some((_, instead)) = opening {
            found.push((start + indent, format!("a doc comment opens with `{first}`: {instead}")));
        } else if first == "Whether" && !is_boolean(&source.code[at..]) {
            let message = "a doc comment opens with `Whether`, of something that is no `bool`";
            found.push((start + indent, message.to_string()));
        }
    }
    found
}

/// Returns whether the item at the start of `code` is a function that returns a `bool`, or a field
/// or constant of a type that holds one.
fn is_boolean(code: &str) -> bool {
    let (mut depth, mut end) = (0i32, code.len());
    for (at, byte) in code.bytes().enumerate() {
        match byte {
            b'(' | b'[' => depth += 1,
            b')' | b']' if depth == 0 => {
                end = at;
                break;
            }
            b')' | b']' => depth -= 1,
            b'{' | b';' | b',' | b'}' if depth == 0 => {
                end = at;
                break;
            }
            _ => {}
        }
    }
    let item = &code[..end];
    let is_function = super::scan::words(item, "fn").next().is_some();
    let declared = match item.rsplit_once("->") {
        Some((_, result)) => result,
        None if is_function => "",
        None => item.split_once(':').map_or("", |(_, kind)| kind),
    };
    declared.contains("bool") || declared.contains("AtomicBool")
}

/// Returns the findings in a Rust file.
pub(crate) fn check_source(source: &Source) -> Vec<Violation> {
    if OWN.contains(&source.path.as_str()) {
        return Vec::new();
    }
    let found = listed_words(&source.text).into_iter().chain(openings(source));
    found.map(|(at, message)| violation(&source.path, source.line_of(at), message)).collect()
}

/// Returns the findings in a document.
pub(crate) fn check_document(document: &Text) -> Vec<Violation> {
    let place = |(at, message)| -> Violation {
        let line = document.text[..at].matches('\n').count() + 1;
        violation(&document.path, line, message)
    };
    listed_words(&document.text).into_iter().map(place).collect()
}

/// The area of the project that a file belongs to: its crate's folder in `crates`, or the first
/// folder. The documents of the root belong to `docs`.
pub(crate) fn area(path: &str) -> &str {
    let mut parts = path.split('/');
    match (parts.next(), parts.next()) {
        (Some("crates"), Some(name)) => name,
        (Some(folder), Some(_)) => folder,
        _ => "docs",
    }
}

#[cfg(test)]
mod tests;
