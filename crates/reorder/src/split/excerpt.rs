//! The text in which the splits and names of one function are searched: the file without the bodies
//! of the functions that have nothing to do with it. A long file is then read as fast as a short
//! one.
//!
//! Invariants
//! 1. *Same places.* The excerpt is as long as the text, and has the same lines: only bytes of
//!    bodies are replaced. So an edit of the function means the same in both.
//! 2. *Same analysis.* A body stays if the function runs it, directly or through others, or if it
//!    may prepare a statement. What else one function may learn of another is handed over in
//!    [`LeftOut`]: the variables that are assigned, the structures whose fields are used, and what
//!    callers of the function do.
//! 3. *Same meaning for the compiler.* A function whose body is left out stays defined. A body with
//!    a preprocessor directive stays. If the excerpt does not compile, the whole text is used.

use crate::{
    api::Models,
    flow::{
        Flow,
        summary::{self, Summaries},
    },
    ir::{Function, LeftOut, Program},
    source::Range,
};

/// The body in place of one that is left out. It needs no `return`.
const BODY: &[u8] = b"for(;;);";

/// A text without some bodies.
pub(crate) struct Excerpt {
    pub(crate) text: String,
    /// The facts of the bodies that are left out.
    pub(crate) left_out: LeftOut,
}

impl Excerpt {
    /// The excerpt for the function `name`; `None` if no body can be left out.
    pub(crate) fn of(
        program: &Program,
        text: &str,
        models: &Models,
        summaries: &Summaries<'_>,
        name: &str,
    ) -> Option<Excerpt> {
        let function = program.function(name)?;
        let kept = summaries.needed_for(&function.name);
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
        let callers = Flow::of(program, models, summaries, function).callers();
        let left_out = LeftOut { callers, ..summary::left_out(program, &functions) };
        Some(Excerpt { text, left_out })
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
    use std::path::Path;

    use super::*;
    use crate::{
        clang::FrontEnd,
        ir::{LastSeen, VariableIndex},
    };

    /// `f` runs `helper`; of `other` it must know what it assigns and uses.
    const PROGRAM: &str = "
typedef struct sqlite3 sqlite3;
typedef struct sqlite3_stmt sqlite3_stmt;
int sqlite3_prepare_v2(sqlite3 *, const char *, int, sqlite3_stmt **, const char **);
long sqlite3_last_insert_rowid(sqlite3 *);
int sqlite3_exec(sqlite3 *, const char *);
struct pair { int a, b; };
struct single { int a; };
int assigned, led_to, kept;
static int helper(struct single *one) { return one->a; }
int prepare(sqlite3 *db, sqlite3_stmt **made) { return sqlite3_prepare_v2(db, 0, 0, made, 0); }
int directive(void) {
#define ONE 1
    return ONE;
}
int other(struct pair *two) { int own; own = 1; assigned = own + kept; return *(&led_to) + two->a; }
int f(sqlite3 *db, struct single *one) {
    return helper(one) + assigned + led_to + kept + sqlite3_exec(db, \"INSERT INTO t VALUES (1)\");
}
long again(sqlite3 *db, struct single *one) { f(db, one); f(db, one);
    return sqlite3_last_insert_rowid(db); }
";

    #[test]
    fn excerpt_keeps_what_the_function_needs_and_the_facts_of_the_rest() {
        let front_end = match FrontEnd::load() {
            Ok(front_end) => front_end,
            Err(error) => {
                assert!(std::env::var_os("CLEARWAY_REQUIRE_LIBCLANG").is_none(), "{error}");
                eprintln!("SKIPPED: {error}");
                return;
            }
        };
        let parse = |text: &str| front_end.parse(Path::new("f.c"), Some(text), &[]).unwrap();
        let models = Models::new(&["sqlite"], &[]).unwrap();
        let whole = parse(PROGRAM);
        let summaries = Summaries::of_program(&whole, &models);
        let excerpt = Excerpt::of(&whole, PROGRAM, &models, &summaries, "f").unwrap();
        let (before, behind) = PROGRAM.split_once("{ int own;").unwrap();
        assert!(excerpt.text.starts_with(before), "{}", excerpt.text);
        let behind = behind.split_once('\n').unwrap().1.split_once("{ f(db, one);").unwrap().0;
        assert!(excerpt.text.contains(behind), "{}", excerpt.text);
        assert!(excerpt.text.contains("int other(struct pair *two) {for(;;);"), "{}", excerpt.text);
        let partial = Program { left_out: excerpt.left_out, ..parse(&excerpt.text) };
        let [all, some] = [&whole, &partial].map(|program| {
            let summaries = Summaries::of_program(program, &models);
            let index = |name: &str| program.variables.iter().position(|one| one.name == name);
            let is_assigned = |name| summaries.is_assigned(VariableIndex(index(name).unwrap()));
            let assigned = ["assigned", "led_to", "kept"].map(is_assigned);
            let records: Vec<String> =
                summaries.used_records().iter().map(|&one| one.to_owned()).collect();
            (assigned, records)
        });
        assert!(partial.left_out.callers.again);
        assert_eq!(partial.left_out.callers.asking, Some(("again".into(), LastSeen::Inserts)));
        assert_eq!(all.0, [true, true, false]);
        assert_eq!(all.1.len(), 2, "{all:?}");
        assert_eq!(some, all);
    }

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
