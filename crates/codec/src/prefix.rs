//! Ranges of tuple keys that begin with the same components.
//!
//! 1. The components of a prefix are encoded as parts, for in the whole key another component
//!    stands behind them. Parts are prefix-free, so a key begins with the bytes of the prefix if
//!    and only if it begins with its components.
//! 2. The range ends before the next byte string that does not begin with the prefix: the bytes up
//!    to the last that is not 0xFF, with that one increased. If there is none, the range has no
//!    end.

use std::ops::Bound;

use crate::{AsKey, Key};

/// The first components of a tuple key of type `K`, at least one less than `K` has.
///
/// `()` is a prefix of all tuples.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no prefix of keys of type `{K}`",
    note = "a prefix of keys of type `(A, B, C)` is `(a,)` or `(a, b)`; note the comma in `(a,)`"
)]
pub trait KeyPrefix<K> {
    /// Appends the bytes with which all keys with this prefix begin, and no others.
    fn encode_prefix(&self, to: &mut Vec<u8>);
}

/// Returns the range of all keys of type `K` that begin with the components of `prefix`.
///
/// ```
/// use std::ops::RangeBounds;
///
/// use clearway_codec::{Key, prefix_of};
///
/// type OrderKey = (String, u64, u32);
/// let annas = prefix_of::<OrderKey, _>(&("anna",));
/// assert!(annas.contains(&OrderKey::encode(&("anna", 7, 1))));
/// assert!(!annas.contains(&OrderKey::encode(&("annabel", 7, 1))));
/// let seventh = prefix_of::<OrderKey, _>(&("anna", 7));
/// assert!(!seventh.contains(&OrderKey::encode(&("anna", 8, 1))));
/// ```
pub fn prefix_of<K: Key, P: KeyPrefix<K> + ?Sized>(prefix: &P) -> (Bound<Vec<u8>>, Bound<Vec<u8>>) {
    let mut start = Vec::new();
    prefix.encode_prefix(&mut start);
    let end = end_of(&start);
    (Bound::Included(start), end)
}

/// Returns the end of the range of all byte strings that begin with `prefix`.
fn end_of(prefix: &[u8]) -> Bound<Vec<u8>> {
    let Some(at) = prefix.iter().rposition(|byte| *byte < u8::MAX) else {
        return Bound::Unbounded;
    };
    let mut end = prefix[..=at].to_vec();
    end[at] += 1;
    Bound::Excluded(end)
}

/// Implements the prefixes of the tuples of one length: moves the components one by one from behind
/// the semicolon to the prefix, as long as one stays behind.
macro_rules! prefixes {
    ($($k:ident $q:ident $at:tt),*; $next:ident $r:ident $n:tt, $($rest:tt)+) => {
        prefixes!(@one $($k $q $at),*; $next $r $n, $($rest)+);
        prefixes!($($k $q $at,)* $next $r $n; $($rest)+);
    };
    ($($k:ident $q:ident $at:tt),*; $last:ident $r:ident $n:tt) => {
        prefixes!(@one $($k $q $at),*; $last $r $n);
    };
    (@one $($k:ident $q:ident $at:tt),*; $($rest:ident $r:ident $n:tt),+) => {
        impl<$($k, $q: AsKey<$k>,)* $($rest,)+> KeyPrefix<($($k,)* $($rest,)+)> for ($($q,)*) {
            fn encode_prefix(&self, _to: &mut Vec<u8>) {
                $(self.$at.encode_key_part(_to);)*
            }
        }
    };
}

prefixes!(; A Qa 0);
prefixes!(; A Qa 0, B Qb 1);
prefixes!(; A Qa 0, B Qb 1, C Qc 2);
prefixes!(; A Qa 0, B Qb 1, C Qc 2, D Qd 3);
prefixes!(; A Qa 0, B Qb 1, C Qc 2, D Qd 3, E Qe 4);
prefixes!(; A Qa 0, B Qb 1, C Qc 2, D Qd 3, E Qe 4, F Qf 5);
prefixes!(; A Qa 0, B Qb 1, C Qc 2, D Qd 3, E Qe 4, F Qf 5, G Qg 6);
prefixes!(; A Qa 0, B Qb 1, C Qc 2, D Qd 3, E Qe 4, F Qf 5, G Qg 6, H Qh 7);
