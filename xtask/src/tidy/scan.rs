//! Rust source, scanned far enough for the checks: code, comments, literals and tests.

use std::ops::Range;

/// The class of a byte of source.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Class {
    Code,
    Comment,
    Literal,
}

/// One source file. `code` and `comments` have the text's length, with everything else blanked, so
/// that positions in one are positions in all.
pub(crate) struct Source {
    pub(crate) path: String,
    pub(crate) text: String,
    pub(crate) code: String,
    pub(crate) comments: String,
    classes: Vec<Class>,
    line_starts: Vec<usize>,
    test_ranges: Vec<Range<usize>>,
}

impl Source {
    pub(crate) fn new(path: &str, text: &str) -> Source {
        let classes = classify(text.as_bytes());
        let code = only(text, &classes, Class::Code);
        let comments = only(text, &classes, Class::Comment);
        let line_starts =
            std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        let test_ranges = test_ranges(&code);
        let (path, text) = (path.to_string(), text.to_string());
        Source { path, text, code, comments, classes, line_starts, test_ranges }
    }

    /// The crate's folder name, for files in `crates/`.
    pub(crate) fn crate_name(&self) -> Option<&str> {
        self.path.strip_prefix("crates/")?.split('/').next()
    }

    /// The line of a position, counted from 1.
    pub(crate) fn line_of(&self, position: usize) -> usize {
        self.line_starts.partition_point(|&start| start <= position)
    }

    pub(crate) fn line_count(&self) -> usize {
        self.text.lines().count()
    }

    /// Lines that hold code or part of a literal, not only comments and blanks.
    pub(crate) fn code_line_count(&self) -> usize {
        let bytes = self.text.as_bytes();
        let is_code =
            |&at: &usize| self.classes[at] != Class::Comment && !bytes[at].is_ascii_whitespace();
        let mut lines: Vec<usize> =
            (0..bytes.len()).filter(is_code).map(|at| self.line_of(at)).collect();
        lines.dedup();
        lines.len()
    }

    /// Whether the whole file is a test, an example or a benchmark.
    pub(crate) fn is_test_file(&self) -> bool {
        let mut parts = self.path.split('/');
        let is_test_name = |name: &str| name == "tests.rs" || name.ends_with("_tests.rs");
        parts.any(|part| matches!(part, "tests" | "examples" | "benches") || is_test_name(part))
    }

    /// Whether a position is in test code: a test file, or an item under `#[cfg(test)]`.
    pub(crate) fn is_test(&self, position: usize) -> bool {
        self.is_test_file() || self.test_ranges.iter().any(|range| range.contains(&position))
    }
}

/// The positions at which `word` stands in `code` as a whole word.
pub(crate) fn words<'a>(code: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    let bytes = code.as_bytes();
    code.match_indices(word).map(|(at, _)| at).filter(move |&at| {
        let before = at.checked_sub(1).map(|at| bytes[at]);
        let after = bytes.get(at + word.len()).copied();
        !before.is_some_and(is_identifier) && !after.is_some_and(is_identifier)
    })
}

/// The identifier that starts at or after the blanks at `from`; empty if there is none.
pub(crate) fn identifier(code: &str, from: usize) -> &str {
    let rest = code[from..].trim_start();
    let end = rest.bytes().position(|byte| !is_identifier(byte)).unwrap_or(rest.len());
    &rest[..end]
}

/// The braces of the item whose head starts at `from`, or `None` if the item ends in a semicolon.
pub(crate) fn body(code: &str, from: usize) -> Option<Range<usize>> {
    let bytes = code.as_bytes();
    let mut nesting = 0i32;
    let open = (from..bytes.len()).find(|&at| {
        match bytes[at] {
            b'(' | b'[' => nesting += 1,
            b')' | b']' => nesting -= 1,
            _ => {}
        }
        nesting == 0 && matches!(bytes[at], b'{' | b';')
    })?;
    if bytes[open] == b';' {
        return None;
    }
    Some(open..matching_brace(code, open)? + 1)
}

/// The position of the brace that closes the one at `open`.
pub(crate) fn matching_brace(code: &str, open: usize) -> Option<usize> {
    let mut depth = 0usize;
    for (at, byte) in code.bytes().enumerate().skip(open) {
        match byte {
            b'{' => depth += 1,
            b'}' => {
                depth -= 1;
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}

/// Every path that the `use` declarations of `code` import, with its position; groups expanded.
pub(crate) fn imports(code: &str) -> Vec<(usize, String)> {
    let mut paths = Vec::new();
    for at in words(code, "use") {
        let start = at + "use".len();
        if !code[start..].starts_with(char::is_whitespace) {
            continue; // precise capturing, `use<'a>`
        }
        let Some(end) = code[start..].find(';') else { continue };
        expand_import("", start, &code[start..start + end], &mut paths);
    }
    paths
}

/// Expands one import tree that stands at `at`.
fn expand_import(prefix: &str, at: usize, tree: &str, paths: &mut Vec<(usize, String)>) {
    let at = at + (tree.len() - tree.trim_start().len());
    let tree = tree.trim();
    let Some(open) = tree.find('{') else {
        let path = tree.split(" as ").next().unwrap_or(tree).trim();
        if !path.is_empty() {
            paths.push((at, format!("{prefix}{path}")));
        }
        return;
    };
    let prefix = format!("{prefix}{}", tree[..open].trim());
    let inner_end = tree.rfind('}').unwrap_or(tree.len());
    let (mut depth, mut start) = (0i32, open + 1);
    for (index, byte) in tree.bytes().enumerate().take(inner_end).skip(open + 1) {
        match byte {
            b'{' => depth += 1,
            b'}' => depth -= 1,
            b',' if depth == 0 => {
                expand_import(&prefix, at + start, &tree[start..index], paths);
                start = index + 1;
            }
            _ => {}
        }
    }
    expand_import(&prefix, at + start, &tree[start..inner_end.max(start)], paths);
}

/// The items under `#[cfg(test)]`, attribute included.
fn test_ranges(code: &str) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    for (at, _) in code.match_indices("#[cfg(") {
        let Some(end) = code[at..].find(']').map(|end| at + end) else { continue };
        let condition = &code[at..end];
        let for_tests = words(condition, "test").next().is_some();
        if for_tests && !condition.contains("not(test") {
            let item_end = body(code, end + 1).map(|body| body.end);
            ranges.push(at..item_end.unwrap_or(end));
        }
    }
    ranges
}

fn is_identifier(byte: u8) -> bool {
    byte == b'_' || byte.is_ascii_alphanumeric() || byte >= 0x80
}

/// The text with every byte of another class blanked; line ends stay.
fn only(text: &str, classes: &[Class], wanted: Class) -> String {
    let bytes = text.bytes().zip(classes);
    let kept =
        bytes.map(|(byte, &class)| if class == wanted || byte == b'\n' { byte } else { b' ' });
    String::from_utf8(kept.collect()).expect("a character is of one class")
}

fn classify(text: &[u8]) -> Vec<Class> {
    let mut classes = vec![Class::Code; text.len()];
    let mut at = 0;
    while at < text.len() {
        let (class, len) = match text[at] {
            b'/' if text[at..].starts_with(b"//") => (Class::Comment, line_len(&text[at..])),
            b'/' if text[at..].starts_with(b"/*") => (Class::Comment, block_len(&text[at..])),
            b'"' => (Class::Literal, quoted_len(&text[at..])),
            b'\'' => match character_len(&text[at..]) {
                0 => (Class::Code, 1), // a lifetime
                len => (Class::Literal, len),
            },
            byte if is_identifier(byte) => {
                let word = text[at..].iter().position(|&byte| !is_identifier(byte));
                let word = word.unwrap_or(text.len() - at);
                let raw = matches!(&text[at..at + word], b"r" | b"br" | b"cr");
                match raw_len(&text[at + word..]) {
                    len if raw && len > 0 => (Class::Literal, word + len),
                    _ => (Class::Code, word),
                }
            }
            _ => (Class::Code, 1),
        };
        let end = (at + len).min(text.len());
        classes[at..end].fill(class);
        at = end;
    }
    classes
}

fn line_len(text: &[u8]) -> usize {
    text.iter().position(|&byte| byte == b'\n').unwrap_or(text.len())
}

/// The length of a block comment; they nest.
fn block_len(text: &[u8]) -> usize {
    let (mut depth, mut at) = (0usize, 0);
    while at < text.len() {
        if text[at..].starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if text[at..].starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                break;
            }
        } else {
            at += 1;
        }
    }
    at
}

fn quoted_len(text: &[u8]) -> usize {
    let mut at = 1;
    while at < text.len() && text[at] != b'"' {
        at += if text[at] == b'\\' { 2 } else { 1 };
    }
    at + 1
}

/// The length of the character literal at the start of `text`; 0 if a lifetime stands there.
fn character_len(text: &[u8]) -> usize {
    if text.get(1) == Some(&b'\\') {
        let end = text.iter().skip(3).position(|&byte| byte == b'\'');
        return end.map_or(0, |end| end + 4);
    }
    // One character of up to four bytes, then the closing quote.
    let character = match text.get(1) {
        None | Some(b'\'') => return 0,
        Some(byte) if byte.is_ascii() => 1,
        Some(byte) => byte.leading_ones() as usize,
    };
    if text.get(1 + character) == Some(&b'\'') { character + 2 } else { 0 }
}

/// The length of `#"…"#` at the start of `text`, with any number of hashes; 0 if it is none.
fn raw_len(text: &[u8]) -> usize {
    let hashes = text.iter().take_while(|&&byte| byte == b'#').count();
    if text.get(hashes) != Some(&b'"') {
        return 0;
    }
    let close = [b"\"".as_slice(), &vec![b'#'; hashes]].concat();
    let body = &text[hashes + 1..];
    let end = body.windows(close.len()).position(|window| window == close);
    end.map_or(text.len(), |end| hashes + 1 + end + close.len())
}

#[cfg(test)]
mod tests;
