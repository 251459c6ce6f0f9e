//! Integers of 1 to 16 bytes.
//!
//! 1. As a key: big-endian, with the sign bit of a signed integer inverted, so that negative ones
//!    come first.
//! 2. As a value: little-endian, two's complement.

use crate::{AsKey, AsValue, DecodeError, Key, Reader, Value};

macro_rules! integers {
    ($($type:ident $bytes:literal),*) => {$(
        impl AsKey<$type> for $type {
            fn encode_key_part(&self, to: &mut Vec<u8>) {
                // The smallest integer is 0 or the sign bit alone.
                to.extend_from_slice(&(self ^ $type::MIN).to_be_bytes());
            }
        }

        impl Key for $type {
            type Decoded<'a> = $type;
            type Part<'a> = $type;

            fn read<'a>(from: &mut Reader<'a>) -> Result<$type, DecodeError> {
                <$type as Key>::read_part(from)
            }

            fn read_part<'a>(from: &mut Reader<'a>) -> Result<$type, DecodeError> {
                let expected = concat!("the ", $bytes, " bytes of ", stringify!($type));
                Ok($type::from_be_bytes(from.array(expected)?) ^ $type::MIN)
            }

            fn layout() -> String {
                stringify!($type).to_string()
            }
        }

        impl AsValue<$type> for $type {
            fn encode_value_part(&self, to: &mut Vec<u8>) {
                to.extend_from_slice(&self.to_le_bytes());
            }
        }

        impl Value for $type {
            type Decoded<'a> = $type;

            fn read_part<'a>(from: &mut Reader<'a>) -> Result<$type, DecodeError> {
                let expected = concat!("the ", $bytes, " bytes of ", stringify!($type));
                from.array(expected).map($type::from_le_bytes)
            }

            fn layout() -> String {
                stringify!($type).to_string()
            }
        }
    )*};
}

integers!(u8 1, u16 2, u32 4, u64 8, u128 16, i8 1, i16 2, i32 4, i64 8, i128 16);
