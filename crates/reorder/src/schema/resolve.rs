//! Builds the schema from statements, and resolves what refers to later ones.

use std::collections::{BTreeMap, BTreeSet};

use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::{
    BadSchema, Event, Rule, Schema, Table, Tables, Trigger, View,
    cursor::Cursor,
    routine::{Body, Effects, Names, Routine, calls_of_default},
    skipped,
    split::Statement,
    table::{Message, not_understood, number_rows},
};
use crate::{api::Server, sql::text::is_word};

/// The kinds of objects, by the word behind `CREATE` and its modifiers.
const KINDS: &[&str] = &[
    "TABLE",
    "VIEW",
    "INDEX",
    "TRIGGER",
    "FUNCTION",
    "PROCEDURE",
    "RULE",
    "SEQUENCE",
    "TYPE",
    "DOMAIN",
    "SCHEMA",
    "DATABASE",
    "EXTENSION",
    "ROLE",
    "USER",
    "EVENT",
    "POLICY",
    "OPERATOR",
    "AGGREGATE",
    "CAST",
    "SERVER",
    "PUBLICATION",
    "SUBSCRIPTION",
    "LANGUAGE",
    "COLLATION",
    "CONVERSION",
    "TRANSFORM",
    "STATISTICS",
    "ACCESS",
    "WRAPPER",
    "TEXT",
    "TABLESPACE",
    "GROUP",
    "PACKAGE",
    "RESOURCE",
];

/// A schema that is being built.
pub(super) struct Builder {
    pub(super) server: Server,
    pub(super) schema: Schema,
    /// The prefix of names without one: of the last `USE` or `SET search_path`.
    prefix: Option<String>,
    /// The functions, each by its name with prefix, if it has one, and by the name without.
    pub(super) functions: Vec<(BTreeSet<String>, Routine)>,
    pub(super) triggers: Vec<DraftTrigger>,
    pub(super) rules: Vec<(Rule, Vec<TokenWithSpan>)>,
    pub(super) views: BTreeMap<String, DraftView>,
    /// The names of all tables and views of the file.
    pub(super) names: BTreeSet<String>,
    /// The names in the definition of each type.
    pub(super) types: BTreeMap<String, BTreeSet<String>>,
    /// The names in the body of each function.
    pub(super) direct: BTreeMap<String, Names>,
    /// The bodies that triggers and rules run.
    pub(super) fired: Vec<Fired>,
}

/// The body that a trigger or a rule of a table runs.
pub(super) struct Fired {
    pub(super) table: String,
    /// True if it may run for a query that only reads.
    pub(super) by_read: bool,
    pub(super) names: Names,
}

/// A trigger before the functions are known.
pub(super) struct DraftTrigger {
    pub(super) name: String,
    pub(super) table: String,
    pub(super) events: BTreeSet<Event>,
    /// True if it runs after the event, and so cannot change the row.
    pub(super) after: bool,
    pub(super) body: Body,
}

/// A view before the other tables are known.
pub(super) struct DraftView {
    pub(super) query: Vec<TokenWithSpan>,
    pub(super) materialized: bool,
}

/// Builds the schema.
pub(super) fn build(statements: &[Statement], server: Server) -> Result<Schema, BadSchema> {
    let mut builder = Builder {
        server,
        schema: Schema { server: Some(server), ..Schema::default() },
        prefix: None,
        functions: Vec::new(),
        triggers: Vec::new(),
        rules: Vec::new(),
        views: BTreeMap::new(),
        names: BTreeSet::new(),
        types: BTreeMap::new(),
        direct: BTreeMap::new(),
        fired: Vec::new(),
    };
    for statement in statements {
        builder.collect_prefix(&statement.tokens);
    }
    builder.prefix = None;
    for statement in statements {
        builder.collect_name(&statement.tokens);
    }
    builder.prefix = None;
    for statement in statements {
        builder.statement(&statement.tokens).map_err(|message| statement.bad(message))?;
    }
    Ok(builder.finish())
}

/// The place behind `CREATE …`, and the kind of the object.
struct Created<'a> {
    part: Cursor<'a>,
    kind: &'static str,
    /// The words between `CREATE` and the kind, in upper case.
    modifiers: Vec<String>,
}

impl Builder {
    /// Returns what a `CREATE` creates.
    fn created<'a>(&self, tokens: &'a [TokenWithSpan]) -> Option<Created<'a>> {
        let mut part = Cursor::new(tokens, self.server);
        part.eat(&["CREATE"]).then_some(())?;
        let mut modifiers = Vec::new();
        while !part.is_end() && modifiers.len() < 30 {
            let word = part.keyword();
            part.at += 1;
            if let Some(&kind) = KINDS.iter().find(|kind| **kind == word) {
                return Some(Created { part, kind, modifiers });
            }
            modifiers.push(word);
        }
        None
    }

    /// Returns the parts of the name of a table or view that a statement creates.
    fn created_name(&self, tokens: &[TokenWithSpan]) -> Option<Vec<String>> {
        let Created { mut part, kind: "TABLE" | "VIEW", .. } = self.created(tokens)? else {
            return None;
        };
        part.eat(&["IF", "NOT", "EXISTS"]);
        part.parts()
    }

    /// Records the name of a table or view that a statement creates.
    fn collect_name(&mut self, tokens: &[TokenWithSpan]) {
        self.follow_prefix(tokens);
        let Some(parts) = self.created_name(tokens) else { return };
        self.names.extend(self.schema.name_of(&self.with_prefix(parts)));
    }

    /// Records the prefix under which a name of a table or view occurs.
    fn collect_prefix(&mut self, tokens: &[TokenWithSpan]) {
        self.follow_prefix(tokens);
        let Some(mut parts) = self.created_name(tokens) else { return };
        let Some(name) = parts.pop() else { return };
        let prefix = parts.pop().or_else(|| self.prefix.clone());
        self.schema.prefixes.entry(name).or_default().insert(prefix);
    }

    /// Follows the prefix of names without one.
    fn follow_prefix(&mut self, tokens: &[TokenWithSpan]) {
        let mut part = Cursor::new(tokens, self.server);
        if self.server == Server::Mysql && part.eat(&["USE"]) {
            self.prefix = part.name();
        } else if part.eat(&["SET"]) {
            part.eat_any(&["LOCAL", "SESSION"]);
            if part.eat(&["SEARCH_PATH"]) {
                part.skip();
                self.prefix = part.name();
            }
        }
    }

    /// Returns the table or view whose name stands here.
    pub(super) fn table_name(&self, part: &mut Cursor<'_>) -> Result<String, Message> {
        let whole = *part;
        let parts = part.parts().ok_or_else(|| not_understood(&whole))?;
        self.schema.name_of(&self.with_prefix(parts))
    }

    /// Returns the parts of a name, with the prefix that it has if it is written without one.
    pub(super) fn with_prefix(&self, mut parts: Vec<String>) -> Vec<String> {
        if let (1, Some(prefix)) = (parts.len(), &self.prefix) {
            parts.insert(0, prefix.clone());
        }
        parts
    }

    /// Applies a statement.
    fn statement(&mut self, tokens: &[TokenWithSpan]) -> Result<(), Message> {
        self.follow_prefix(tokens);
        let mut part = Cursor::new(tokens, self.server);
        if part.eat(&["ALTER"]) {
            return self.alter_object(part);
        }
        if part.eat(&["DROP"]) {
            return self.drop_object(part);
        }
        if !part.is(&["CREATE"]) {
            return skipped::check(part);
        }
        let Some(Created { part, kind, modifiers }) = self.created(tokens) else {
            return Err(not_understood(&part));
        };
        let has = |word| modifiers.iter().any(|modifier| modifier == word);
        match kind {
            "TABLE" => self.create_table(part, &modifiers),
            "VIEW" => self.create_view(part, has("MATERIALIZED")),
            "INDEX" => self.create_index(part, has("UNIQUE")),
            "DOMAIN" => self.create_domain(part),
            "TYPE" => self.note_type(part),
            "OPERATOR" => self.create_operator(part),
            "CAST" => self.create_cast(part),
            "AGGREGATE" => self.create_aggregate(part),
            "TRIGGER" => self.create_trigger(part),
            "FUNCTION" | "PROCEDURE" => self.create_function(part),
            "RULE" => self.create_rule(part),
            "POLICY" => self.create_policy(part),
            _ => Ok(()),
        }
    }

    /// Adds a table, whose `CREATE TABLE` stands before the place, with some words before `TABLE`.
    fn create_table(&mut self, mut part: Cursor<'_>, modifiers: &[String]) -> Result<(), Message> {
        let optional = part.eat(&["IF", "NOT", "EXISTS"]);
        let name = self.table_name(&mut part)?;
        if self.schema.tables.contains_key(&name) {
            let message = format!("the table `{name}` is created twice: leave out one of both");
            return if optional { Ok(()) } else { Err(message) };
        }
        let (mut table, mut complete) = (Table::default(), true);
        if self.server == Server::Postgresql && part.eat(&["OF"]) {
            let name = part.parts().and_then(|mut parts| parts.pop());
            table.of_type = name.map(|name| name.to_lowercase());
            complete = false;
        }
        if part.eat(&["PARTITION", "OF"]) {
            table.partition_of.insert(self.table_name(&mut part)?);
        } else if part.eat(&["LIKE"]) {
            complete = self.like(&mut table, &mut part)?;
        }
        if let Some(elements) = part.group() {
            complete &= self.elements(&mut table, elements)?;
        }
        let (mut tail, mut without_rowid, mut strict) = (part, false, false);
        while !tail.is_end() {
            if tail.eat(&["INHERITS"]) {
                let parents = tail.group().ok_or_else(|| not_understood(&tail))?;
                for mut parent in parents.list() {
                    table.inherits.insert(self.table_name(&mut parent)?);
                }
            } else if tail.is(&["AS"]) || tail.is(&["SELECT"]) || tail.is(&["OF"]) {
                complete = false;
                break;
            }
            without_rowid |= tail.is(&["WITHOUT", "ROWID"]);
            strict |= tail.is(&["STRICT"]);
            if self.server != Server::Sqlite && tail.eat(&["PARTITION", "BY"]) {
                self.partitions(&mut table, &mut tail);
            } else if self.server == Server::Mysql && tail.eat(&["ENGINE"]) {
                table.outside = outside_of_engine(&mut tail);
            } else {
                tail.skip();
            }
        }
        if self.server == Server::Sqlite {
            number_rows(&mut table, without_rowid);
            table.columns.iter_mut().for_each(|column| column.strict = strict);
        }
        if !complete {
            table.columns.clear();
        }
        if let Some(what) = self.unusual(&name, modifiers) {
            table.outside = Some(what.to_owned());
        }
        self.schema.tables.insert(name.clone(), table);
        self.check_columns(&name)
    }

    /// Returns why a table is not one whose rows only queries of it, triggers and foreign keys
    /// change, as a predicate; `None` if it is.
    fn unusual(&self, name: &str, modifiers: &[String]) -> Option<&'static str> {
        let has = |word: &str| modifiers.iter().any(|modifier| modifier == word);
        if has("FOREIGN") {
            return Some("is a foreign table: it is not known what its server does at a rollback");
        }
        if has("VIRTUAL") {
            return Some("is a virtual table: it is not known which tables its module uses");
        }
        let own = self.server == Server::Sqlite && name.starts_with("sqlite_");
        own.then_some("is a table of SQLite itself, which changes with others")
    }

    /// Adds what chooses the partition of each row, which stands behind `PARTITION BY`. A row has
    /// one for each hash, but not for each value.
    fn partitions(&self, table: &mut Table, tail: &mut Cursor<'_>) {
        tail.eat(&["LINEAR"]);
        let hashes = tail.is(&["HASH"]) || tail.is(&["KEY"]);
        tail.skip();
        tail.eat(&["COLUMNS"]);
        let Some(key) = tail.group() else { return };
        if !hashes {
            let names = key.rest().iter().filter_map(|token| self.name_of_token(token));
            table.partitioned_by.extend(names);
        }
        if self.server == Server::Postgresql {
            table.functions.extend(calls_of_default(key));
        }
    }

    /// Adds a view, whose `CREATE VIEW` stands before the place. A view of the same name, which
    /// dumps create first, and a table of the same name go.
    fn create_view(&mut self, mut part: Cursor<'_>, materialized: bool) -> Result<(), Message> {
        part.eat(&["IF", "NOT", "EXISTS"]);
        let whole = part;
        let name = self.table_name(&mut part)?;
        while !part.is_end() && !part.eat(&["AS"]) {
            part.skip();
        }
        if part.is_end() {
            return Err(not_understood(&whole));
        }
        let query = part.rest().to_vec();
        self.schema.views.insert(name.clone(), View { materialized, ..View::default() });
        self.views.insert(name, DraftView { query, materialized });
        Ok(())
    }

    /// Removes a view.
    pub(super) fn drop_view(&mut self, name: &str) {
        self.views.remove(name);
        self.schema.views.remove(name);
    }

    /// Resolves what refers to later statements.
    fn finish(mut self) -> Schema {
        self.inherit_columns();
        self.resolve_referred();
        self.resolve_domains();
        self.resolve_types();
        self.resolve_views();
        self.resolve_functions();
        self.resolve_casts();
        for trigger in std::mem::take(&mut self.triggers) {
            let assigns = self.assigns(&trigger);
            let DraftTrigger { name, table, events, body, .. } = trigger;
            let Effects { touches, reads, changes, functions } =
                self.effects(&self.names_of(&body));
            let trigger =
                Trigger { name, table, events, touches, reads, changes, assigns, functions };
            self.schema.triggers.push(trigger);
        }
        for (rule, tokens) in std::mem::take(&mut self.rules) {
            let Effects { touches, reads, changes, functions } = self.effects(&self.names(&tokens));
            let fails = rule.policy.then(|| self.policy_fails(&rule, &tokens)).flatten();
            let rule = Rule { touches, reads, changes, functions, fails, ..rule };
            self.schema.rules.push(rule);
        }
        self.schema
    }

    /// Gives partitions and tables that inherit the columns of the table above them, and partitions
    /// its keys.
    fn inherit_columns(&mut self) {
        for _ in 0..self.schema.tables.len() {
            let before = self.schema.tables.clone();
            for table in self.schema.tables.values_mut() {
                let above = table.partition_of.iter().chain(&table.inherits);
                let above: Vec<&Table> = above.filter_map(|name| before.get(name)).collect();
                let inherited: Vec<_> = above
                    .iter()
                    .flat_map(|parent| &parent.columns)
                    .filter(|column| table.column(&column.name).is_none())
                    .cloned()
                    .collect();
                if table.primary_key.is_none() && !table.partition_of.is_empty() {
                    table.primary_key = above.iter().find_map(|parent| parent.primary_key.clone());
                }
                for column in inherited.into_iter().rev() {
                    if table.column(&column.name).is_none() {
                        table.columns.insert(0, column);
                    }
                }
            }
            if before == self.schema.tables {
                return;
            }
        }
    }

    /// Fills in the primary key where a foreign key names no columns.
    fn resolve_referred(&mut self) {
        let keys: BTreeMap<String, Vec<String>> = self
            .schema
            .tables
            .iter()
            .filter_map(|(name, table)| Some((name.clone(), table.primary_key.clone()?.columns)))
            .collect();
        let tables = self.schema.tables.values_mut();
        for key in tables.flat_map(|table| &mut table.foreign_keys) {
            if key.referred.is_empty() {
                key.referred = keys.get(&key.table).cloned().unwrap_or_default();
            }
        }
    }

    /// Finds the tables that views read, through other views as well.
    fn resolve_views(&mut self) {
        let direct: BTreeMap<String, View> = self
            .views
            .iter()
            .map(|(name, draft)| {
                let (tables, functions, fails) = self.view_reads(&draft.query);
                let known = self.schema.views.get(name).cloned().unwrap_or_default();
                let materialized = draft.materialized;
                (name.clone(), View { tables, functions, materialized, fails, ..known })
            })
            .collect();
        for (name, view) in &direct {
            let (mut tables, mut functions) = (BTreeSet::new(), BTreeSet::new());
            let (mut seen, mut open, mut fails) = (BTreeSet::from([name]), vec![view], None);
            while let Some(view) = open.pop() {
                // What is stored does not fail.
                fails = fails.or_else(|| view.fails.clone().filter(|_| !view.materialized));
                functions.extend(view.functions.iter().cloned());
                for name in &view.tables {
                    match direct.get(name) {
                        Some(inner) if seen.insert(name) => open.push(inner),
                        Some(_) => {}
                        None => drop(tables.insert(name.clone())),
                    }
                }
            }
            let view = View { tables, functions, fails, ..view.clone() };
            self.schema.views.insert(name.clone(), view);
        }
    }

    /// Returns the query of a view without what stands behind it.
    pub(super) fn without_options(query: &[TokenWithSpan]) -> &[TokenWithSpan] {
        let with = query.iter().rposition(|token| is_word(Some(token), "WITH"));
        let options = ["CHECK", "CASCADED", "LOCAL", "NO", "DATA"];
        match with {
            Some(at) if options.iter().any(|word| is_word(query.get(at + 1), word)) => &query[..at],
            _ => query,
        }
    }

    /// Returns the tables, known or not, that a body may touch.
    pub(super) fn expanded(&self, tables: BTreeSet<String>) -> Tables {
        let mut all = tables.clone();
        for name in &tables {
            if let Some(view) = self.schema.views.get(name) {
                all.extend(view.tables.iter().cloned());
            }
        }
        Tables::Some(all)
    }
}

/// The engines of MySQL and MariaDB that undo changes with the transaction.
const TRANSACTIONAL: &[&str] = &["innodb", "ndb", "ndbcluster", "rocksdb", "tokudb", "xtradb"];

/// Returns why the changes of a table with the engine that stands here are not part of the
/// transaction; `None` if they are.
pub(super) fn outside_of_engine(part: &mut Cursor<'_>) -> Option<String> {
    part.eat_token(&Token::Eq);
    let engine = match part.peek()? {
        Token::Word(word) => word.value.clone(),
        token => token.to_string().trim_matches(['\'', '"']).to_owned(),
    };
    part.at += 1;
    let known = TRANSACTIONAL.contains(&engine.to_ascii_lowercase().as_str());
    (!known).then(|| format!("has the engine {engine}, whose changes a rollback does not undo"))
}

/// Returns true if the token ends a clause.
pub(super) fn is_sign(token: Option<&TokenWithSpan>, sign: &Token) -> bool {
    token.is_some_and(|token| token.token == *sign)
}
