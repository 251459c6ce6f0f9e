//! Places of an edited text in the text before the edits.

use crate::source::{Edit, Range};

/// The edits of one split, in the order of the text.
#[derive(Clone)]
pub(crate) struct Trace(Vec<Edit>);

impl Trace {
    pub(crate) fn of(edits: &[Edit]) -> Trace {
        let mut edits = edits.to_vec();
        edits.sort_by_key(|edit| (edit.range.start, edit.range.end));
        Trace(edits)
    }

    /// Returns the offset before the edits; for inserted text, that of the edit.
    pub(crate) fn before(&self, offset: usize) -> usize {
        let (mut old, mut new) = (0, 0);
        for edit in &self.0 {
            let start = new + (edit.range.start - old);
            if offset < start {
                break;
            }
            let end = start + edit.text.len();
            if offset < end {
                return edit.range.start;
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
    use crate::source;

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
}
