//! The units that moved.

use crate::solve::UnitIndex;

/// The direction in which a unit moved.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Moved {
    Not,
    Earlier,
    Later,
}

impl Moved {
    pub(super) fn arrow(self) -> char {
        match self {
            Moved::Not => ' ',
            Moved::Earlier => '↑',
            Moved::Later => '↓',
        }
    }
}

/// Returns for each unit whether and where it moved. The units that did not move are as many as
/// possible whose order among each other is that of the source; so few units moved.
pub(super) fn moved(order: &[UnitIndex]) -> Vec<Moved> {
    let mut moved = vec![Moved::Earlier; order.len()];
    for (place, &unit) in order.iter().enumerate() {
        if place > unit {
            moved[unit] = Moved::Later;
        }
    }
    longest_ascending(order).into_iter().for_each(|unit| moved[unit] = Moved::Not);
    moved
}

fn longest_ascending(order: &[UnitIndex]) -> Vec<UnitIndex> {
    let (mut length, mut before) = (vec![1usize; order.len()], vec![None; order.len()]);
    for at in 0..order.len() {
        for earlier in 0..at {
            if order[earlier] < order[at] && length[earlier] + 1 > length[at] {
                length[at] = length[earlier] + 1;
                before[at] = Some(earlier);
            }
        }
    }
    let mut at = (0..order.len()).max_by_key(|&at| length[at]);
    let mut found = Vec::new();
    while let Some(place) = at {
        found.push(order[place]);
        at = before[place];
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unit_that_moves_to_the_end_is_the_only_one_that_moved() {
        use Moved::{Earlier, Later, Not};
        assert_eq!(moved(&[1, 2, 3, 0]), [Later, Not, Not, Not]);
        assert_eq!(moved(&[0, 3, 1, 2]), [Not, Not, Not, Earlier]);
        assert_eq!(moved(&[0, 1, 2]), [Not, Not, Not]);
        assert_eq!(moved(&[]), []);
    }
}
