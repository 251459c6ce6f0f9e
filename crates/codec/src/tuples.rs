//! Tuples of 1 to 8 components, compared component by component.
//!
//! 1. A tuple at the top level is its components, one behind the other: all but the last as parts,
//!    the last in the form of the top level.
//! 2. A tuple that is a part itself has all components as parts. So the last component of a nested
//!    tuple has an end, too.

use crate::{AsKey, AsValue, DecodeError, Key, Reader, Value};

fn layout_of(components: &[String]) -> String {
    format!("({})", components.join(","))
}

/// Implements the traits for one length. Each component has the type in the table, the type that
/// is encoded, and its position; the last component stands behind the semicolon.
macro_rules! tuple {
    ($($k:ident $q:ident $at:tt),*; $l:ident $r:ident $last:tt) => {
        impl<$($k, $q: AsKey<$k>,)* $l, $r: AsKey<$l>> AsKey<($($k,)* $l,)> for ($($q,)* $r,) {
            fn encode_key_part(&self, to: &mut Vec<u8>) {
                $(self.$at.encode_key_part(to);)*
                self.$last.encode_key_part(to);
            }

            fn encode_key(&self, to: &mut Vec<u8>) {
                $(self.$at.encode_key_part(to);)*
                self.$last.encode_key(to);
            }
        }

        impl<$($k: Key,)* $l: Key> Key for ($($k,)* $l,) {
            type Decoded<'a> = ($($k::Part<'a>,)* $l::Decoded<'a>,);
            type Part<'a> = ($($k::Part<'a>,)* $l::Part<'a>,);

            fn read<'a>(from: &mut Reader<'a>) -> Result<Self::Decoded<'a>, DecodeError> {
                Ok(($($k::read_part(from)?,)* $l::read(from)?,))
            }

            fn read_part<'a>(from: &mut Reader<'a>) -> Result<Self::Part<'a>, DecodeError> {
                Ok(($($k::read_part(from)?,)* $l::read_part(from)?,))
            }

            fn layout() -> String {
                layout_of(&[$($k::layout(),)* $l::layout()])
            }
        }

        impl<$($k, $q: AsValue<$k>,)* $l, $r: AsValue<$l>> AsValue<($($k,)* $l,)>
            for ($($q,)* $r,)
        {
            fn encode_value_part(&self, to: &mut Vec<u8>) {
                $(self.$at.encode_value_part(to);)*
                self.$last.encode_value_part(to);
            }

            fn encode_value(&self, to: &mut Vec<u8>) {
                $(self.$at.encode_value_part(to);)*
                self.$last.encode_value(to);
            }
        }

        impl<$($k: Value,)* $l: Value> Value for ($($k,)* $l,) {
            type Decoded<'a> = ($($k::Decoded<'a>,)* $l::Decoded<'a>,);

            fn read_part<'a>(from: &mut Reader<'a>) -> Result<Self::Decoded<'a>, DecodeError> {
                Ok(($($k::read_part(from)?,)* $l::read_part(from)?,))
            }

            fn read<'a>(from: &mut Reader<'a>) -> Result<Self::Decoded<'a>, DecodeError> {
                Ok(($($k::read_part(from)?,)* $l::read(from)?,))
            }

            fn layout() -> String {
                layout_of(&[$($k::layout(),)* $l::layout()])
            }
        }
    };
}

tuple!(; A Qa 0);
tuple!(A Qa 0; B Qb 1);
tuple!(A Qa 0, B Qb 1; C Qc 2);
tuple!(A Qa 0, B Qb 1, C Qc 2; D Qd 3);
tuple!(A Qa 0, B Qb 1, C Qc 2, D Qd 3; E Qe 4);
tuple!(A Qa 0, B Qb 1, C Qc 2, D Qd 3, E Qe 4; F Qf 5);
tuple!(A Qa 0, B Qb 1, C Qc 2, D Qd 3, E Qe 4, F Qf 5; G Qg 6);
tuple!(A Qa 0, B Qb 1, C Qc 2, D Qd 3, E Qe 4, F Qf 5, G Qg 6; H Qh 7);
