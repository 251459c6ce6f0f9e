//! The check of renamed functions refuses each wrong renaming.
//!
//! Without libclang the tests print SKIPPED and pass, unless `CLEARWAY_REQUIRE_LIBCLANG` is set.

use std::path::Path;

use super::check::{Names, Side, same};
use crate::{
    api::Models,
    clang::FrontEnd,
    flow::{Flow, summary::Summaries},
    ir::VariableIndex,
};

const HELPERS: &str = "void use(int);\nstatic void add(int *p) { *p += 1; }\n\
                       static void set(int *p) { *p = 7; }\n";

/// Compares the bodies of a function before and after `v` got the name `v_r1` in parts; `None`
/// without libclang.
fn compared(before: &str, after: &str) -> Option<Result<(), String>> {
    let front_end = match FrontEnd::load() {
        Ok(front_end) => front_end,
        Err(error) => {
            assert!(std::env::var_os("CLEARWAY_REQUIRE_LIBCLANG").is_none(), "{error}");
            eprintln!("SKIPPED: {error}");
            return None;
        }
    };
    let parse = |body: &str| {
        let text = format!("{HELPERS}int f(int n)\n{{\n{body}\n}}\n");
        front_end.parse(Path::new("f.c"), Some(&text), &[]).unwrap()
    };
    let models = Models::new(&["sqlite"], &[]).unwrap();
    let (old, new) = (parse(before), parse(after));
    let index = old.variables.iter().position(|one| one.name == "v").unwrap();
    let mut names = Names::default();
    names.own.insert("v_r1".to_owned(), ("v".to_owned(), VariableIndex(index)));
    let summaries = [&old, &new].map(|program| Summaries::of_program(program, &models));
    let [a, b] = [(&old, &summaries[0]), (&new, &summaries[1])].map(|(program, summaries)| {
        Flow::of(program, &models, summaries, program.function("f").unwrap())
    });
    Some(same(Side { program: &old, flow: &a }, Side { program: &new, flow: &b }, &names))
}

const PLAIN: &str = "int v; v = n; use(v); v = v + 1; use(v); return v;";
const COPIED: &str = "int v; v = n; use(v); v += 1; use(v); return v;";
const CONDITIONAL: &str = "int v; v = n; if (n > 3) v = 7; use(v); return 0;";
const OUT: &str = "int v; v = n; use(v); set(&v); use(v); return v;";
const ARRAY: &str = "char v[8]; v[0] = 1; use(v[0]); v[0] = 2; use(v[0] + sizeof v); return 0;";

#[test]
fn right_renamings_are_the_same() {
    let right = [
        (PLAIN, "int v, v_r1; v = n; use(v); v_r1 = v + 1; use(v_r1); return v_r1;"),
        (PLAIN, "int v_r1, v; v_r1 = n; use(v_r1); v = v_r1 + 1; use(v); return v;"),
        (COPIED, "int v, v_r1; v = n; use(v); v_r1 = v; v_r1 += 1; use(v_r1); return v_r1;"),
        (CONDITIONAL, "int v, v_r1; v_r1 = n; if (n > 3) v_r1 = 7; use(v_r1); return 0;"),
        (OUT, "int v, v_r1; v = n; use(v); set(&v_r1); use(v_r1); return v_r1;"),
        (
            ARRAY,
            "char v[8], v_r1[8]; v[0] = 1; use(v[0]); v_r1[0] = 2; use(v_r1[0] + sizeof v_r1); \
             return 0;",
        ),
    ];
    for (before, after) in right {
        let Some(result) = compared(before, after) else { return };
        assert_eq!(result, Ok(()), "{after}");
    }
}

#[test]
fn wrong_renamings_are_refused() {
    let wrong = [
        // A definition without its use, and a use without its definition.
        (PLAIN, "int v, v_r1; v = n; use(v); v_r1 = v + 1; use(v); return v_r1;"),
        (PLAIN, "int v, v_r1 = 1; v = n; use(v_r1); v = v + 1; use(v); return v;"),
        (PLAIN, "int v, v_r1; v = n; use(v); v_r1 = v_r1 + 1; use(v_r1); return v_r1;"),
        // Without the copy, and with a copy that comes too late.
        (COPIED, "int v, v_r1 = 0; v = n; use(v); v_r1 += 1; use(v_r1); return v_r1;"),
        (COPIED, "int v, v_r1 = 0; v = n; use(v); v_r1 += 1; v_r1 = v; use(v_r1); return v_r1;"),
        // One of two definitions that reach a use.
        (CONDITIONAL, "int v, v_r1 = 0; v = n; if (n > 3) v_r1 = 7; use(v_r1); return 0;"),
        (CONDITIONAL, "int v, v_r1 = 0; v = n; if (n > 3) v_r1 = 7; use(v); return 0;"),
        (OUT, "int v, v_r1 = 0; v = n; use(v); set(&v_r1); use(v); return v_r1;"),
        // Another function, another statement, another order.
        (OUT, "int v, v_r1 = 0; v = n; use(v); add(&v_r1); use(v_r1); return v_r1;"),
        (PLAIN, "int v, v_r1; v = n; use(v); v_r1 = v + 2; use(v_r1); return v_r1;"),
        (PLAIN, "int v, v_r1; v = n; v_r1 = v + 1; use(v); use(v_r1); return v_r1;"),
        // Another type.
        (PLAIN, "int v; char v_r1; v = n; use(v); v_r1 = v + 1; use(v_r1); return v_r1;"),
        (
            ARRAY,
            "char v[8], v_r1[9]; v[0] = 1; use(v[0]); v_r1[0] = 2; use(v_r1[0] + sizeof v_r1); \
             return 0;",
        ),
    ];
    for (before, after) in wrong {
        let Some(result) = compared(before, after) else { return };
        assert!(result.is_err(), "{after}");
    }
}
