//! Values of any type that serde can write, in the postcard format.
//!
//! 1. Postcard finds the end of a value itself, so both forms are the same.

use std::marker::PhantomData;

use serde::{Serialize, de::DeserializeOwned};

use crate::{AsValue, DecodeError, Named, Reader, Value};

/// A type of values that serde writes and reads, in the [postcard](https://docs.rs/postcard) format.
///
/// It is the name of an encoding, and has no values: a `T` is encoded, and a `T` is decoded. The
/// layout has the name and the version of `T`. The format contains no names and no types, so a
/// change of the fields needs another version.
///
/// # Panics
///
/// Encoding panics if the `Serialize` of `T` fails: for example, if it writes a sequence without
/// its length, which postcard cannot represent. The derived implementations do not.
///
/// ```
/// use clearway_codec::{DecodeError, Named, Serde, Value};
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Serialize, Deserialize, PartialEq, Debug)]
/// struct Order {
///     items: Vec<String>,
/// }
///
/// impl Named for Order {
///     const NAME: &'static str = "order";
///     const VERSION: u32 = 2;
/// }
///
/// let order = Order { items: vec!["pen".to_string()] };
/// let bytes = Serde::<Order>::encode(&order);
/// assert_eq!(Serde::<Order>::decode(&bytes)?, order);
/// assert_eq!(Serde::<Order>::layout(), "serde<order,2>");
/// # Ok::<(), DecodeError>(())
/// ```
#[derive(Debug)]
pub struct Serde<T>(PhantomData<fn() -> T>);

impl<T: Serialize + Named> AsValue<Serde<T>> for T {
    fn encode_value_part(&self, to: &mut Vec<u8>) {
        let bytes = std::mem::take(to);
        *to = postcard::to_extend(self, bytes).expect("the type can be written");
    }
}

impl<T: Serialize + Named> AsValue<Serde<T>> for &T {
    fn encode_value_part(&self, to: &mut Vec<u8>) {
        T::encode_value_part(self, to);
    }
}

impl<T: Serialize + DeserializeOwned + Named + 'static> Value for Serde<T> {
    type Decoded<'a> = T;

    fn read_part<'a>(from: &mut Reader<'a>) -> Result<T, DecodeError> {
        let error = from.error("a value that serde can read");
        let mut ahead = from.clone();
        let bytes = ahead.rest();
        let (value, rest) = postcard::take_from_bytes(bytes).map_err(|_| error)?;
        from.slice(bytes.len() - rest.len(), error.expected())?;
        Ok(value)
    }

    fn layout() -> String {
        format!("serde<{},{}>", T::NAME, T::VERSION)
    }
}
