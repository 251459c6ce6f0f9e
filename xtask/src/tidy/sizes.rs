//! Lengths of lines, files and functions.

use super::{
    Text, Violation,
    scan::{Source, body, identifier, words},
    violation,
};

/// Characters in a line. Lines with an address in them cannot be broken and may be longer.
const LINE_LEN_MAX: usize = 100;
/// Lines of code in a file.
const FILE_CODE_LINES_MAX: usize = 600;
/// Lines in a file, comments included.
const FILE_LINES_MAX: usize = 1000;
/// Lines in any function, from `fn` to the closing brace.
const FUNCTION_LINES_MAX: usize = 150;
/// Lines in a function, with few exceptions.
const FUNCTION_LINES_USUAL: usize = 70;
/// One function in this many may exceed [`FUNCTION_LINES_USUAL`].
const FUNCTIONS_PER_LONG_ONE: usize = 100;

pub(crate) fn check_file(source: &Source) -> Vec<Violation> {
    let mut found = Vec::new();
    for (index, line) in source.text.lines().enumerate() {
        let len = line.chars().count();
        if len > LINE_LEN_MAX && !line.contains("://") {
            let message = format!("line of {len} characters, at most {LINE_LEN_MAX}");
            found.push(violation(&source.path, index + 1, message));
        }
    }
    let code_lines = source.code_line_count();
    if code_lines > FILE_CODE_LINES_MAX {
        let message = format!("file of {code_lines} lines of code, at most {FILE_CODE_LINES_MAX}");
        found.push(violation(&source.path, 1, message));
    }
    let lines = source.line_count();
    if lines > FILE_LINES_MAX {
        let message = format!("file of {lines} lines, at most {FILE_LINES_MAX}");
        found.push(violation(&source.path, 1, message));
    }
    found
}

/// Checks the lines of a document, other than those that cannot be broken: headings, rows of
/// tables, code, and lines with an address.
pub(crate) fn check_document(document: &Text) -> Vec<Violation> {
    let mut in_fence = false;
    let mut found = Vec::new();
    for (index, line) in document.text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            in_fence = !in_fence;
        }
        let is_fixed = in_fence || line.starts_with(['|', '#']) || line.contains("://");
        let len = line.chars().count();
        if len > LINE_LEN_MAX && !is_fixed {
            let message = format!("line of {len} characters, at most {LINE_LEN_MAX}");
            found.push(violation(&document.path, index + 1, message));
        }
    }
    found
}

/// A function with a body.
pub(crate) struct Function<'a> {
    name: &'a str,
    line: usize,
    line_count: usize,
}

impl Function<'_> {
    /// Returns true if a line of the file, counted from 1, is in the function.
    pub(crate) fn contains(&self, line: usize) -> bool {
        (self.line..self.line + self.line_count).contains(&line)
    }
}

/// The functions of a file, nested ones too.
pub(crate) fn functions(source: &Source) -> Vec<Function<'_>> {
    let code = &source.code;
    let function = |at: usize| {
        let name = identifier(code, at + "fn".len());
        if name.is_empty() {
            return None; // a pointer type, `fn(u32)`, or a macro's `fn $name`
        }
        let line = source.line_of(at);
        let end = source.line_of(body(code, at)?.end - 1);
        Some(Function { name, line, line_count: end - line + 1 })
    };
    words(code, "fn").filter_map(function).collect()
}

/// Checks the functions of all files together, since the limit on long ones is a share of the
/// total.
pub(crate) fn check_functions(sources: &[Source]) -> Vec<Violation> {
    let mut found = Vec::new();
    let mut long = Vec::new();
    let mut count = 0;
    for source in sources {
        for function in functions(source) {
            count += 1;
            let Function { name, line, line_count } = function;
            if line_count > FUNCTION_LINES_MAX {
                let message = format!(
                    "function `{name}` of {line_count} lines, at most {FUNCTION_LINES_MAX}"
                );
                found.push(violation(&source.path, line, message));
            } else if line_count > FUNCTION_LINES_USUAL {
                long.push(violation(
                    &source.path,
                    line,
                    format!("function `{name}` of {line_count} lines"),
                ));
            }
        }
    }
    if long.len() * FUNCTIONS_PER_LONG_ONE > count {
        let allowed = count / FUNCTIONS_PER_LONG_ONE;
        for mut each in long {
            each.message += &format!(
                ", more than {FUNCTION_LINES_USUAL}: {allowed} such functions are allowed, \
                 1 in {FUNCTIONS_PER_LONG_ONE}"
            );
            found.push(each);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn function_of(lines: usize) -> String {
        format!("fn long() {{\n{}}}\n", "    x();\n".repeat(lines - 2))
    }

    #[test]
    fn long_lines_are_reported() {
        let text = format!(
            "// {}\n// é{}\n// https://{}\n",
            "x".repeat(98),
            "é".repeat(96),
            "x".repeat(99)
        );
        let found = check_file(&Source::new("x.rs", &text));
        assert_eq!(found, [violation("x.rs", 1, "line of 101 characters, at most 100")]);
    }

    #[test]
    fn long_files_are_reported() {
        let code = "x();\n".repeat(601);
        let found = check_file(&Source::new("x.rs", &code));
        assert_eq!(found, [violation("x.rs", 1, "file of 601 lines of code, at most 600")]);
        let comments = "// x\n".repeat(1001);
        let found = check_file(&Source::new("x.rs", &comments));
        assert_eq!(found, [violation("x.rs", 1, "file of 1001 lines, at most 1000")]);
        assert!(check_file(&Source::new("x.rs", &"// x\n\n".repeat(500))).is_empty());
        assert!(check_file(&Source::new("x.rs", &"x();\n".repeat(600))).is_empty());
    }

    #[test]
    fn functions_above_the_limit_are_reported() {
        let text = function_of(150) + &function_of(151) + &"fn f() {}\n".repeat(200);
        let found = check_functions(&[Source::new("x.rs", &text)]);
        let message = "function `long` of 151 lines, at most 150";
        assert_eq!(found, [violation("x.rs", 151, message)]);
    }

    #[test]
    fn one_function_in_a_hundred_may_be_longish() {
        let report = |short: usize| {
            let text = function_of(71) + &"fn f() {}\n".repeat(short);
            check_functions(&[Source::new("x.rs", &text)]).len()
        };
        assert_eq!(report(98), 1);
        assert_eq!(report(99), 0);
    }

    #[test]
    fn functions_are_counted_with_their_heads_and_not_in_types() {
        let text = "struct S { f: fn(u8) }\ntrait T { fn g(&self); }\nfn h(\n    x: [u8; 2],\n)\n\
                    where\n    A: B,\n{\n    \"fn i() {}\"\n}\n";
        let source = Source::new("x.rs", text);
        let found: Vec<_> =
            functions(&source).iter().map(|f| (f.name.to_string(), f.line, f.line_count)).collect();
        assert_eq!(found, [("h".to_string(), 3, 8)]);
    }
}
