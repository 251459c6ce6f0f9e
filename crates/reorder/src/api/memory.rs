//! Arguments that lead to memory. In a model, `1` stands for `{ argument = 1 }`.

use std::{fmt, marker::PhantomData};

use serde::{
    Deserialize, Deserializer,
    de::{self, MapAccess, Visitor, value::MapAccessDeserializer},
};

/// Memory that a call reads or writes through an argument. An argument that is a class object is
/// meant itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Memory {
    /// The argument.
    pub argument: usize,
    /// True if all further arguments are meant as well: those of `printf`.
    pub rest: bool,
    /// True if the memory that the memory's own pointers lead to is meant as well.
    pub deep: bool,
    /// The argument with the number of elements; `None` for the whole object.
    pub count: Option<usize>,
    /// The argument with the number of bytes: `memset`. If it is the `sizeof` of the object, the
    /// whole object is meant.
    pub bytes: Option<usize>,
    /// True if a write replaces all that the memory held, so that nothing of it is seen afterwards.
    /// A string ends at its null character; what a buffer holds behind that does not count.
    pub whole: bool,
}

/// Memory whose address a prepared statement keeps.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Bound {
    /// The argument that leads to the memory.
    pub argument: usize,
    /// True if the argument leads to structures whose pointers lead to the memory: `MYSQL_BIND`.
    /// The call copies the structures themselves.
    pub through: bool,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct MemoryTable {
    argument: Option<usize>,
    rest: bool,
    deep: bool,
    count: Option<usize>,
    bytes: Option<usize>,
    whole: bool,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct BoundTable {
    argument: Option<usize>,
    through: bool,
}

/// A type of which a model may write the number of the argument alone.
trait OfArgument: Sized {
    type Table: for<'de> Deserialize<'de>;
    fn of_argument(argument: usize) -> Self;
    /// Returns `None` if the table names no argument.
    fn of_table(table: Self::Table) -> Option<Self>;
}

impl OfArgument for Memory {
    type Table = MemoryTable;

    fn of_argument(argument: usize) -> Memory {
        Memory { argument, ..Memory::default() }
    }

    fn of_table(table: MemoryTable) -> Option<Memory> {
        let MemoryTable { argument, rest, deep, count, bytes, whole } = table;
        Some(Memory { argument: argument?, rest, deep, count, bytes, whole })
    }
}

impl OfArgument for Bound {
    type Table = BoundTable;

    fn of_argument(argument: usize) -> Bound {
        Bound { argument, through: false }
    }

    fn of_table(BoundTable { argument, through }: BoundTable) -> Option<Bound> {
        Some(Bound { argument: argument?, through })
    }
}

struct ArgumentOrTable<T>(PhantomData<T>);

impl<'de, T: OfArgument> Visitor<'de> for ArgumentOrTable<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the number of an argument, counted from 0, or a table with `argument`")
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<T, E> {
        let unexpected = || E::invalid_value(de::Unexpected::Signed(number), &self);
        usize::try_from(number).map(T::of_argument).map_err(|_| unexpected())
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<T, E> {
        let unexpected = || E::invalid_value(de::Unexpected::Unsigned(number), &self);
        usize::try_from(number).map(T::of_argument).map_err(|_| unexpected())
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        let table = T::Table::deserialize(MapAccessDeserializer::new(map))?;
        T::of_table(table).ok_or_else(|| de::Error::missing_field("argument"))
    }
}

impl<'de> Deserialize<'de> for Memory {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Memory, D::Error> {
        deserializer.deserialize_any(ArgumentOrTable(PhantomData))
    }
}

impl<'de> Deserialize<'de> for Bound {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Bound, D::Error> {
        deserializer.deserialize_any(ArgumentOrTable(PhantomData))
    }
}
