//! The spellings of one object, such as `t[0][1]`, `(*t)[1]` and `*(*t + 1)`: a query that reads
//! the object by one of them stays in front of its change by another. With an object beside it, it
//! may move.

use std::fmt::Write;

use crate::case::{self, Case};

/// The spellings of an object.
struct Object {
    /// The declarations in the transaction's function. It has the parameter `int c`.
    declared: &'static str,
    name: &'static str,
    /// Other spellings.
    also: &'static [&'static str],
    /// Objects that share no bytes with it, by their plain name.
    others: &'static [&'static str],
}

const C: [Object; 12] = [
    Object {
        declared: "int t[2][2] = {{1, 2}, {3, 4}};",
        name: "t[0][1]",
        also: &[
            "(*t)[1]",
            "*(*t + 1)",
            "(t[0])[1]",
            "1[t[0]]",
            "1[*t]",
            "(*&t)[0][1]",
            "(**&t)[1]",
            "(*(t + 0))[1]",
            "(*(0 + t))[1]",
            "*(t[0] + 1)",
            "*(1 + *t)",
            "(&t[0][0])[1]",
            "(*&t[0])[1]",
            "(&*t[0])[1]",
            "(&t[0])[0][1]",
            "(*(c ? &t[0] : &t[1]))[1]",
            "(c ? t[0] : t[1])[1]",
            "(c, t)[0][1]",
            "*&t[0][1]",
        ],
        others: &["t[1][1]", "t[0][0]"],
    },
    Object {
        declared: "int t[2] = {1, 2};",
        name: "t[1]",
        also: &[
            "*(t + 1)",
            "*(1 + t)",
            "1[t]",
            "(*&t)[1]",
            "(&t[0])[1]",
            "*(&t[0] + 1)",
            "*&t[1]",
            "(&t[1])[0]",
            "*((int *)&t + 1)",
            "*(c ? &t[0] : &t[1])",
        ],
        others: &["t[0]"],
    },
    Object {
        declared: "struct pair { int a, b; } s = {1, 2};",
        name: "s.b",
        also: &["(&s)->b", "(*&s).b", "*&s.b", "(&s)[0].b", "*(&s.a + 1)", "((int *)&s)[1]"],
        others: &["s.a"],
    },
    Object {
        declared: "int t[2] = {1, 2}; int *p = t;",
        name: "t[0]",
        also: &["*p", "*t", "p[0]", "0[p]", "*&*p", "*(c ? p : t)"],
        others: &[],
    },
    Object {
        declared: "int t[2][2] = {{1, 2}, {3, 4}}; int (*r)[2] = t;",
        name: "t[0][1]",
        also: &["(*r)[1]", "r[0][1]", "*(*r + 1)", "(*&r)[0][1]", "(*(r + 0))[1]"],
        others: &[],
    },
    Object {
        declared: "struct grid { int t[2][2]; int n; } g = {{{1, 2}, {3, 4}}, 5};",
        name: "g.t[0][1]",
        also: &["(*g.t)[1]", "(*(&g)->t)[1]", "*(*g.t + 1)", "(*(g.t + 0))[1]", "(*&g).t[0][1]"],
        others: &["g.n", "g.t[1][0]"],
    },
    Object {
        declared: "int z = 1, y = 2; int *p = &z, **q = &p;",
        name: "z",
        also: &["*p", "**q", "*&z", "*(c ? p : &y)", "(*q)[0]", "**&p", "*(c, p)"],
        others: &["y"],
    },
    Object {
        declared: "int t[2][2] = {{1, 2}, {3, 4}}; keep(*t);",
        name: "t[0][0]",
        also: WHERE,
        others: &[],
    },
    Object {
        declared: "int z = 1, y = 2; int *p = &z; keep(*&p);",
        name: "z",
        also: WHERE,
        others: &["y"],
    },
    Object {
        declared: "int z = 1, y = 2; int *p = &z, **q = &p; keep(*q);",
        name: "z",
        also: WHERE,
        others: &["y"],
    },
    Object {
        declared: "int z = 1, y = 2; int *p = &z, **q = &p; keep(*(c ? q : &p));",
        name: "z",
        also: WHERE,
        others: &["y"],
    },
    Object {
        declared: "int z = 1, y = 2; struct held h = {&z}, *q = &h; keep_all(*q);",
        name: "z",
        also: &["*where_all()"],
        others: &["y"],
    },
];

/// Spellings of what a function returns that `keep` was given.
const WHERE: &[&str] = &["*where()", "where()[0]"];

const CPP: [Object; 10] = [
    Object {
        declared: "int z = 1, y = 2, x = 3;",
        name: "z",
        also: &[
            "(c ? z : y)",
            "(c ? y : (c > 1 ? y : z))",
            "(y++, z)",
            "*&(c ? z : y)",
            "(z = 3)",
            "(z += 3)",
            "++z",
            "static_cast<int &>(z)",
        ],
        others: &["x"],
    },
    Object {
        declared: "int z = 1, y = 2, x = 3; int &r = c ? z : y;",
        name: "z",
        also: &["r", "*&r", "(c ? r : y)"],
        others: &["x"],
    },
    Object {
        declared: "int z = 1, y = 2, x = 3; int &r = (y++, z);",
        name: "z",
        also: &["r"],
        others: &["x"],
    },
    Object {
        declared: "int z = 1, y = 2; int &r = static_cast<int &>(z);
                   int &&s = static_cast<int &&>(z);",
        name: "z",
        also: &["r", "s"],
        others: &["y"],
    },
    Object {
        declared: "int z = 1, y = 2; int &r = (z += 1), &s = ++z;",
        name: "z",
        also: &["r", "s"],
        others: &["y"],
    },
    Object {
        declared: "int t[2][2] = {{1, 2}, {3, 4}}; int (&r)[2] = *t;
                   int (&s)[2] = c ? t[0] : t[1];",
        name: "t[0][1]",
        also: &["r[1]", "*(r + 1)", "s[1]", "(c ? t[0] : t[1])[1]", "(*&r)[1]"],
        others: &[],
    },
    Object {
        declared: "struct pair { int a, b; }; pair s = {1, 2}, o = s; pair &r = c ? s : o;",
        name: "s.b",
        also: &["r.b", "(c ? s : o).b", "(&r)->b", "(*&(c ? s : o)).b"],
        others: &["s.a"],
    },
    Object {
        declared: "int z = 1, y = 2, x = 3; keep(&(c ? z : y));",
        name: "z",
        also: WHERE,
        others: &["x"],
    },
    Object {
        declared: "int z = 1, y = 2; keep(&(y++, z));",
        name: "z",
        also: WHERE,
        others: &["y"],
    },
    Object { declared: "int z = 1, y = 2; keep(&++z);", name: "z", also: WHERE, others: &["y"] },
];

/// A transaction whose hot query reads an object before a change of another, or of the same one.
struct Pair {
    declared: &'static str,
    read: &'static str,
    changed: &'static str,
    /// True if the two may be one object.
    is_same: bool,
}

fn pairs(objects: &[Object]) -> Vec<Pair> {
    let mut pairs = Vec::new();
    for &Object { declared, name, also, others } in objects {
        let mut add = |read, changed, is_same| {
            pairs.push(Pair { declared, read, changed, is_same });
        };
        for &one in also {
            add(name, one, true);
            add(one, name, true);
        }
        for pair in also.windows(2) {
            add(pair[0], pair[1], true);
        }
        others.iter().for_each(|&other| add(name, other, false));
    }
    pairs
}

/// The begin of each program.
const BEGIN: &str = "#include \"shop.h\"
struct held { int *p; };
static int *kept;
static struct held all_kept;
static void keep(int *one) { kept = one; }
static int *where(void) { return kept; }
static void keep_all(struct held all) { all_kept = all; }
static int *where_all(void) { return all_kept.p; }
";

/// Returns a program with one transaction for each pair.
fn program(pairs: &[Pair]) -> String {
    let mut text = String::from(BEGIN);
    for (at, Pair { declared, read, changed, .. }) in pairs.iter().enumerate() {
        write!(
            text,
            "void pay_{at}(struct db *db, int c)
{{
    (void)c;
    {declared}

    db_begin(db);
    db_run(db, \"UPDATE region SET r_total = r_total + $1 WHERE r_id = {at}\", {read});
    {changed} = 8;
    db_run(db, \"UPDATE customer SET c_name = 'x' WHERE c_id = {at}\");
    db_commit(db);
}}
"
        )
        .unwrap();
    }
    text
}

fn check(objects: &[Object], file: &str) {
    let Some(front_end) = crate::front_end() else { return };
    let pairs = pairs(objects);
    let text = program(&pairs);
    let head = format!("// expect: moves\n{text}");
    let case = Case::of(case::folder().join("barrier").join(file), head);
    let program = case.parse(front_end, &case.text);
    let rewritten = case.rewrite(front_end, &program, &case.text, &[]).unwrap();
    let mut wrong = Vec::new();
    let functions = rewritten.text.split("void pay_").skip(1);
    for (pair, function) in pairs.iter().zip(functions) {
        let place = |part: &str| function.find(part).unwrap();
        let (hot, change) = (place("UPDATE region"), place(&format!("{} = 8;", pair.changed)));
        let is_kept = hot < change;
        if is_kept != pair.is_same {
            wrong.push(format!("{} {} | {}", pair.declared, pair.read, pair.changed));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), pairs.len(), wrong.join("\n"));
}

#[test]
fn each_spelling_of_an_object_in_c_is_that_object() {
    check(&C, "spellings.c");
}

#[test]
fn each_spelling_of_an_object_in_cpp_is_that_object() {
    check(&CPP, "spellings.cpp");
}
