//! The text in which the splits of one function are searched: the file without the bodies of the
//! functions that have nothing to do with it. A long file is then read as fast as a short one.
//!
//! Invariants
//! 1. *Same places.* The excerpt is as long as the text, and has the same lines: only bytes of
//!    bodies are replaced. So an edit of the function means the same in both.
//! 2. *Same analysis.* A body stays if the function runs it, directly or through others, or if it
//!    may prepare a statement. What else one function may learn of another is handed over in
//!    [`LeftOut`]: the variables that are assigned, and the structures whose fields are used.
//! 3. *Same meaning for the compiler.* A function whose body is left out stays defined. A body with
//!    a preprocessor directive stays. If the excerpt does not compile, the whole text is used.

use crate::{
    api::Models,
    flow::summary,
    ir::{Function, LeftOut, Program},
    source::Range,
};

/// The body in place of one that is left out. It needs no `return`.
const BODY: &[u8] = b"for(;;);";

/// A text without some bodies.
pub(super) struct Excerpt {
    pub(super) text: String,
    /// The facts of the bodies that are left out.
    pub(super) left_out: LeftOut,
}

impl Excerpt {
    /// The excerpt for the function `name`; `None` if no body can be left out.
    pub(super) fn of(
        program: &Program,
        text: &str,
        models: &Models,
        name: &str,
    ) -> Option<Excerpt> {
        let kept = summary::needed_for(program, models, name);
        let is_kept = |one: &Function| kept.contains(one.name.as_str());
        let within = |body: Range| {
            let mut kept = program.functions.iter().filter(|one| is_kept(one));
            kept.any(|one| body.contains(one.range))
        };
        let mut bytes = text.as_bytes().to_vec();
        let mut functions = Vec::new();
        for function in program.functions.iter().filter(|one| !is_kept(one)) {
            let body = function.body.range;
            let has_directive = program.directives.iter().any(|&one| body.contains(one));
            if !has_directive && !within(body) && leave_out(&mut bytes, body) {
                functions.push(function);
            }
        }
        if functions.is_empty() {
            return None;
        }
        let text = String::from_utf8(bytes).ok()?;
        Some(Excerpt { text, left_out: summary::left_out(program, &functions) })
    }
}

/// Replaces a body by an endless loop and blanks; returns true if it does.
fn leave_out(bytes: &mut [u8], body: Range) -> bool {
    let Some([b'{', inner @ .., b'}']) = bytes.get_mut(body.start..body.end) else { return false };
    let Some(at) = place_of(inner) else { return false };
    for byte in inner.iter_mut().filter(|byte| !matches!(byte, b'\n' | b'\r')) {
        *byte = b' ';
    }
    inner[at..at + BODY.len()].copy_from_slice(BODY);
    true
}

/// Returns the start of the first line on which the new body has room.
fn place_of(inner: &[u8]) -> Option<usize> {
    let mut start = 0;
    for line in inner.split_inclusive(|&byte| byte == b'\n') {
        let end = line.iter().position(|byte| matches!(byte, b'\n' | b'\r')).unwrap_or(line.len());
        if end >= BODY.len() {
            return Some(start);
        }
        start += line.len();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn without(text: &str) -> Option<String> {
        let mut bytes = text.as_bytes().to_vec();
        let body = Range::new(text.find('{').unwrap(), text.rfind('}').unwrap() + 1);
        leave_out(&mut bytes, body).then(|| String::from_utf8(bytes).unwrap())
    }

    #[test]
    fn lines_and_places_stay() {
        let text = "int f(void)\n{\n    /* é */ return 1;\r\n}\nint g;\n";
        let expected = "int f(void)\n{\nfor(;;);              \r\n}\nint g;\n";
        assert_eq!(without(text).as_deref(), Some(expected));
        assert_eq!(expected.len(), text.len());
        assert_eq!(without("void f() { return; }"), Some("void f() {for(;;); }".to_owned()));
    }

    #[test]
    fn body_without_room_stays() {
        assert_eq!(without("void f() {}"), None);
        assert_eq!(without("void f() {\n h();\n}"), None);
    }
}
