//! Reading a model, with the line and the key of each mistake.
//!
//! A model that is read says nothing contradictory: an argument has one role, what `reads` names is
//! read once, and what only one kind of call can have stands at calls of that kind.

mod check;

use std::{collections::BTreeMap, fmt};

use serde::{Deserialize, de::IgnoredAny};
use toml::Spanned;

use super::Model;

/// A text that is not a model, with the place of the mistake.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BadModel {
    /// The path of the file.
    pub path: String,
    /// The line, counted from 1; 0 if the mistake is not in one line.
    pub line: usize,
    /// The key that is mistaken, as in `calls.PQexec`; empty if the text is not TOML.
    pub key: String,
    /// The error, and the text to write instead.
    pub message: String,
}

impl fmt::Display for BadModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let BadModel { path, line, key, message } = self;
        match line {
            0 => write!(f, "{path}: ")?,
            _ => write!(f, "{path}:{line}: ")?,
        }
        match key.as_str() {
            "" => write!(f, "{message}"),
            _ => write!(f, "`{key}`: {message}"),
        }
    }
}

impl std::error::Error for BadModel {}

/// The keys of a table, with their places.
type Keys = BTreeMap<Spanned<String>, IgnoredAny>;

#[derive(Deserialize)]
struct CallKeys {
    #[serde(default)]
    calls: Keys,
}

/// Returns the keys of a model with the offsets at which they stand, in the order of the text;
/// nothing if the text is not TOML.
fn places(text: &str) -> Vec<(usize, String)> {
    let place = |prefix: &str, key: &Spanned<String>| {
        (key.span().start, format!("{prefix}{}", key.as_ref()))
    };
    let calls = toml::from_str(text).map(|CallKeys { calls }| calls).unwrap_or_default();
    let others: Keys = toml::from_str(text).unwrap_or_default();
    let calls = calls.keys().map(|key| place("calls.", key));
    let mut all: Vec<_> = calls.chain(others.keys().map(|key| place("", key))).collect();
    all.sort_unstable();
    all
}

/// Reads a model. `path` is the name of the file in messages.
///
/// # Errors
/// [`BadModel`] if the text is not TOML, or not a model, or the model is contradictory.
pub fn load(text: &str, path: &str) -> Result<Model, BadModel> {
    let bad = |line, key: &str, message| {
        let (path, key) = (path.to_owned(), key.to_owned());
        BadModel { path, line, key, message }
    };
    let line = |at: usize| 1 + text.bytes().take(at).filter(|&byte| byte == b'\n').count();
    let model: Model = toml::from_str(text).map_err(|error| {
        let at = error.span().map(|span| span.start);
        let key = at.and_then(|at| key_at(&places(text), at)).unwrap_or_default();
        bad(at.map_or(0, line), &key, error.message().to_owned())
    })?;
    check::check(&model).map_err(|(key, message)| {
        let places = places(text);
        let at = places.iter().find(|(_, name)| *name == key).map(|(at, _)| *at);
        bad(at.map_or(0, line), &key, message)
    })?;
    Ok(model)
}

/// Returns the key whose value contains the offset: the last one that begins before it.
fn key_at(places: &[(usize, String)], at: usize) -> Option<String> {
    places.iter().rev().find(|(start, _)| *start <= at).map(|(_, key)| key.clone())
}

#[cfg(test)]
mod tests;
