//! Limits of inputs as a user writes them: `in.count=1..15`, `lines=*4`, `in.name=SMITH|JONES`.

use std::{fmt, str::FromStr};

use super::Input;

/// A limit of an input that is not understood.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BadInput(String);

impl fmt::Display for BadInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "`{}` limits no input: write PLACE=LEAST..GREATEST for a number, PLACE=*COUNT for the \
             elements behind a pointer, or PLACE=TEXT|TEXT for a text",
            self.0
        )
    }
}

impl std::error::Error for BadInput {}

impl FromStr for Input {
    type Err = BadInput;

    fn from_str(text: &str) -> Result<Input, BadInput> {
        let bad = || BadInput(text.to_owned());
        if let Some(count) = text.strip_prefix('*') {
            let elements = count.parse().ok().filter(|&count: &usize| count > 0);
            return Ok(Input { elements: Some(elements.ok_or_else(bad)?), ..Input::default() });
        }
        if let Some((least, greatest)) = text.split_once("..")
            && let (Ok(least), Ok(greatest)) = (least.parse::<i64>(), greatest.parse::<i64>())
        {
            let range = Some((least, greatest)).filter(|_| least <= greatest);
            return Ok(Input { range: Some(range.ok_or_else(bad)?), ..Input::default() });
        }
        Ok(Input { texts: text.split('|').map(str::to_owned).collect(), ..Input::default() })
    }
}

impl Input {
    /// Reads the place of an input, without indices, and its limits: `in.lines.count=1..15`.
    ///
    /// # Errors
    /// [`BadInput`] if the text has no `=`, a range without numbers, or no count.
    pub fn of_place(text: &str) -> Result<(String, Input), BadInput> {
        let bad = || BadInput(text.to_owned());
        let (place, limits) = text.split_once('=').ok_or_else(bad)?;
        let place = Some(place.trim()).filter(|place| !place.is_empty());
        Ok((place.ok_or_else(bad)?.to_owned(), limits.parse().map_err(|_| bad())?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_numbers_counts_or_texts() {
        let limits = |text: &str| Input::of_place(text).unwrap();
        let range = Input { range: Some((-1, 15)), ..Input::default() };
        assert_eq!(limits("in.count=-1..15"), ("in.count".to_owned(), range));
        let elements = Input { elements: Some(4), ..Input::default() };
        assert_eq!(limits("lines=*4"), ("lines".to_owned(), elements));
        let texts = Input { texts: vec!["a=b".to_owned(), "c".to_owned()], ..Input::default() };
        assert_eq!(limits("name=a=b|c"), ("name".to_owned(), texts));
    }

    #[test]
    fn limits_that_are_none_are_refused_with_the_forms() {
        for text in ["count", "=1..2", "count=3..2", "lines=*0", "lines=*x"] {
            let message = Input::of_place(text).unwrap_err().to_string();
            assert!(message.starts_with(&format!("`{text}` limits no input")), "{message}");
        }
    }
}
