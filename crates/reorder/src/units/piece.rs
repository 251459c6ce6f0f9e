//! The statements of a transaction, each with its queries, its exits and its barriers.

use std::{collections::BTreeSet, fmt};

use super::{
    obstacle::{self, Names},
    only_ended::BehindExits,
    status::{Paths, checked_late_by_number},
};
use crate::{
    api::Role,
    flow::{
        Flow,
        access::QueryCall,
        connection,
        graph::{NodeIndex, NodeKind},
        place::Place,
        prepared,
    },
    ir::{Statement, StatementKind},
    schema::Schema,
    source::Range,
    sql::{self, Query, QueryKind},
    transaction::Transaction,
};

/// A statement of the transaction's list.
#[derive(Debug)]
pub struct Piece<'a> {
    /// The statement.
    pub statement: &'a Statement,
    /// Its range.
    pub range: Range,
    /// Its nodes.
    pub nodes: Vec<NodeIndex>,
    /// Those of its nodes behind which control always takes an exit.
    pub leaving: BTreeSet<NodeIndex>,
    /// The reads of these nodes that demand no order: of what they only end.
    pub(crate) only_ended: BTreeSet<(NodeIndex, Place)>,
    /// Its queries.
    pub queries: Vec<UnitQuery>,
    /// Its exits.
    pub exits: Vec<Exit>,
    /// The first nodes of the pieces whose queries have certainly succeeded behind it, though
    /// other queries stand between them and it.
    pub checks: Vec<NodeIndex>,
    /// The reasons why nothing may move across it; empty if something may.
    pub barriers: Vec<Barrier>,
    /// The reason why it may ask for what the queries before it have left on the connection, if
    /// code or SQL that is not understood may.
    pub asks: Option<Asks>,
}

/// The code or SQL that may ask for what earlier queries have left on the connection, with the
/// reason why it is not understood.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Asks {
    /// The code.
    Code(String),
    /// The SQL: what the server knows of the session.
    Sql(String),
}

/// A reason why nothing may move across a piece.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Barrier {
    /// It begins the transaction.
    Begins,
    /// It commits the transaction, or returns.
    Ends,
    /// It stands before the begin or behind the end.
    Outside,
    /// It runs a statement that ends the transaction, or may, though it is no `COMMIT`: with the
    /// SQL, and how it does.
    Commits(String, String),
    /// It may roll back, and then queries or the commit follow without a begin.
    RollsBack,
    /// Another reason.
    Because(String),
}

impl fmt::Display for Barrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Barrier::Begins => f.write_str("it begins the transaction"),
            Barrier::Ends => f.write_str("it ends the transaction"),
            Barrier::Outside => f.write_str("it stands outside of the transaction"),
            Barrier::Commits(text, how) => write!(f, "it runs `{text}`, which {how}"),
            Barrier::RollsBack => f.write_str("it rolls back, and the transaction goes on"),
            Barrier::Because(reason) => f.write_str(reason),
        }
    }
}

/// A query of a unit.
#[derive(Clone, PartialEq, Debug)]
pub struct UnitQuery {
    /// Where its call stands, if it stands in the file.
    pub range: Option<Range>,
    /// The SQL, with parameters for the values that the program puts into it.
    pub text: String,
    /// Its effects in the database.
    pub query: Query,
}

/// A way out of the transaction other than its end. It rolls back; an exit that does not is a
/// barrier.
#[derive(Clone, PartialEq, Debug)]
pub struct Exit {
    /// The node from which control leaves.
    pub node: NodeIndex,
    /// True if control leaves only because a query has failed, or because nothing could be bound to
    /// its statement, and not because of what it returned.
    pub on_failure: bool,
    /// The places that the code behind the exit reads before it writes them.
    pub reads: Vec<Place>,
}

/// Returns the pieces of a transaction.
pub(super) fn pieces<'a>(
    flow: &Flow<'a, '_>,
    transaction: &Transaction<'a>,
    schema: &Schema,
    text: &str,
    directives: &[Range],
) -> Vec<Piece<'a>> {
    let connection = connection(flow, transaction);
    let texts = texts(flow);
    let names = Names::of(&texts, flow.server());
    let elsewhere = elsewhere(flow, connection.as_ref());
    let maker = Maker { flow, transaction, schema, text, connection, elsewhere, names };
    let mut pieces: Vec<Piece<'a>> =
        transaction.statements.iter().map(|statement| maker.piece(statement)).collect();
    for index in 0..pieces.len() {
        maker.add_leaving(&mut pieces, index);
    }
    let behind = BehindExits::of(flow, going_on(&pieces));
    for index in 0..pieces.len() {
        maker.add_exits(&mut pieces, index, &behind);
    }
    pieces.iter_mut().for_each(|piece| maker.add_question(piece));
    maker.stop_at_rollbacks(&mut pieces);
    maker.stop_at_ends(&mut pieces);
    maker.stop_at_directives(&mut pieces, directives);
    for index in 0..pieces.len() {
        let late = checked_late_by_number(flow, &pieces, index).into_iter();
        pieces[index].checks = late.map(|query| pieces[query].nodes[0]).collect();
    }
    pieces
}

/// Returns the node that comes behind a piece, if control does not leave there.
fn next(pieces: &[Piece<'_>], index: usize) -> Option<NodeIndex> {
    pieces[index + 1..].iter().find_map(|piece| piece.nodes.first().copied())
}

/// Returns the nodes from the begin of the transaction to its end behind which it may go on.
fn going_on(pieces: &[Piece<'_>]) -> BTreeSet<NodeIndex> {
    let inside = pieces[span(pieces)].iter();
    let of_piece = |piece: &Piece<'_>| {
        let nodes = piece.nodes.iter().copied();
        nodes.filter(|node| !piece.leaving.contains(node)).collect::<Vec<_>>()
    };
    inside.flat_map(of_piece).collect()
}

/// Returns the pieces from the begin of the transaction to its end.
fn span(pieces: &[Piece<'_>]) -> std::ops::Range<usize> {
    let begin = pieces.iter().rposition(|piece| piece.barriers.contains(&Barrier::Begins));
    let over = |one: &Barrier| matches!(one, Barrier::Commits(..) | Barrier::RollsBack);
    let ends = |(at, piece): (usize, &Piece<'_>)| {
        // What stands before the begin ends what came before.
        piece.barriers.contains(&Barrier::Ends)
            || begin.is_none_or(|begin| begin < at) && piece.barriers.iter().any(over)
    };
    let end = pieces.iter().enumerate().position(ends).map_or(pieces.len(), |end| end + 1);
    begin.unwrap_or(0).min(end)..end
}

struct Maker<'m, 'a, 'p> {
    flow: &'m Flow<'a, 'p>,
    transaction: &'m Transaction<'a>,
    schema: &'m Schema,
    text: &'m str,
    /// The connection of the transaction, if it is known.
    connection: Option<Vec<String>>,
    /// The nodes that may roll back on another connection, or ask about one.
    elsewhere: BTreeSet<NodeIndex>,
    /// The facts about the names of tables in the function.
    names: Names,
}

/// Returns the SQL of all queries of a function, as far as it is known.
fn texts(flow: &Flow<'_, '_>) -> Vec<String> {
    let nodes = 0..flow.effects.len();
    let calls = nodes.flat_map(|node| flow.effects[node].queries.iter().map(move |q| (q, node)));
    calls.flat_map(|(call, node)| flow.sql_of(call, node).unwrap_or_default()).collect()
}

/// Returns the connection of the query that begins the transaction, which may stand before its
/// list of statements, or else of the first query.
fn connection(flow: &Flow<'_, '_>, transaction: &Transaction<'_>) -> Option<Vec<String>> {
    let queries_within = |range| {
        let nodes = flow.graph.within(range);
        nodes.flat_map(|node| flow.effects[node].queries.iter().map(move |query| (query, node)))
    };
    let begin_within = |range| {
        queries_within(range).find(|(query, node)| flow.role_of(query, *node) == Role::Begin)
    };
    let own = transaction.range;
    let begin = begin_within(own).or_else(|| begin_within(transaction.function.body.range));
    let (query, node) = begin.or_else(|| queries_within(own).next())?;
    flow.connection_of(query, node)
}

/// Returns the nodes that may roll back on another connection than the transaction's, or that may
/// ask there whether a transaction is open.
fn elsewhere(flow: &Flow<'_, '_>, connection: Option<&Vec<String>>) -> BTreeSet<NodeIndex> {
    let Some(connection) = connection else { return BTreeSet::new() };
    let rolls_back = |query: &QueryCall<'_>, node: NodeIndex| {
        flow.may_have_role(query, node, Role::Rollback)
            && flow.connection_of(query, node).is_some_and(|own| differs(&own, connection))
    };
    let is_elsewhere = |&node: &NodeIndex| {
        let effects = &flow.effects[node];
        let asked = |all: &Vec<Place>| differs(&connection::texts(all), connection);
        effects.queries.iter().any(|query| rolls_back(query, node))
            || effects.asks_open.iter().any(asked)
    };
    (0..flow.effects.len()).filter(is_elsewhere).collect()
}

/// Returns true if two connections have no text in common.
fn differs(one: &[String], other: &[String]) -> bool {
    !one.iter().any(|text| other.contains(text))
}

impl<'a> Maker<'_, 'a, '_> {
    fn piece(&self, statement: &'a Statement) -> Piece<'a> {
        let range = statement.range;
        let nodes: Vec<NodeIndex> = self.flow.graph.within(range).collect();
        let mut piece = Piece {
            statement,
            range,
            nodes,
            leaving: BTreeSet::new(),
            only_ended: BTreeSet::new(),
            queries: vec![],
            exits: vec![],
            checks: vec![],
            barriers: vec![],
            asks: None,
        };
        if !self.transaction.range.contains(range) {
            piece.barriers.push(Barrier::Outside);
            return piece;
        }
        if let StatementKind::Label(name, _) = &statement.kind {
            piece.barriers.push(Barrier::Because(format!("other statements jump to `{name}`")));
        }
        if let StatementKind::Return(_) = &statement.kind {
            piece.barriers.push(Barrier::Ends);
        }
        for &node in &piece.nodes {
            if !self.only_asks(node) {
                piece.barriers.extend(self.reasons(node));
            }
            for query in &self.flow.effects[node].queries {
                match self.queries(query, node) {
                    Ok(queries) => piece.queries.extend(queries),
                    Err(reason) => {
                        if !matches!(reason, Barrier::Begins | Barrier::Ends) {
                            piece.asks = Some(Asks::Sql(reason.to_string()));
                        }
                        piece.barriers.push(reason);
                    }
                }
            }
        }
        piece.barriers.dedup();
        piece
    }

    /// Returns the reasons why nothing may move across a node.
    fn reasons(&self, node: NodeIndex) -> impl Iterator<Item = Barrier> {
        self.flow.effects[node].barriers.iter().cloned().map(Barrier::Because)
    }

    /// Returns true if nothing may move across a node only because it asks whether a transaction is
    /// open.
    fn only_asks(&self, node: NodeIndex) -> bool {
        let effects = &self.flow.effects[node];
        !effects.asks_open.is_empty() && effects.asks_open.len() == effects.barriers.len()
    }

    /// Notes that code of a piece which is not understood may ask for what earlier queries have
    /// left. Behind a query of the piece that has failed, it finds what that one has left.
    fn add_question(&self, piece: &mut Piece<'a>) {
        let own: BTreeSet<NodeIndex> = piece.nodes.iter().copied().collect();
        let asks = |&&node: &&NodeIndex| {
            let effects = &self.flow.effects[node];
            effects.asks_connection && !self.follows_failure_only(node, &own, false)
        };
        let Some(&node) = piece.nodes.iter().find(asks) else { return };
        let reason = self.flow.effects[node].barriers.first().cloned().unwrap_or_default();
        piece.asks = Some(Asks::Code(reason));
    }

    /// Analyses the query of a call, for each text that it may run; none if it only prepares one.
    fn queries(&self, call: &QueryCall<'a>, node: NodeIndex) -> Result<Vec<UnitQuery>, Barrier> {
        if self.flow.may_have_role(call, node, Role::Commit) {
            return Err(Barrier::Ends);
        }
        match self.flow.role_of(call, node) {
            Role::Prepare if prepared::is_unnamed(self.flow, call, node) => {
                return Err(Barrier::Because(prepared::UNNAMED.to_owned()));
            }
            Role::Prepare => return Ok(Vec::new()),
            Role::Begin => return Err(Barrier::Begins),
            // A rollback belongs to an exit.
            Role::Rollback => return Ok(Vec::new()),
            _ => {}
        }
        let connection = self.flow.connection_of(call, node);
        if let (Some(one), Some(other)) = (&connection, &self.connection)
            && differs(one, other)
        {
            let reason = "it may use another connection than the transaction".to_string();
            return Err(Barrier::Because(reason));
        }
        let texts = self.flow.sql_of(call, node).map_err(Barrier::Because)?;
        let queries = texts.into_iter().map(|text| self.query(call, text));
        let (queries, mut barriers): (Vec<_>, Vec<_>) = queries.partition(Result::is_ok);
        // That a text may commit says more than what another text is.
        let commits = |one: &Result<_, _>| matches!(one, Err(Barrier::Commits(..)));
        let at = barriers.iter().position(commits).unwrap_or(0);
        if !barriers.is_empty() {
            return barriers.swap_remove(at).map(|query| vec![query]);
        }
        queries.into_iter().collect()
    }

    fn query(&self, call: &QueryCall<'a>, text: String) -> Result<UnitQuery, Barrier> {
        let because = |reason: &str| Barrier::Because(reason.to_string());
        let server = self.flow.server();
        let server = server.ok_or_else(|| because("no model says which server it uses"))?;
        let query = sql::analyze(&text, server, self.schema)
            .map_err(|bad| because(&format!("`{}`: {bad}", shortened(&text))))?;
        if !matches!(query.kind, QueryKind::Read | QueryKind::Write) {
            if let Some(how) = sql::commits(&text, server, self.schema) {
                return Err(Barrier::Commits(shortened(&text), how));
            }
            return Err(because(&format!("it runs `{}`", shortened(&text))));
        }
        if let Some(reason) = obstacle::of(&query, self.schema, &self.names) {
            return Err(Barrier::Because(reason));
        }
        Ok(UnitQuery { range: call.expression.range, text, query })
    }

    /// Finds the nodes of a piece behind which control always takes an exit; of a barrier as well:
    /// what it writes before it leaves no later piece sees.
    fn add_leaving(&self, pieces: &mut [Piece<'a>], index: usize) {
        let own: BTreeSet<NodeIndex> = pieces[index].nodes.iter().copied().collect();
        if let Some(next) = next(pieces, index) {
            let leaves = |node: &NodeIndex| !self.continues(*node, next, &own);
            pieces[index].leaving = own.iter().copied().filter(leaves).collect();
        }
    }

    /// Finds the ways out of the transaction that begin in a piece.
    fn add_exits(&self, pieces: &mut [Piece<'a>], index: usize, behind: &BehindExits<'_, 'a, '_>) {
        let graph = &self.flow.graph;
        let own: BTreeSet<NodeIndex> = pieces[index].nodes.iter().copied().collect();
        let next = next(pieces, index);
        pieces[index].only_ended = behind.only_ended(&pieces[index]);
        let asking = own.iter().copied().filter(|&node| self.only_asks(node));
        let asking: Vec<NodeIndex> =
            asking.filter(|node| !pieces[index].leaving.contains(node)).collect();
        pieces[index].barriers.extend(asking.into_iter().flat_map(|node| self.reasons(node)));
        if !pieces[index].barriers.is_empty() {
            pieces[index].exits = self.exits_of_barrier(&own, next, behind);
            return;
        }
        let (mut exits, mut barriers) = (Vec::new(), Vec::new());
        let paths = Paths::through(self.flow, pieces, index);
        let late = Paths::of_late_checks(self.flow, pieces, index);
        for &node in &own {
            let because = |reason: &str| {
                let line = graph.nodes[node].range.line(self.text);
                Barrier::Because(format!("line {line}: {reason}"))
            };
            let leaves: Vec<NodeIndex> = match graph.nodes[node].kind {
                NodeKind::Return(_) | NodeKind::Throw(_) => vec![node],
                _ => graph.nodes[node].successors.clone(),
            };
            for target in leaves {
                let is_return = target == node;
                let throws = matches!(graph.nodes[node].kind, NodeKind::Throw(_));
                if !is_return && (own.contains(&target) || Some(target) == next) {
                    continue;
                }
                let is_inside = !is_return && self.is_inside(pieces, target);
                let may_leave = !is_inside || self.ends_there(pieces, target);
                if may_leave && self.rolls_back(target, is_return, node, &own, &paths) {
                    let reads = if is_return { vec![] } else { behind.reads(node, target) };
                    let on_failure = self.follows_failure_only(node, &own, true)
                        || paths.leave_on_failure(node, target)
                        || late.iter().any(|paths| paths.leave_on_failure(node, target));
                    exits.push(Exit { node, on_failure, reads });
                } else if is_inside {
                    barriers.push(because("it jumps within the transaction"));
                } else if throws {
                    barriers.push(because("whether `throw` rolls back is not known"));
                } else if !is_return && next.is_none() {
                    barriers.push(Barrier::Ends);
                } else {
                    let hint = self.flow.rolled_back_elsewhere();
                    barriers.push(because(&format!("it leaves without a rollback{hint}")));
                }
            }
        }
        if !barriers.is_empty() {
            exits = self.exits_of_barrier(&own, next, behind);
        }
        pieces[index].exits = exits;
        pieces[index].barriers.extend(barriers);
    }

    /// Returns the ways out of a barrier. Nothing moves across it, but what the code behind an exit
    /// reads must have its value there: the exit of a commit that fails, for example.
    fn exits_of_barrier(
        &self,
        own: &BTreeSet<NodeIndex>,
        next: Option<NodeIndex>,
        behind: &BehindExits<'_, 'a, '_>,
    ) -> Vec<Exit> {
        let mut exits = Vec::new();
        for &node in own {
            let targets = self.flow.graph.nodes[node].successors.iter();
            for &target in targets.filter(|target| !own.contains(target) && Some(**target) != next)
            {
                let reads = behind.reads(node, target);
                exits.push(Exit { node, on_failure: false, reads });
            }
        }
        exits
    }

    /// Returns true if a path leads from a node of a piece to the next piece.
    fn continues(&self, node: NodeIndex, next: NodeIndex, own: &BTreeSet<NodeIndex>) -> bool {
        let (mut open, mut seen) = (vec![node], BTreeSet::new());
        while let Some(node) = open.pop() {
            if node == next {
                return true;
            }
            if own.contains(&node) && seen.insert(node) {
                open.extend(&self.flow.graph.nodes[node].successors);
            }
        }
        false
    }

    /// Makes barriers of the pieces with a rollback behind which the transaction goes on: a query
    /// or the commit may come without a begin in between.
    fn stop_at_rollbacks(&self, pieces: &mut [Piece<'a>]) {
        let nodes = &self.flow.graph.nodes;
        let is_inside = |node: NodeIndex| self.transaction.range.contains(nodes[node].range);
        for piece in pieces {
            if self.flow.goes_on_behind_rollback(&piece.nodes, &is_inside) {
                piece.barriers.push(Barrier::RollsBack);
            }
        }
    }

    /// Returns true if a node belongs to a piece that control reaches from the piece before.
    fn is_inside(&self, pieces: &[Piece<'a>], node: NodeIndex) -> bool {
        let Some(at) = pieces.iter().position(|piece| piece.nodes.contains(&node)) else {
            return false;
        };
        !pieces[..at].iter().any(|piece| piece.barriers.contains(&Barrier::Ends))
    }

    /// Returns true if control goes from a node of a piece to the end of the transaction, without
    /// another query: to a statement that commits or rolls back as the path decides.
    fn ends_there(&self, pieces: &[Piece<'a>], node: NodeIndex) -> bool {
        let Some(at) = pieces.iter().position(|piece| piece.nodes.contains(&node)) else {
            return false;
        };
        let ends = |piece: &Piece<'a>| piece.barriers.contains(&Barrier::Ends);
        let Some(end) = pieces[at..].iter().position(ends) else { return false };
        let is_silent = |&node: &NodeIndex| {
            let effects = &self.flow.effects[node];
            effects.queries.is_empty() && effects.barriers.is_empty()
        };
        let behind = self.flow.graph.reachable(node);
        pieces[at..at + end].iter().flat_map(|piece| &piece.nodes).all(is_silent)
            && !pieces[..at].iter().flat_map(|piece| &piece.nodes).any(|&node| behind[node])
    }

    /// Returns true if every path from an exit passes a rollback, or if the server has rolled back
    /// because a query has failed.
    fn rolls_back(
        &self,
        target: NodeIndex,
        is_return: bool,
        from: NodeIndex,
        own: &BTreeSet<NodeIndex>,
        paths: &Paths<'_, 'a, '_>,
    ) -> bool {
        let fails =
            || self.follows_failure_only(from, own, false) || paths.leave_on_failure(from, target);
        if self.flow.failure_aborts() && fails() {
            return true;
        }
        let graph = &self.flow.graph;
        let behind = graph.reachable(target);
        if self.elsewhere.iter().any(|one| own.contains(one) || *one == target || behind[*one]) {
            return false;
        }
        if paths.leave_undone(from, target) {
            return true;
        }
        let is_rollback = |node: NodeIndex| self.flow.surely_rolls_back(node);
        // The rollback may stand in the same statement, before the `return`.
        let before_return = |from: NodeIndex| {
            is_rollback(from)
                || own
                    .iter()
                    .any(|&node| is_rollback(node) && node < from && graph.reachable(node)[from])
                    && self.passes_rollback(own, from, &is_rollback)
        };
        if is_return || own.iter().any(|&node| is_rollback(node)) {
            return before_return(from);
        }
        paths.pass_rollback(from, target, &is_rollback)
    }

    /// Returns true if every path from the begin of a piece to a node passes a rollback.
    fn passes_rollback(
        &self,
        own: &BTreeSet<NodeIndex>,
        to: NodeIndex,
        is_rollback: &dyn Fn(NodeIndex) -> bool,
    ) -> bool {
        let Some(&first) = own.first() else { return false };
        let (mut open, mut seen) = (vec![first], BTreeSet::new());
        while let Some(node) = open.pop() {
            if !own.contains(&node) || is_rollback(node) || !seen.insert(node) {
                continue;
            }
            if node == to {
                return false;
            }
            open.extend(&self.flow.graph.nodes[node].successors);
        }
        true
    }

    /// Returns true if control takes an exit only because a query has failed, or, if `binds`,
    /// because memory could not be bound to its statement: each condition on the last way to it
    /// shows that.
    fn follows_failure_only(
        &self,
        exit: NodeIndex,
        own: &BTreeSet<NodeIndex>,
        binds: bool,
    ) -> bool {
        let graph = &self.flow.graph;
        let (mut open, mut seen) = (vec![exit], BTreeSet::new());
        while let Some(node) = open.pop() {
            if let NodeKind::Outcome { condition, holds, .. } = graph.nodes[node].kind {
                let NodeKind::Evaluate(condition) = graph.nodes[condition].kind else {
                    return false;
                };
                let fails = self.flow.fails(condition, holds)
                    || binds && self.flow.fails_to_bind(condition, holds);
                if !fails {
                    return false;
                }
                continue;
            }
            if !seen.insert(node) {
                continue;
            }
            let before: Vec<NodeIndex> = own
                .iter()
                .copied()
                .filter(|&one| graph.nodes[one].successors.contains(&node))
                .collect();
            // It depends on no condition of the piece, or on one of a loop or a `switch`.
            if before.is_empty() || before.iter().any(|&one| graph.nodes[one].successors.len() > 1)
            {
                return false;
            }
            open.extend(before);
        }
        true
    }

    /// Makes barriers of all pieces before the begin of the transaction and behind its end: each
    /// query that stands there commits by itself, or may.
    fn stop_at_ends(&self, pieces: &mut [Piece<'a>]) {
        let std::ops::Range { start, end } = span(pieces);
        let (before, rest) = pieces.split_at_mut(start);
        let behind = &mut rest[end - start..];
        for piece in before.iter_mut().chain(behind) {
            piece.barriers.push(Barrier::Outside);
        }
    }

    /// Makes a barrier of each piece that a preprocessor directive stands in or before.
    fn stop_at_directives(&self, pieces: &mut [Piece<'a>], directives: &[Range]) {
        for index in 0..pieces.len() {
            let from = if index == 0 { pieces[0].range.start } else { pieces[index - 1].range.end };
            let range = Range::new(from, pieces[index].range.end.max(from));
            if let Some(directive) = directives.iter().find(|one| range.contains(**one)) {
                let line = directive.line(self.text);
                let reason = format!("line {line}: a preprocessor directive stands there");
                pieces[index].barriers.push(Barrier::Because(reason));
            }
        }
    }
}

fn shortened(text: &str) -> String {
    let text: Vec<&str> = text.split_whitespace().collect();
    let text = text.join(" ");
    match text.char_indices().nth(60) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}
