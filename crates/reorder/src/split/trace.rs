//! Places of an edited text in the text before the edits.

use crate::{
    restructure::Move,
    source::{Edit, Range},
};

/// The edits of one change, in the order of the text.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trace(Vec<Move>);

impl Trace {
    pub(crate) fn of(edits: &[Edit]) -> Trace {
        let edits = edits.iter().cloned();
        Trace::of_moves(edits.map(|edit| Move { edit, parts: Vec::new() }).collect())
    }

    pub(crate) fn of_moves(mut moves: Vec<Move>) -> Trace {
        moves.sort_by_key(|one| (one.edit.range.start, one.edit.range.end));
        Trace(moves)
    }

    /// Returns the offset before the edits; for inserted text, that of the edit.
    pub(crate) fn before(&self, offset: usize) -> usize {
        let (mut old, mut new) = (0, 0);
        for Move { edit, parts } in &self.0 {
            let start = new + (edit.range.start - old);
            if offset < start {
                break;
            }
            let end = start + edit.text.len();
            if offset < end {
                let part = parts.iter().rfind(|(at, _)| *at <= offset - start);
                return part.map_or(edit.range.start, |(at, from)| from + (offset - start - at));
            }
            (old, new) = (edit.range.end, end);
        }
        old + (offset - new)
    }

    /// Returns the range before the edits.
    pub(crate) fn range_before(&self, range: Range) -> Range {
        let start = self.before(range.start);
        // The last byte belongs to the range, the end does not.
        let end = match range.end > range.start {
            true => self.before(range.end - 1) + 1,
            false => start,
        };
        Range::new(start, end.max(start))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{restructure, source};

    #[test]
    fn each_kept_byte_is_traced_to_its_place() {
        let text = "abcdefghij";
        let edit =
            |start, end, text: &str| Edit { range: Range::new(start, end), text: text.to_string() };
        let edits = [edit(8, 8, "Z"), edit(2, 2, "XY"), edit(4, 6, "")];
        let edited = source::apply(text, &edits);
        assert_eq!(edited, "abXYcdghZij");
        let trace = Trace::of(&edits);
        let traced: Vec<usize> = (0..edited.len()).map(|at| trace.before(at)).collect();
        assert_eq!(traced, [0, 1, 2, 2, 2, 3, 6, 7, 8, 8, 9]);
        assert_eq!(trace.range_before(Range::new(4, 8)), Range::new(2, 8));
    }

    #[test]
    fn moved_text_is_traced_to_where_it_stood() {
        let (text, order) = ("ab\ncd\nef\ngh\n", [2, 0, 1]);
        let chunks = [0, 3, 6].map(|start| Range::new(start, start + 3));
        let moved: Vec<Move> = restructure::moves(&chunks, &order, text).into_iter().collect();
        let edited = source::apply(text, &[moved[0].edit.clone()]);
        assert_eq!(edited, "ef\nab\ncd\ngh\n");
        let trace = Trace::of_moves(moved);
        let traced: Vec<usize> = (0..edited.len()).map(|at| trace.before(at)).collect();
        assert_eq!(traced, [6, 7, 8, 0, 1, 2, 3, 4, 5, 9, 10, 11]);
    }
}
