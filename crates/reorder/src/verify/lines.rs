//! Line numbers of the source in what a program leaves behind.
//!
//! A program may print `__LINE__`, and its reordered form has the same statement on another line.
//! So both sources are compiled under the same file name, and with line numbers that nothing else
//! is likely to have. Such a number is equal to each other one; in a report it is the line of the
//! program's own source.

use std::iter;

/// The number that the compiler gives the first line of a source.
pub(super) const FIRST: u64 = 61_700_001;
/// The number behind that of the last line.
const END: u64 = FIRST + 99_999;

/// Returns the text without the numbers of lines.
pub(super) fn hidden(text: &str) -> String {
    replaced(text, |_| "(line)".to_owned())
}

/// Returns the text with the numbers that the lines have in the source.
pub(super) fn restored(text: &str) -> String {
    replaced(text, |number| (number - FIRST + 1).to_string())
}

fn replaced(text: &str, line: impl Fn(u64) -> String) -> String {
    let mut rest = text;
    let words = iter::from_fn(|| {
        let first = rest.chars().next()?;
        let digits = first.is_ascii_digit();
        let end = rest.find(|c: char| c.is_ascii_digit() != digits).unwrap_or(rest.len());
        let (word, behind) = rest.split_at(end);
        rest = behind;
        Some(word)
    });
    let number = |word: &str| word.parse().ok().filter(|number| (FIRST..END).contains(number));
    words.map(|word| number(word).map_or_else(|| word.to_owned(), &line)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_lines_are_equal_to_each_other() {
        assert_eq!(hidden("a.c:61700012: x"), hidden("a.c:61700034: x"));
        assert_ne!(hidden("a.c:61700012: x"), hidden("a.c:61700012: y"));
    }

    #[test]
    fn other_numbers_stay() {
        for text in ["", "12 and 61700000", "617000121", "61800000", "-1"] {
            assert_eq!(hidden(text), text);
        }
    }

    #[test]
    fn lines_are_shown_as_in_the_source() {
        assert_eq!(restored("a.c:61700012:3: x"), "a.c:12:3: x");
    }
}
