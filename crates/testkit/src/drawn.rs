//! Counts of the patterns that a run has drawn, so that a lane can report those that it never drew.

use std::{collections::BTreeMap, fmt};

use crate::{lengths::Lengths, order::Order, pattern::Pattern, steps::Removal, values::Values};

/// The number of times that each order, mixture of lengths, kind of values and removal was drawn.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Drawn(BTreeMap<&'static str, u64>);

/// The beginning of the line in which a lane reports what it drew.
const LINE: &str = "patterns:";

impl Drawn {
    /// The names of all counted choices.
    pub fn names() -> impl Iterator<Item = &'static str> {
        let orders = Order::ALL.into_iter().map(Order::name);
        let lengths = Lengths::ALL.into_iter().map(Lengths::name);
        let values = Values::ALL.into_iter().map(Values::name);
        orders.chain(lengths).chain(values).chain(Removal::ALL.into_iter().map(Removal::name))
    }

    /// Counts a pattern.
    pub fn note(&mut self, pattern: &Pattern) {
        let Pattern { order, lengths, values, removal, .. } = pattern;
        for name in [order.name(), lengths.name(), values.name(), removal.name()] {
            self.add(name, 1);
        }
    }

    /// Counts a choice that was drawn `times` times. Does nothing if no choice has this name.
    pub fn add(&mut self, name: &str, times: u64) {
        if let Some(name) = Drawn::names().find(|known| *known == name && times > 0) {
            *self.0.entry(name).or_default() += times;
        }
    }

    /// The number of times that a choice was drawn.
    pub fn count(&self, name: &str) -> u64 {
        self.0.get(name).copied().unwrap_or(0)
    }

    /// Adds the counts of another part of the same run.
    pub fn merge(&mut self, other: &Drawn) {
        other.0.iter().for_each(|(name, times)| self.add(name, *times));
    }

    /// The choices that were never drawn.
    pub fn missing(&self) -> Vec<&'static str> {
        Drawn::names().filter(|name| self.count(name) == 0).collect()
    }

    /// The orders that were never drawn.
    pub fn missing_orders(&self) -> Vec<&'static str> {
        Order::ALL.into_iter().map(Order::name).filter(|name| self.count(name) == 0).collect()
    }

    /// Reads the line that [`Drawn`] prints, wherever it begins in `line`.
    pub fn parse(line: &str) -> Option<Drawn> {
        let (_, pairs) = line.split_once(LINE)?;
        let mut drawn = Drawn::default();
        for pair in pairs.split_whitespace() {
            let (name, times) = pair.split_once('=')?;
            drawn.add(name, times.parse().ok()?);
        }
        Some(drawn)
    }
}

impl fmt::Display for Drawn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(LINE)?;
        Drawn::names().try_for_each(|name| write!(f, " {name}={}", self.count(name)))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::{Limits, Random};

    #[test]
    fn counts_are_printed_and_parsed() {
        let (mut drawn, mut random) = (Drawn::default(), Random::new(3));
        drawn.note(&Pattern::draw(&mut random, Limits::of_node(256)));
        let mut read = Drawn::parse(&format!("simulation | {drawn}")).unwrap();
        assert_eq!(read, drawn);
        assert_eq!(drawn.missing().len(), Drawn::names().count() - 4);
        read.merge(&drawn);
        assert_eq!(read.0.values().sum::<u64>(), 8);
        assert_eq!(Drawn::parse("seeds 12"), None);
    }

    #[test]
    fn names_are_distinct() {
        let names: Vec<_> = Drawn::names().collect();
        assert_eq!(names.iter().collect::<HashSet<_>>().len(), names.len());
    }

    #[test]
    fn two_hundred_draws_include_every_choice() {
        for seed in 0..100 {
            let (mut drawn, mut random) = (Drawn::default(), Random::new(seed));
            (0..200).for_each(|_| drawn.note(&Pattern::draw(&mut random, Limits::of_node(256))));
            assert_eq!(drawn.missing(), Vec::<&str>::new(), "seed {seed}");
        }
    }
}
