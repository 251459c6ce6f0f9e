//! Programs whose objects are written in several ways: `v0`, `*&v0`, `(&v0)[0]`, or by a pointer.
//!
//! The programs are those of the other generators; only the statements of the transaction change.
//! Each use of an object is written as before, or in one of its other ways. What a tool takes for
//! another object, or for no object at all, moves wrongly.

use clearway_testkit::Random;

use super::{program, reusing};
use crate::program::Program;

/// The number of the variables to which a pointer leads from the beginning.
const POINTED: usize = 2;

/// The other ways to write a variable; `#` stands for its name.
const VARIABLES: [&str; 6] = ["(#)", "(*&#)", "(&#)[0]", "0[&#]", "(*(&# + 0))", "(&*&#)[0]"];

/// The other ways to write an element of an array; `#` stands for the array, `@` for the index.
const ELEMENTS: [&str; 7] =
    ["(*(# + @))", "(@)[#]", "(&#[0])[@]", "(*&#[@])", "(#)[@]", "(&#[@])[0]", "(*(@ + #))"];

/// The other ways to write a structure that a pointer leads to, with the dot or arrow behind it.
const POINTEES: [&str; 4] = ["(*#).", "#[0].", "(&*#)->", "(&#[0])->"];

/// The other ways to write a structure, with the dot behind it.
const STRUCTURES: [&str; 3] = ["(&#)->", "(*&#).", "(&#)[0]."];

/// The other ways to write an array as an argument.
const ARGUMENTS: [&str; 4] = ["(#)", "&#[0]", "(# + 0)", "&*#"];

/// Returns a program of a seed, of objects that are written in several ways.
pub(crate) fn spelled(seed: u64) -> Program {
    let mut program = if seed.is_multiple_of(3) { reusing(seed) } else { program(seed) };
    let mut spelling = Spelling { random: Random::stream(seed, 3), pointers: Vec::new() };
    let mut head = Vec::new();
    for line in program.head.drain(..) {
        let name = line.strip_prefix("int v").and_then(|rest| rest.split(' ').next());
        let number: Option<usize> = name.and_then(|name| name.parse().ok());
        head.push(line);
        if let Some(number) = number.filter(|number| *number < POINTED)
            && spelling.random.chance(40)
        {
            head.push(format!("int *at{number} = &v{number};"));
            spelling.pointers.push(format!("v{number}"));
        }
    }
    program.head = head;
    for group in &mut program.groups {
        *group = spelling.text(group);
    }
    // What a program points to and never uses would be a warning.
    for name in &spelling.pointers {
        program.groups.push(format!("*at{} += 1;", &name[1..]));
    }
    program
}

struct Spelling {
    random: Random,
    /// The variables to which a pointer leads.
    pointers: Vec<String>,
}

impl Spelling {
    /// Returns statements with some of their objects written in other ways.
    fn text(&mut self, text: &str) -> String {
        let mut written = String::new();
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            let length = match first {
                '"' => literal(rest),
                '/' if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |at| at + 2),
                _ if first.is_ascii_alphanumeric() || first == '_' => word(rest),
                _ => first.len_utf8(),
            };
            let (part, behind) = rest.split_at(length);
            rest = behind;
            if first.is_ascii_alphabetic() {
                self.object(&mut written, part, &mut rest);
            } else {
                written += part;
            }
        }
        written
    }

    /// Writes a name, and what follows it if both are one object.
    fn object(&mut self, written: &mut String, name: &str, rest: &mut &str) {
        let before = written.trim_end();
        let is_left = before.ends_with('.')
            || before.ends_with("->")
            || before.ends_with("int")
            || before.ends_with("char")
            || before.ends_with("sizeof");
        if is_left || !self.random.chance(40) {
            *written += name;
            return;
        }
        let variable = |number: &str| number.len() == 1 && number.as_bytes()[0].is_ascii_digit();
        match name {
            _ if name.strip_prefix('v').is_some_and(variable) => {
                if self.pointers.iter().any(|one| one == name) && self.random.chance(50) {
                    *written += &format!("(*at{})", &name[1..]);
                } else {
                    *written += &self.random.pick(&VARIABLES).replace('#', name);
                }
            }
            "in" | "out" if rest.starts_with("->") => self.member(written, name, rest),
            "p" if rest.starts_with('.') => {
                *rest = &rest[1..];
                *written += &self.random.pick(&STRUCTURES).replace('#', name);
            }
            "slots" | "sums" | "counters" | "buffer" | "digits" if rest.starts_with('[') => {
                self.element(written, name, rest);
            }
            "buffer" | "digits" | "sql" => {
                *written += &self.random.pick(&ARGUMENTS).replace('#', name);
            }
            _ => *written += name,
        }
    }

    /// Writes a member of what `in` or `out` leads to.
    fn member(&mut self, written: &mut String, name: &str, rest: &mut &str) {
        let length = word(&rest[2..]);
        let member = &rest[2..2 + length];
        *rest = &rest[2 + length..];
        let is_element = rest.starts_with('[') && member != "text";
        let whole = match self.random.chance(60) {
            true => self.random.pick(&POINTEES).replace('#', name) + member,
            false => format!("{name}->{member}"),
        };
        match is_element && self.random.chance(60) {
            true => self.element(written, &whole, rest),
            false => *written += &whole,
        }
    }

    /// Writes an element of an array; its index stands at the beginning of `rest`.
    fn element(&mut self, written: &mut String, array: &str, rest: &mut &str) {
        let end = rest.find(']').expect("an index ends");
        let index = &rest[1..end];
        *rest = &rest[end + 1..];
        *written += &self.random.pick(&ELEMENTS).replace('#', array).replace('@', index);
    }
}

/// Returns the length of the word at the beginning.
fn word(text: &str) -> usize {
    text.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(text.len())
}

/// Returns the length of the string literal at the beginning.
fn literal(text: &str) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            '"' if !escaped => return at + 1,
            '\\' => escaped = !escaped,
            _ => escaped = false,
        }
    }
    text.len()
}
