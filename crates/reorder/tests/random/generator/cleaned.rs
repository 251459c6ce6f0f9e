//! Programs that end their statements and texts behind labels, in the ways of C programs.
//!
//! The originals end each object once, on each path, and use none that does not exist. A move that
//! ends one twice, or never, or one that was not made, is seen by what SQLite reports at the end.
//!
//! In few programs the code behind the labels prints what it finds there. Only one query of these
//! may fail: of two that do, another one may be the first in another order.
//!
//! Some programs with one label try a second time: then the pointers are null again, but for that
//! of the first object, which each attempt makes before it uses it.

use clearway_testkit::Random;

use super::indented;
use crate::program::Program;

/// The begin of the names of these programs.
pub(crate) const CLEANED: &str = "cleaned";

/// Queries that find a row if the key is one of [`KEYS`], and fail otherwise.
const READS: [&str; 3] = [
    "SELECT balance FROM account WHERE id = ?",
    "SELECT stock FROM item WHERE id = ?",
    "SELECT quota FROM branch WHERE id = ?",
];
/// Writes; the last one may fail.
const WRITES: [&str; 5] = [
    "UPDATE branch SET total = total + 1 WHERE id = ?",
    "UPDATE account SET held = held + 1 WHERE id = ?",
    "UPDATE setting SET value = value + 1 WHERE id = ?",
    "INSERT INTO journal VALUES (?, 3)",
    "INSERT INTO setting VALUES (?, 7)",
];
/// Writes whose text the program makes; the last one may fail.
const MADE: [&str; 2] =
    ["UPDATE branch SET quota = quota + 1 WHERE id = %d", "INSERT INTO item VALUES (%d, 1, 1)"];
/// Keys of rows that exist.
const KEYS: [&str; 3] = ["in->a", "in->b", "(value & 3) + 1"];
/// Keys of rows that need not exist.
const OTHER_KEYS: [&str; 2] = ["in->c + 2", "in->count"];

/// The fate of an object where its query is over.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Then {
    /// Nothing: code behind a label ends it.
    Stays,
    /// It is reset.
    Reset,
    /// It is ended, and its pointer set to null.
    Forgotten,
    /// Another pointer leads to it, and its own is set to null.
    Handed,
    /// It is ended; later exits pass the code that ends it.
    Ended,
}

/// The order in which exits reach the code that ends objects.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Labels {
    /// All exits go to one label, where each object is ended.
    One,
    /// Each exit goes to a label of its own, behind which the objects are ended that exist there.
    Stairs,
}

/// The parts of a program.
struct Style {
    labels: Labels,
    /// The only query that may fail, if the code behind the labels prints what it finds.
    asks: Option<u64>,
}

struct Object {
    /// `s2` or `text2`.
    name: String,
    is_text: bool,
    is_read: bool,
    sql: &'static str,
    key: &'static str,
    then: Then,
    /// True if it is prepared before the transaction.
    early: bool,
    /// True if its pointer is null at first.
    null: bool,
}

impl Object {
    /// Returns the function that ends it.
    fn ends(&self) -> &'static str {
        if self.is_text { "sqlite3_free" } else { "sqlite3_finalize" }
    }

    /// Returns the pointer that leads to it in the end.
    fn heir(&self) -> String {
        format!("heir_of_{}", self.name)
    }
}

/// Returns the program of a seed.
pub(crate) fn cleaned(seed: u64) -> Program {
    let mut random = Random::stream(seed, 4);
    let labels = if random.chance(85) { Labels::One } else { Labels::Stairs };
    let asks = random.chance(15).then(|| random.below(3));
    let style = Style { labels, asks };
    let objects: Vec<Object> =
        (0..random.between(2, 4)).map(|at| object(&mut random, &style, at)).collect();
    let mut head: Vec<String> = objects.iter().map(declaration).collect();
    let retries = labels == Labels::One && random.chance(6);
    let tries = if retries { ", tries = 0" } else { "" };
    head.extend([format!("int value = 0, status = 1{tries};"), String::new()]);
    if retries {
        head.push("again:".to_string());
        head.extend(nulls(&mut random, &objects));
    }
    for early in objects.iter().filter(|one| one.early) {
        head.extend(lines(&prepared(early, "goto done;")));
    }
    let begin = "if (sqlite3_exec(db, \"BEGIN\", NULL, NULL, NULL) != SQLITE_OK)\n    goto done;";
    head.extend(lines(begin));
    let mut groups = Vec::new();
    for at in 0..objects.len() {
        groups.extend(query(&mut random, &objects, at, labels));
        if asks.is_none() && random.chance(15) {
            let condition = random.pick(&["in->n > 30", "value % 7 == 3", "in->a == in->b"]);
            groups.push(format!("if ({condition})\n    goto {};", label(labels, at + 1)));
        }
    }
    let mut tail = ending(&mut random, &objects, &style);
    if retries {
        let end = tail.len() - 1;
        tail.splice(end..end, again(asks.is_some()));
    }
    if labels == Labels::One && random.chance(25) {
        let block = in_place(&mut random, &objects, style.asks.is_some());
        let replaced = |text: &String| text.replace("\n    goto back;", &block);
        groups = groups.iter().map(replaced).collect();
        tail = lines(&replaced(&tail.join("\n")));
    }
    let jumps = [groups.join("\n"), head.join("\n"), tail.join("\n")].join("\n");
    tail.retain(|line| {
        !line.ends_with(':') || jumps.contains(&format!("goto {};", &line[..line.len() - 1]))
    });
    Program { seed, name: format!("{CLEANED}{seed}"), head, groups, tail }
}

fn object(random: &mut Random, style: &Style, at: u64) -> Object {
    let labels = style.labels;
    let fails = style.asks.is_none_or(|one| one == at);
    let is_text = random.chance(20);
    let is_read = !is_text && random.chance(40);
    let last = usize::from(!(fails && random.chance(50)));
    let of = |all: &'static [&'static str]| &all[..all.len() - last];
    let sql = match (is_text, is_read) {
        (true, _) => random.pick(of(&MADE)),
        (false, true) => random.pick(&READS),
        (false, false) => random.pick(of(&WRITES)),
    };
    let key = match fails && random.chance(25) {
        true => random.pick(&OTHER_KEYS),
        false => random.pick(&KEYS),
    };
    let then = match random.weighted(&[50, 30, 12, 8, 8]) {
        1 if !is_text => Then::Reset,
        2 if labels == Labels::One => Then::Forgotten,
        3 if labels == Labels::Stairs => Then::Ended,
        4 if labels == Labels::One => Then::Handed,
        _ => Then::Stays,
    };
    let early = !is_text && then != Then::Ended && random.chance(50);
    Object {
        name: format!("{}{at}", if is_text { "text" } else { "s" }),
        is_text,
        is_read,
        sql,
        key,
        then,
        early,
        null: early || labels == Labels::One || random.chance(50),
    }
}

/// Returns the statements that make the pointers null in front of an attempt.
fn nulls(random: &mut Random, objects: &[Object]) -> Vec<String> {
    let first =
        usize::from(!objects[0].early && objects[0].then == Then::Stays && random.chance(50));
    let own = objects[first..].iter().map(|one| format!("{} = NULL;", one.name));
    let handed = objects.iter().filter(|one| one.then == Then::Handed);
    own.chain(handed.map(|one| format!("{} = NULL;", one.heir()))).collect()
}

/// Returns the code behind the labels that tries a second time.
fn again(asks: bool) -> Vec<String> {
    let mut all = Vec::new();
    if asks {
        all.push("printf(\"attempt %d: %d\\n\", tries, value);".to_string());
    }
    all.extend(lines("if (status != 0 && tries++ == 0)\n    goto again;"));
    all
}

fn declaration(one: &Object) -> String {
    let ty = if one.is_text { "char" } else { "sqlite3_stmt" };
    let heir = match one.then {
        Then::Handed => format!(", *{} = NULL", one.heir()),
        _ => String::new(),
    };
    format!("{ty} *{}{}{heir};", one.name, if one.null { " = NULL" } else { "" })
}

fn prepared(one: &Object, leave: &str) -> String {
    let Object { name, sql, .. } = one;
    let call = format!("sqlite3_prepare_v2(db, \"{sql}\", -1, &{name}, NULL) != SQLITE_OK");
    format!("if ({call})\n    {leave}")
}

/// Returns the label for an exit before which a number of objects were made.
fn label(labels: Labels, made: usize) -> String {
    match labels {
        Labels::One => "back".to_string(),
        Labels::Stairs => format!("back{made}"),
    }
}

/// Returns the statements of a query.
fn query(random: &mut Random, objects: &[Object], at: usize, labels: Labels) -> Vec<String> {
    let one = &objects[at];
    let (name, key) = (&one.name, one.key);
    // Before it is made, and while it exists.
    let before = label(labels, at);
    let with = match one.then {
        Then::Ended => format!("own{at}"),
        _ => label(labels, at + 1),
    };
    let mut all = Vec::new();
    if one.is_text {
        all.push(format!("{name} = sqlite3_mprintf(\"{}\", {key});", one.sql));
        all.push(format!("if ({name} == NULL)\n    goto {before};"));
        let run = format!("sqlite3_exec(db, {name}, NULL, NULL, NULL) != SQLITE_OK");
        all.push(format!("if ({run})\n    goto {with};"));
    } else {
        if !one.early {
            all.push(prepared(one, &format!("goto {before};")));
        }
        all.push(format!("sqlite3_bind_int({name}, 1, {key});"));
        let wanted = if one.is_read { "SQLITE_ROW" } else { "SQLITE_DONE" };
        all.push(format!("if (sqlite3_step({name}) != {wanted})\n    goto {with};"));
        if one.is_read {
            let target = random.pick(&["value", "out->x", "out->y"]);
            all.push(format!("{target} = sqlite3_column_int({name}, 0);"));
        }
    }
    let ends = one.ends();
    match one.then {
        Then::Stays => {}
        Then::Reset => all.push(format!("sqlite3_reset({name});")),
        Then::Forgotten => all.push(format!("{ends}({name});\n{name} = NULL;")),
        Then::Handed => {
            let (heir, way) = (one.heir(), if one.is_text { 0 } else { random.below(3) });
            let handed = match way {
                0 => format!("{heir} = {name};"),
                1 => format!("{heir} = same_statement({name});"),
                _ => format!("keep_statement(&{heir}, {name});"),
            };
            all.push(format!("{handed}\n{name} = NULL;"));
        }
        Then::Ended => all.push(format!("{ends}({name});")),
    }
    all
}

/// Returns the commit and the labels.
fn ending(random: &mut Random, objects: &[Object], style: &Style) -> Vec<String> {
    let (labels, asks) = (style.labels, style.asks.is_some());
    let mut all = lines(&format!(
        "if (sqlite3_exec(db, \"COMMIT\", NULL, NULL, NULL) != SQLITE_OK)\n    goto {};",
        label(labels, objects.len())
    ));
    all.extend(["out->z = value;", "status = 0;"].map(str::to_string));
    if labels == Labels::Stairs {
        let left = objects.iter().rev().filter(|one| one.then != Then::Ended && !one.early);
        all.extend(left.flat_map(|one| lines(&ended(random, one, false))));
        all.push("goto done;".to_string());
        all.extend(stairs(random, objects, asks));
        all.push("sqlite3_exec(db, \"ROLLBACK\", NULL, NULL, NULL);".to_string());
        all.push("done:".to_string());
        let early = objects.iter().filter(|one| one.early);
        all.extend(early.flat_map(|one| lines(&ended(random, one, asks))));
        all.push("return status;".to_string());
        return all;
    }
    all.push("goto done;".to_string());
    all.push("back:".to_string());
    if random.chance(25) {
        let resets = objects.iter().filter(|one| !one.is_text);
        all.extend(resets.map(|one| format!("sqlite3_reset({});", one.name)));
    }
    if asks && random.chance(50) {
        all.push("printf(\"error %s\\n\", sqlite3_errmsg(db));".to_string());
    }
    all.push("sqlite3_exec(db, \"ROLLBACK\", NULL, NULL, NULL);".to_string());
    all.push("done:".to_string());
    all.extend(all_ended(random, objects, asks));
    all.push("return status;".to_string());
    all
}

/// Returns the code that ends all objects.
fn all_ended(random: &mut Random, objects: &[Object], asks: bool) -> Vec<String> {
    let mut all = Vec::new();
    for one in objects {
        all.extend(lines(&ended(random, one, asks)));
        if one.then == Then::Handed {
            all.push(format!("{}({});", one.ends(), one.heir()));
        }
    }
    all
}

/// Returns the block that stands in place of a jump to the one label.
fn in_place(random: &mut Random, objects: &[Object], asks: bool) -> String {
    let mut all = all_ended(random, objects, asks);
    let at = if random.chance(50) { 0 } else { all.len() };
    all.insert(at, "sqlite3_exec(db, \"ROLLBACK\", NULL, NULL, NULL);".to_string());
    all.push("return 1;".to_string());
    format!(" {{\n{}\n}}", indented(&all.join("\n")))
}

/// Returns the labels of which each ends an object and goes on with those that were made before it.
/// An object that its query ends is ended by a label of its own.
fn stairs(random: &mut Random, objects: &[Object], asks: bool) -> Vec<String> {
    let mut all = Vec::new();
    for (at, one) in objects.iter().enumerate().filter(|(_, one)| one.then == Then::Ended) {
        all.push(format!("own{at}:"));
        all.extend(lines(&ended(random, one, asks)));
        all.push(format!("goto back{at};"));
    }
    for at in (0..=objects.len()).rev() {
        all.push(format!("back{at}:"));
        let made = at.checked_sub(1).map(|before| &objects[before]);
        if let Some(one) = made.filter(|one| one.then != Then::Ended && !one.early) {
            all.extend(lines(&ended(random, one, asks)));
        }
    }
    all
}

/// Returns the code that ends an object.
fn ended(random: &mut Random, one: &Object, asks: bool) -> String {
    let name = &one.name;
    let ends = format!("{}({name});", one.ends());
    let is_asked = asks && random.chance(30);
    match random.weighted(&[60, 12, 12, 16]) {
        1 => format!("if ({name})\n    {ends}"),
        2 => {
            format!("if ({name} != NULL) {{\n{}\n}}", indented(&format!("{ends}\n{name} = NULL;")))
        }
        _ if is_asked => format!("printf(\"{name} %d\\n\", {name} != NULL);\n{ends}"),
        _ => ends,
    }
}

fn lines(text: &str) -> Vec<String> {
    text.lines().map(str::to_string).collect()
}
