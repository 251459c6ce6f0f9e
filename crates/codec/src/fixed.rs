//! Structures of a fixed layout, read in place.
//!
//! 1. The encoding is the memory of the structure. It may have no padding (`IntoBytes`) and no
//!    alignment (`Unaligned`): values stand at any address of a page. The integers with the byte
//!    order of the machine are aligned, so the layout is the same on all machines.

use std::marker::PhantomData;

use zerocopy::{Immutable, IntoBytes, KnownLayout, TryFromBytes, Unaligned};

use crate::{AsValue, DecodeError, Named, Reader, Value};

/// A type of values that are structures of type `T`, which decoding borrows as `&T`.
///
/// It is the name of an encoding, and has no values: a `T` is encoded. The layout has the name, the
/// version and the size of `T`.
///
/// ```
/// use clearway_codec::{DecodeError, Fixed, Named, Value};
/// use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned, little_endian::U64};
///
/// #[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
/// #[repr(C)]
/// struct Account {
///     balance: U64,
///     branch: U64,
/// }
///
/// impl Named for Account {
///     const NAME: &'static str = "account";
///     const VERSION: u32 = 1;
/// }
///
/// let bytes = Fixed::<Account>::encode(&Account { balance: 70.into(), branch: 3.into() });
/// assert_eq!(Fixed::<Account>::decode(&bytes)?.balance, 70);
/// assert_eq!(Fixed::<Account>::layout(), "fixed<account,1,16>");
/// # Ok::<(), DecodeError>(())
/// ```
#[derive(Debug)]
pub struct Fixed<T>(PhantomData<fn() -> T>);

impl<T: IntoBytes + Immutable + Named> AsValue<Fixed<T>> for T {
    fn encode_value_part(&self, to: &mut Vec<u8>) {
        to.extend_from_slice(self.as_bytes());
    }
}

impl<T: IntoBytes + Immutable + Named> AsValue<Fixed<T>> for &T {
    fn encode_value_part(&self, to: &mut Vec<u8>) {
        to.extend_from_slice((*self).as_bytes());
    }
}

impl<T> Value for Fixed<T>
where
    T: TryFromBytes + IntoBytes + Immutable + KnownLayout + Unaligned + Named + 'static,
{
    type Decoded<'a> = &'a T;

    fn read_part<'a>(from: &mut Reader<'a>) -> Result<&'a T, DecodeError> {
        let error = from.error("the bytes of a structure");
        let bytes = from.slice(size_of::<T>(), error.expected())?;
        T::try_ref_from_bytes(bytes).map_err(|_| error)
    }

    fn layout() -> String {
        format!("fixed<{},{},{}>", T::NAME, T::VERSION, size_of::<T>())
    }
}
