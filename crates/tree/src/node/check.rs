//! The full check of one node, for `verify` and for tests: node invariants 1 to 7.
//!
//! Bounds come first: every later step may trust that positions lie in the page, so that a message
//! says what is wrong and not what followed from it. The caller has the page latched, or a copy of
//! it; if the read races with a writer, "damaged" means nothing.

use super::build::Shape;
use super::bytes::{NodeBytes, compare_bytes};
use super::layout::{
    COUNT, GARBAGE, HEAP_START, META_SPARE, NODE_END, PREFIX_LEN, PageKind, RECORD_HEADER,
    SLOT_LEN, SLOTS, head_of,
};
use super::read::Node;

impl Node<'_, [u8]> {
    /// Checks the node by itself; what it must have in common with its parent is the caller's.
    ///
    /// # Errors
    /// What is wrong, in words.
    pub(crate) fn check(&self) -> Result<(), String> {
        let kind = if self.level() == 0 { PageKind::Leaf } else { PageKind::Branch };
        if self.kind() != kind {
            return Err(format!("kind {:?} on level {}", self.kind(), self.level()));
        }
        self.check_space()?;
        self.check_fences()?;
        self.check_records()
    }

    /// Invariant 6, bounds first: everything after this may trust the positions.
    fn check_space(&self) -> Result<(), String> {
        let field = |at| usize::from(self.bytes.u16(at));
        let (count, heap_start, end) = (field(COUNT), field(HEAP_START), field(NODE_END));
        if end > self.bytes.len() || heap_start > end || SLOTS + count * SLOT_LEN > heap_start {
            return Err(format!("{count} slots, heap {heap_start}..{end} overlap or overflow"));
        }
        let mut used = Shape::of(*self).fence_bytes();
        for slot in 0..count {
            let word = self.slot(slot);
            let len = RECORD_HEADER + word.suffix_len() + self.value_len(slot);
            if word.offset() < heap_start || word.offset() + len > end {
                return Err(format!("record {slot} at {} +{len} is outside", word.offset()));
            }
            used += len;
        }
        if used + field(GARBAGE) != end - heap_start {
            let garbage = field(GARBAGE);
            return Err(format!("{used} used + {garbage} garbage ≠ heap {heap_start}..{end}"));
        }
        Ok(())
    }

    /// Invariants 2 and 3, as far as the fences go.
    fn check_fences(&self) -> Result<(), String> {
        let shape = Shape::of(*self);
        if usize::from(self.bytes.u16(PREFIX_LEN)) != shape.prefix_len() {
            return Err(format!("prefix of {} bytes, fences say {}", self.prefix_len(), {
                shape.prefix_len()
            }));
        }
        let foster_key = shape.foster.map(|(_, key)| key);
        let bounds = [Some(shape.low), foster_key, shape.high];
        let mut known = bounds.iter().flatten();
        let Some(mut last) = known.next() else { return Ok(()) };
        for next in known {
            if last >= next {
                return Err("fences out of order".into());
            }
            last = next;
        }
        Ok(())
    }

    /// Invariants 1 to 4 for the records.
    fn check_records(&self) -> Result<(), String> {
        let (mut key, mut last, mut end) = (Vec::new(), Vec::new(), Vec::new());
        let ends = self.end_into(&mut end);
        let mut ghosts = 0;
        for slot in 0..self.count() {
            let word = self.slot(slot);
            self.key_into(slot, &mut key);
            if word.meta() & META_SPARE != 0 {
                return Err(format!("slot {slot} has unknown flags"));
            }
            self.check_head(slot)?;
            if slot > 0 && compare_bytes(&last, &key).is_ge() {
                return Err(format!("key {slot} out of order"));
            }
            if compare_bytes(&key, self.low_fence()).is_lt() || (ends && key >= end) {
                return Err(format!("key {slot} outside the fences"));
            }
            if self.is_branch() && (word.is_ghost() || word.is_overflow()) {
                return Err(format!("separator {slot} has a leaf's flags"));
            }
            if self.is_branch() && (self.value_len(slot) != 4 || self.child(slot).0 == 0) {
                return Err(format!("separator {slot} leads nowhere"));
            }
            ghosts += usize::from(word.is_ghost());
            std::mem::swap(&mut key, &mut last);
        }
        if self.is_branch() && (self.count() == 0 || self.key(0) != self.low_fence()) {
            return Err("a branch starts with its low fence".into());
        }
        if ghosts != self.ghost_count() {
            return Err(format!("{ghosts} ghosts, {} counted", self.ghost_count()));
        }
        Ok(())
    }

    /// That a searched key shares the skipped bytes and has the head that follows them.
    fn check_head(&self, slot: usize) -> Result<(), String> {
        if slot < self.first_searched() {
            return Ok(());
        }
        let (suffix, skip) = (self.suffix(slot), self.head_skip());
        let shared = self.suffix(self.first_searched()).get(..skip);
        if shared.is_none() || suffix.get(..skip) != shared {
            return Err(format!("key {slot} does not share the {skip} skipped bytes"));
        }
        if self.slot(slot).head() != head_of(&suffix[skip..]) {
            return Err(format!("slot {slot} has a wrong head"));
        }
        Ok(())
    }
}
