//! The overlay against maps that are copied at each position.

use std::collections::BTreeMap;

use clearway_testkit::Random;

use super::*;

type Model = BTreeMap<(TreeId, Vec<u8>), Option<Vec<u8>>>;

fn key(random: &mut Random, keys: u64) -> Vec<u8> {
    let n = random.below(keys);
    format!("{n}").repeat(1 + n as usize % 3).into_bytes()
}

fn bound(random: &mut Random, keys: u64) -> Bound<Vec<u8>> {
    match random.below(3) {
        0 => Unbounded,
        1 => Included(key(random, keys)),
        _ => Excluded(key(random, keys)),
    }
}

/// Returns what `first` should return.
fn first_of<'m>(
    model: &'m Model,
    tree: TreeId,
    range: &(Bound<Vec<u8>>, Bound<Vec<u8>>),
    direction: Direction,
) -> Option<(&'m [u8], Option<&'m [u8]>)> {
    let is_in = |key: &Vec<u8>| {
        let is_above = match &range.0 {
            Unbounded => true,
            Included(low) => key >= low,
            Excluded(low) => key > low,
        };
        is_above
            && match &range.1 {
                Unbounded => true,
                Included(high) => key <= high,
                Excluded(high) => key < high,
            }
    };
    let mut all = model.iter().filter(|((of, key), _)| *of == tree && is_in(key));
    let found = match direction {
        Direction::Ascending => all.next(),
        Direction::Descending => all.next_back(),
    };
    found.map(|((_, key), value)| (key.as_slice(), value.as_deref()))
}

#[test]
fn overlay_answers_as_a_map_does_whatever_was_rolled_back() {
    let mut overlay = Overlay::default();
    for seed in 0..60 {
        let mut random = Random::new(seed);
        let keys = random.pick(&[5, 60, 3000]);
        let mut model = Model::new();
        let mut positions: Vec<(usize, Model)> = Vec::new();
        for _ in 0..random.pick(&[20, 400, 2000]) {
            let tree = TreeId(2 + random.below(3) as u32);
            let at = key(&mut random, keys);
            match random.below(40) {
                0 => positions.push((overlay.position(), model.clone())),
                1 if !positions.is_empty() => {
                    positions.truncate(1 + random.below(positions.len() as u64) as usize);
                    let (position, before) = positions.last().unwrap();
                    overlay.rollback_to(*position);
                    model.clone_from(before);
                }
                2..20 => {
                    let value = (!random.one_in(4)).then(|| key(&mut random, 1000));
                    overlay.set(tree, &at, value.as_deref());
                    model.insert((tree, at), value);
                }
                20..30 => {
                    let expected = model.get(&(tree, at.clone())).map(Option::as_deref);
                    assert_eq!(overlay.get(tree, &at), expected, "seed {seed}");
                }
                _ => {
                    let range = (bound(&mut random, keys), bound(&mut random, keys));
                    let (low, high) = (range.0.as_ref(), range.1.as_ref());
                    let bounds = (low.map(Vec::as_slice), high.map(Vec::as_slice));
                    for direction in [Direction::Ascending, Direction::Descending] {
                        let found = overlay.first(tree, bounds, direction);
                        assert_eq!(found, first_of(&model, tree, &range, direction), "seed {seed}");
                    }
                }
            }
        }
        overlay.clear();
        assert_eq!(overlay.first(TreeId(2), (Unbounded, Unbounded), Direction::Ascending), None);
    }
}

#[test]
fn index_of_many_entries_is_in_short_pieces() {
    for is_ascending in [true, false] {
        let mut overlay = Overlay::recorded();
        let count = 20 * PIECE_MAX as u32;
        for n in 0..count {
            let n = if is_ascending { n } else { count - n };
            overlay.set(TreeId(2), &n.to_be_bytes(), Some(b"value"));
        }
        overlay.complete_index();
        assert!(overlay.index.iter().all(|piece| (1..=PIECE_MAX).contains(&piece.len())));
        overlay.rollback_to(3);
        assert_eq!((overlay.entries.len(), overlay.index.len()), (3, 1));
        assert_eq!(overlay.bytes.len(), 3 * (4 + 5));
    }
}
