//! Queries that read: `SELECT`, `VALUES`, set operations, common table expressions.

mod check;
mod finish;
mod join;
mod lock;

use std::collections::{BTreeMap, BTreeSet};

use sqlparser::{
    ast::{
        ObjectName, Query as Tree, Select, SelectItem, SetExpr, Spanned, Statement, TableAlias,
        TableFactor, TableWithJoins,
    },
    parser::{Parser, ParserError},
    tokenizer::{Location, Token, TokenWithSpan},
};

pub(super) use self::lock::Locking;
use super::{
    BadQuery, Columns, Held, Query, failing, names,
    rewrite::{Rewritten, rewrite},
    scope::{Relation, Scope},
    text::{bad_at, dialect},
};
use crate::{api::Server, schema::Schema};

/// The depth of parentheses and queries above which a text is refused.
const DEPTH: usize = 60;

/// The facts about a statement while it is analysed.
pub(super) struct Analysis<'s> {
    pub(super) server: Server,
    pub(super) schema: &'s Schema,
    /// The effects that were found so far.
    pub(super) query: Query,
    /// True if the statement does something that the result cannot express.
    pub(super) other: bool,
    /// True if a unique key may make the server skip a row.
    pub(super) ignore: bool,
    /// True if the server chooses automatic numbers instead of the given ones.
    pub(super) overriding_user: bool,
    /// The names that are no tables: common table expressions and aliases.
    pub(super) defined: BTreeSet<String>,
    /// True if a locking clause is `FOR KEY SHARE`.
    key_share: bool,
    /// True while only what the results have is walked through.
    pub(super) in_results: bool,
    /// The places of each table whose rows are locked, by number, and the weakest of their locks.
    held: BTreeMap<String, (usize, Held)>,
    /// The table whose rows are chosen by equalities alone, and the number of those.
    pub(super) sure: Option<(String, usize)>,
}

/// Returns what a statement does; `None` if it may do anything.
pub(super) fn analyze(
    tokens: Vec<TokenWithSpan>,
    server: Server,
    schema: &Schema,
) -> Result<Option<Query>, BadQuery> {
    let Rewritten { tokens, locks, key_share, ignore, overriding_user } = rewrite(tokens, server);
    let statement = parse(tokens.clone(), server)?;
    let mut analysis = Analysis {
        server,
        schema,
        query: Query::default(),
        other: false,
        ignore,
        overriding_user,
        defined: BTreeSet::new(),
        key_share,
        in_results: false,
        held: BTreeMap::new(),
        sure: None,
    };
    let scope = Scope::default();
    match &statement {
        Statement::Query(query) => {
            analysis.query.returns_rows = returns_rows(&query.body);
            analysis.query(query, None, None)?;
        }
        statement => {
            analysis.query.returns_rows = is_returning(statement);
            analysis.change(statement, &scope)?;
        }
    }
    analysis.check(&statement, &tokens, locks)?;
    let query = analysis.finish(&tokens);
    Ok(query.map(|query| {
        let fails = failing::find(&statement, server, schema, &query);
        Query { fails, ..query }
    }))
}

/// Parses the tokens of one statement.
fn parse(tokens: Vec<TokenWithSpan>, server: Server) -> Result<Statement, BadQuery> {
    let dialect = dialect(server);
    let mut parser =
        Parser::new(&*dialect).with_recursion_limit(DEPTH).with_tokens_with_locations(tokens);
    let statement = parser.parse_statement().map_err(|error| bad_syntax(&error))?;
    let next = parser.next_token();
    match next.token {
        Token::EOF => Ok(statement),
        token => {
            let message = format!("`{token}` is not understood here: write the query without it");
            Err(bad_at(next.span.start, message))
        }
    }
}

/// Returns the parser's error with its place, which the parser writes behind the message.
fn bad_syntax(error: &ParserError) -> BadQuery {
    let text = match error {
        ParserError::TokenizerError(text) | ParserError::ParserError(text) => text.as_str(),
        ParserError::RecursionLimitExceeded => {
            let message = format!("the query is nested more than {DEPTH} deep: write it flatter");
            return BadQuery { line: 0, column: 0, message };
        }
    };
    let place = text.rsplit_once(" at Line: ").and_then(|(message, place)| {
        let (line, column) = place.split_once(", Column: ")?;
        Some((message, line.parse().ok()?, column.parse().ok()?))
    });
    let (message, line, column) = place.unwrap_or((text, 0, 0));
    let message = format!("{message}: correct the SQL, or write it in a plainer form");
    BadQuery { line, column, message }
}

impl Analysis<'_> {
    /// Returns the parts of a name.
    pub(super) fn parts(&self, name: &ObjectName) -> Result<Vec<String>, BadQuery> {
        let place = name.span().start;
        names::parts(name, self.server).ok_or_else(|| {
            bad_at(place, format!("`{name}` is not understood as a name: write it plainly"))
        })
    }

    /// Returns an error about a part that the tool does not understand.
    pub(super) fn unsupported(&self, at: Location, what: &str) -> BadQuery {
        let message = format!("{what} is not understood: it is not clear which tables are used");
        bad_at(at, format!("{message}; write the query in a plainer form"))
    }

    /// Returns the name of a table in the schema.
    pub(super) fn table_name(&self, name: &ObjectName) -> Result<String, BadQuery> {
        let parts = self.parts(name)?;
        self.schema.name_of(&parts).map_err(|message| bad_at(name.span().start, message))
    }

    /// Analyses a query. `locked` says how a locking clause around it also
    /// locks what it reads.
    pub(super) fn query(
        &mut self,
        query: &Tree,
        outer: Option<&Scope<'_>>,
        locked: Option<Locking>,
    ) -> Result<(), BadQuery> {
        if !query.pipe_operators.is_empty() {
            return Err(self.unsupported(query.span().start, "`|>`"));
        }
        let mut scope = Scope::within(outer);
        if let Some(with) = &query.with {
            let name = |ident| names::identifier(ident, self.server);
            let all: Vec<String> =
                with.cte_tables.iter().map(|one| name(&one.alias.name)).collect();
            self.defined.extend(all.iter().cloned());
            if with.recursive {
                scope.expressions.extend(all.iter().cloned());
            }
            for (one, name) in with.cte_tables.iter().zip(all) {
                self.query(&one.query, Some(&scope), None)?;
                scope.expressions.insert(name);
            }
        }
        self.body(&query.body, &scope, Some(query), locked)
    }

    /// Analyses the body of a query. `of` is the query if its other clauses see the body's tables.
    fn body(
        &mut self,
        body: &SetExpr,
        scope: &Scope<'_>,
        of: Option<&Tree>,
        locked: Option<Locking>,
    ) -> Result<(), BadQuery> {
        if let SetExpr::Select(select) = body {
            return self.select(select, scope, of, locked);
        }
        let is_locked = locked.is_some() || of.is_some_and(|query| !query.locks.is_empty());
        let locked = is_locked.then(Locking::default);
        match body {
            SetExpr::Select(_) => {}
            SetExpr::Query(query) => self.query(query, Some(scope), locked)?,
            SetExpr::SetOperation { left, right, .. } => {
                self.body(left, scope, None, locked)?;
                self.body(right, scope, None, locked)?;
            }
            SetExpr::Values(values) => self.walk(values, scope, locked)?,
            SetExpr::Insert(change) | SetExpr::Update(change) | SetExpr::Delete(change) => {
                self.change(change, scope)?;
            }
            SetExpr::Merge(statement) => {
                return Err(self.unsupported(statement.span().start, "`MERGE` within a query"));
            }
            SetExpr::Table(_) => {
                return Err(self.unsupported(body.span().start, "`TABLE` within a query"));
            }
        }
        let mut results = Scope::within(Some(scope));
        results.relations.push(Relation::derived(None));
        of.map_or(Ok(()), |query| self.other_clauses(query, &results))
    }

    /// Analyses the clauses behind the body of a query.
    fn other_clauses(&mut self, query: &Tree, scope: &Scope<'_>) -> Result<(), BadQuery> {
        self.walk(&query.order_by, scope, None)?;
        self.walk(&query.limit_clause, scope, None)?;
        self.walk(&query.fetch, scope, None)?;
        self.walk(&query.settings, scope, None)
    }

    /// Records what a `SELECT` reads beside its results. (Not by a clone without them: for long
    /// expressions, its recursion would overflow the stack.)
    fn beside_results(
        &mut self,
        select: &Select,
        scope: &Scope<'_>,
        locked: Option<Locking>,
    ) -> Result<(), BadQuery> {
        let Select { distinct, top, exclude, into, from, lateral_views, prewhere, .. } = select;
        let Select { selection, connect_by, group_by, cluster_by, distribute_by, .. } = select;
        let Select { sort_by, having, named_window, qualify, .. } = select;
        self.walk(distinct, scope, locked)?;
        self.walk(top, scope, locked)?;
        self.walk(exclude, scope, locked)?;
        self.walk(into, scope, locked)?;
        self.walk(from, scope, locked)?;
        self.walk(lateral_views, scope, locked)?;
        self.walk(prewhere, scope, locked)?;
        self.walk(selection, scope, locked)?;
        self.walk(connect_by, scope, locked)?;
        self.walk(group_by, scope, locked)?;
        self.walk(cluster_by, scope, locked)?;
        self.walk(distribute_by, scope, locked)?;
        self.walk(sort_by, scope, locked)?;
        self.walk(having, scope, locked)?;
        self.walk(named_window, scope, locked)?;
        self.walk(qualify, scope, locked)
    }

    /// Analyses a `SELECT`.
    fn select(
        &mut self,
        select: &Select,
        outer: &Scope<'_>,
        of: Option<&Tree>,
        locked: Option<Locking>,
    ) -> Result<(), BadQuery> {
        let clauses = of.map_or(&[][..], |query| &query.locks);
        self.other |= select.into.is_some();
        let mut scope = Scope::within(Some(outer));
        for item in &select.projection {
            if let SelectItem::ExprWithAlias { alias, .. } = item {
                scope.outputs.insert(names::identifier(alias, self.server));
            }
        }
        self.from(&select.from, &mut scope)?;
        // The results of a query within another may decide what that one finds, and those of one
        // with a limit by which it orders its rows.
        let limits = of.is_some_and(|query| query.limit_clause.is_some() || query.fetch.is_some());
        let around = std::mem::replace(&mut self.in_results, in_top_query(outer) && !limits);
        self.wildcards(&select.projection, &scope)?;
        self.walk(&select.projection, &scope, None)?;
        self.in_results = false;
        self.beside_results(select, &scope, self.locked_within(clauses, locked))?;
        self.joins(&select.from, &scope)?;
        let count = select.selection.as_ref().and_then(|one| self.require(one, &scope));
        if in_top_query(outer) && of.is_some() && !limits && is_one_table(&select.from) {
            self.sure = scope.tables().next().map(str::to_owned).zip(count);
        }
        self.require_joins(&select.from, &scope);
        if locked.is_some() || !clauses.is_empty() {
            self.lock(clauses, locked, &scope)?;
        }
        of.map_or(Ok(()), |query| self.other_clauses(query, &scope))?;
        self.in_results = around;
        Ok(())
    }

    /// Adds the relations of a `FROM` to a scope.
    pub(super) fn from(
        &mut self,
        from: &[TableWithJoins],
        scope: &mut Scope<'_>,
    ) -> Result<(), BadQuery> {
        for TableWithJoins { relation, joins } in from {
            self.factor(relation, scope)?;
            for join in joins {
                self.factor(&join.relation, scope)?;
            }
        }
        Ok(())
    }

    /// Adds the relations of one item of a `FROM` to a scope.
    fn factor(&mut self, factor: &TableFactor, scope: &mut Scope<'_>) -> Result<(), BadQuery> {
        let (alias, relation) = match factor {
            TableFactor::Table { name, alias, args: None, sample, .. } => {
                if sample.is_some() {
                    self.query.functions.insert("random".to_owned());
                }
                let table = self.named_relation(name, scope)?;
                // The sample depends on where the server keeps the rows, which each update changes.
                if let (Some(_), Some(table)) = (sample, &table) {
                    self.query.tables.entry(table.clone()).or_default().reads = Columns::All;
                }
                (alias, Relation { table, ..Relation::derived(self.parts(name)?.pop()) })
            }
            TableFactor::Table { name, alias, args: Some(_), .. }
            | TableFactor::Function { name, alias, .. } => {
                let parts = self.parts(name)?;
                self.query.functions.insert(names::function(&parts));
                (alias, Relation::derived(parts.last().cloned()))
            }
            TableFactor::Derived { alias, .. }
            | TableFactor::TableFunction { alias, .. }
            | TableFactor::UNNEST { alias, .. }
            | TableFactor::JsonTable { alias, .. }
            | TableFactor::XmlTable { alias, .. } => (alias, Relation::derived(None)),
            TableFactor::NestedJoin { table_with_joins, alias } => {
                let first = scope.relations.len();
                self.from(std::slice::from_ref(&**table_with_joins), scope)?;
                if alias.is_some() {
                    let tables = scope.relations[first..].iter();
                    self.read(tables.filter_map(|one| Some((one.table.clone()?, None))).collect());
                }
                (alias, Relation::derived(None))
            }
            other => return Err(self.unsupported(other.span().start, "this item of `FROM`")),
        };
        scope.relations.push(self.renamed(relation, alias.as_ref()));
        Ok(())
    }

    /// Returns a relation with the names that its alias gives.
    fn renamed(&mut self, mut relation: Relation, alias: Option<&TableAlias>) -> Relation {
        if let Some(alias) = alias {
            let name = names::identifier(&alias.name, self.server);
            self.defined.insert(name.clone());
            relation.alias = Some(name);
            relation.renames = !alias.columns.is_empty();
        }
        relation
    }

    /// Returns the table that a name in a `FROM` means, and records that the query reads it; `None`
    /// if the name is that of a common table expression.
    fn named_relation(
        &mut self,
        name: &ObjectName,
        scope: &Scope<'_>,
    ) -> Result<Option<String>, BadQuery> {
        let parts = self.parts(name)?;
        if let [one] = &parts[..]
            && scope.is_expression(one)
        {
            return Ok(None);
        }
        let table = self.table_name(name)?;
        if self.server == Server::Mysql && table == "dual" {
            self.defined.insert(table);
            return Ok(None);
        }
        self.query.tables.entry(table.clone()).or_default().occurrences += 1;
        Ok(Some(table))
    }
}

/// Returns true if a scope is around the statement itself, and not around a query within another.
fn in_top_query(outer: &Scope<'_>) -> bool {
    outer.outer.is_none() && outer.relations.is_empty()
}

/// Returns true if a `FROM` has one table, all of whose rows the query may find.
pub(super) fn is_one_table(from: &[TableWithJoins]) -> bool {
    let [TableWithJoins { relation, joins }] = from else { return false };
    let whole = |factor: &TableFactor| match factor {
        TableFactor::Table { args: None, sample: None, partitions, version: None, .. } => {
            partitions.is_empty()
        }
        _ => false,
    };
    joins.is_empty() && whole(relation)
}

/// Returns true if a statement has a `RETURNING`.
fn is_returning(statement: &Statement) -> bool {
    match statement {
        Statement::Insert(insert) => insert.returning.is_some(),
        Statement::Update(update) => update.returning.is_some(),
        Statement::Delete(delete) => delete.returning.is_some(),
        _ => true,
    }
}

/// Returns true if the program gets rows of a query with this body.
fn returns_rows(body: &SetExpr) -> bool {
    match body {
        SetExpr::Insert(change) | SetExpr::Update(change) | SetExpr::Delete(change) => {
            is_returning(change)
        }
        _ => true,
    }
}
