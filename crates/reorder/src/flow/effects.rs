//! The types of the effects of a node: its reads and writes, and its calls of the database.

use std::ops::Range;

use super::place::Place;
use crate::{api::Call, ir::Expression};

/// The effects of a node.
#[derive(Clone, Debug, Default)]
pub struct Effects<'a> {
    /// The reads and writes, in the order of evaluation.
    pub accesses: Vec<Access<'a>>,
    /// The calls that run or prepare queries, or end the transaction.
    pub queries: Vec<QueryCall<'a>>,
    /// The reasons why nothing may move across the node; empty if something may.
    pub barriers: Vec<String>,
    /// Of each of these reasons that is a question whether a transaction is open, the objects of
    /// which one is the connection. Where control leaves the transaction, it is no such reason.
    pub asks_open: Vec<Vec<Place>>,
    /// The statements whose run it ends, so that they can run again.
    pub resets: Vec<Place>,
    /// True if it may write any memory that is not the function's own.
    pub writes_anything: bool,
    /// True if code that is not understood may ask there what earlier queries have left on the
    /// connection.
    pub asks_connection: bool,
    /// True if the node asks whether a query succeeded.
    pub status: bool,
    /// True if it reads more of a query's result than whether the query succeeded.
    pub result: bool,
    /// True if it calls a function with queries whose result may depend on what the function gets,
    /// otherwise than by the outcome of queries.
    pub tests_inputs: bool,
    /// True if it leaves rows of an earlier query on the way: `mysql_use_result`.
    pub streams: bool,
    /// True if each object that it makes is a result or a statement of a database interface.
    pub makes_result: bool,
    /// The memory and values that it binds to statements.
    pub bound: Vec<Bound<'a>>,
    /// The fetches of rows into bound memory.
    pub fetched: Vec<Fetch>,
}

impl Effects<'_> {
    /// Returns true if the node does nothing but to read and write places.
    pub(crate) fn has_only_accesses(&self) -> bool {
        self.queries.is_empty()
            && self.barriers.is_empty()
            && !self.binds_memory()
            && self.fetched.is_empty()
            && !self.status
            && !self.result
    }

    /// Returns true if the node binds memory to a statement, and not only values.
    pub(crate) fn binds_memory(&self) -> bool {
        self.bound.iter().any(|bound| !bound.memory.is_empty())
    }
}

/// Memory or values that are bound to a statement.
#[derive(Clone, PartialEq, Debug)]
pub struct Bound<'a> {
    /// The statements that may be meant.
    pub statements: Vec<Place>,
    /// The expression with the handle of the statement; `None` if it is a local variable of a
    /// called function.
    pub handle: Option<&'a Expression>,
    /// The memory; empty if a value is bound.
    pub memory: Vec<Place>,
    /// True if a fetch writes the memory, false if a query reads it.
    pub results: bool,
    /// The parameters or columns that are bound.
    pub part: BoundPart,
    /// True if it happens whenever the node is executed.
    pub certain: bool,
}

/// The parameters or columns of a statement that a call binds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BoundPart {
    /// All of them.
    All,
    /// One of them, by its number from 1; `None` if the number is not known.
    One(Option<u64>),
}

/// A fetch of a row into the memory that is bound to a statement.
#[derive(Clone, PartialEq, Debug)]
pub struct Fetch {
    /// The statement.
    pub statement: Place,
    /// The number of elements of [`Effects::bound`] that certainly come before.
    pub bound_before: usize,
    /// True if it stands in a called function that has bound all columns before.
    pub is_bound: bool,
}

/// A read or write of a place.
#[derive(Clone, PartialEq, Debug)]
pub struct Access<'a> {
    /// The place.
    pub place: Place,
    /// The kind of the access.
    pub kind: AccessKind,
    /// The value that a write stores, if it is the value of an expression.
    pub value: Option<&'a Expression>,
}

/// The kinds of an access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AccessKind {
    /// A read.
    Read,
    /// A write of the whole place, which happens whenever the node does.
    Write,
    /// A write of a part of the place, or one that may not happen.
    WeakWrite,
    /// The end of an object; a write of all of it.
    End,
}

/// A call that does something in the database.
#[derive(Clone, PartialEq, Debug)]
pub struct QueryCall<'a> {
    /// The call; it may stand in a function that the node calls.
    pub expression: &'a Expression,
    /// The model of the call.
    pub model: &'a Call,
    /// Where its SQL comes from.
    pub sql: Sql<'a>,
    /// The name of the statement that it prepares, or the place of its handle.
    pub name: Option<Sql<'a>>,
    /// The connection that it uses.
    pub connection: Connection<'a>,
    /// The prepared statements of which it may run one.
    pub statements: Vec<Place>,
    /// The number of elements of [`Effects::bound`] that certainly come before.
    pub bound_before: usize,
    /// True if it certainly runs whenever the node does.
    pub certain: bool,
    /// True if it stands in a called function that has bound all parameters before.
    pub is_bound: bool,
    /// The objects of which one is its connection.
    pub connections: Vec<Place>,
    /// The accesses of the call itself, without those of its arguments: their places in
    /// [`Effects::accesses`]. The others of the node may happen before the call.
    pub own: Range<usize>,
}

/// The connection of a query.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Connection<'a> {
    /// An argument of the call.
    Argument(&'a Expression),
    /// A parameter of the called function.
    Parameter(usize),
    /// A connection that the called function computes.
    Hidden,
    /// That of the statement: the call has no argument with the connection.
    None,
}

/// Where the SQL of a query comes from.
#[derive(Clone, PartialEq, Debug)]
pub enum Sql<'a> {
    /// An expression of the node.
    Expression(&'a Expression),
    /// A format as of `printf`, and its values.
    Format(&'a Expression, &'a [Expression]),
    /// The name or the handle of a statement that is prepared elsewhere.
    Statement(&'a Expression),
    /// A parameter of the called function.
    Parameter {
        /// Its number.
        number: usize,
        /// True if it names or holds a prepared statement.
        statement: bool,
    },
    /// One of these texts.
    Texts(Vec<String>),
    /// It is not known, for this reason.
    Missing(String),
}
