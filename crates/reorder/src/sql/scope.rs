//! Scopes: which relations a name in an expression may mean, and which columns it reads.
//!
//! A scope has the relations of one `FROM`; an inner scope sees those of the outer ones. A name
//! without a prefix belongs to the innermost scope that has it. Where a relation's columns are not
//! known, the search goes on outwards, and all that the name may mean counts as read.

use std::collections::BTreeSet;

use crate::schema::{Schema, Table};

/// The columns of the servers that no DDL names.
const SYSTEM_COLUMNS: &[&str] =
    &["ctid", "tableoid", "xmin", "xmax", "cmin", "cmax", "oid", "rowid", "_rowid_", "_rowid"];

/// A relation of a `FROM`, or the target of a change.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Relation {
    /// The name by which expressions refer to it; `None` if they cannot.
    pub(super) alias: Option<String>,
    /// The table or view, by its name in the schema; `None` for a subquery, a common table
    /// expression or a function.
    pub(super) table: Option<String>,
    /// True if the alias also gives the columns new names: `t AS u (a, b)`.
    pub(super) renames: bool,
}

impl Relation {
    /// Returns a relation that is no table.
    pub(super) fn derived(alias: Option<String>) -> Relation {
        Relation { alias, table: None, renames: false }
    }

    /// Returns the table, if all of its columns are known, by the names that expressions use.
    fn known<'s>(&self, schema: &'s Schema) -> Option<&'s Table> {
        let table = schema.table(self.table.as_deref()?)?;
        (!self.renames && !table.columns.is_empty()).then_some(table)
    }

    /// Returns true if the table has a column of this name, as far as the schema is known.
    pub(super) fn names(&self, column: &str, schema: &Schema) -> bool {
        match self.known(schema) {
            Some(known) => known.column(column).is_some(),
            None => self.is_unknown(schema) && !SYSTEM_COLUMNS.contains(&column),
        }
    }

    /// Returns true if the schema does not have the table. Then its columns have the names that a
    /// query uses; those of a view are columns of other tables.
    fn is_unknown(&self, schema: &Schema) -> bool {
        let unknown = |table: &String| schema.table(table).is_none() && !schema.is_view(table);
        !self.renames && self.table.as_ref().is_some_and(unknown)
    }
}

/// The names that expressions of one part of a query may use.
#[derive(Default)]
pub(super) struct Scope<'a> {
    /// The scope around it.
    pub(super) outer: Option<&'a Scope<'a>>,
    /// The relations.
    pub(super) relations: Vec<Relation>,
    /// The common table expressions that are defined here.
    pub(super) expressions: BTreeSet<String>,
    /// The names that the results get here: `SELECT a + b AS c`.
    pub(super) outputs: BTreeSet<String>,
}

/// The columns that a name reads: of each table one column, or all of them (`None`).
pub(super) type Reads = BTreeSet<(String, Option<String>)>;

impl<'a> Scope<'a> {
    /// Returns an empty scope within another.
    pub(super) fn within(outer: Option<&'a Scope<'a>>) -> Scope<'a> {
        Scope { outer, ..Scope::default() }
    }

    /// Returns this scope and those around it.
    fn chain(&self) -> impl Iterator<Item = &Scope<'a>> {
        std::iter::successors(Some(self), |scope| scope.outer)
    }

    /// Returns true if the name is that of a common table expression.
    pub(super) fn is_expression(&self, name: &str) -> bool {
        self.chain().any(|scope| scope.expressions.contains(name))
    }

    /// Returns the relation with an alias.
    fn relation(&self, alias: &str) -> Option<&Relation> {
        let is = |relation: &&Relation| relation.alias.as_deref() == Some(alias);
        self.chain().find_map(|scope| scope.relations.iter().find(is))
    }

    /// Returns what a name without prefix reads.
    pub(super) fn unqualified(&self, column: &str, schema: &Schema) -> Reads {
        let system = SYSTEM_COLUMNS.contains(&column);
        let (mut reads, mut unknown) = (Reads::new(), system);
        for scope in self.chain() {
            let mut found = false;
            for relation in &scope.relations {
                let known = relation.known(schema);
                unknown |= known.is_none();
                let has = known.is_some_and(|known| known.column(column).is_some());
                found |= has;
                if let Some(table) = &relation.table
                    && (has || known.is_none() || system)
                {
                    reads.insert((table.clone(), has.then(|| column.to_owned())));
                }
            }
            if found {
                return reads;
            }
            // A condition does not see the names of the results, so the search goes on.
            unknown |= scope.outputs.contains(column);
        }
        if let Some(sole) = self.sole_unknown(column, schema) {
            return sole;
        }
        match self.whole_row(column) {
            Some(row) => reads.extend(row),
            None if !unknown => reads = self.everything(),
            None => {}
        }
        reads
    }

    /// Returns true if a name without prefix means nothing: the columns of all relations are known,
    /// and none has the name.
    pub(super) fn lacks(&self, column: &str, schema: &Schema) -> bool {
        let relations = || self.chain().flat_map(|scope| &scope.relations);
        let has = |relation: &Relation| {
            relation.known(schema).is_none_or(|known| known.column(column).is_some())
        };
        relations().next().is_some()
            && !SYSTEM_COLUMNS.contains(&column)
            && !relations().any(has)
            && !self.chain().any(|scope| scope.outputs.contains(column))
            && self.relation(column).is_none()
    }

    /// Returns true if the relation with an alias has no column of a name.
    pub(super) fn lacks_qualified(&self, alias: &str, column: &str, schema: &Schema) -> bool {
        let known = self.relation(alias).and_then(|relation| relation.known(schema));
        !SYSTEM_COLUMNS.contains(&column) && known.is_some_and(|one| one.column(column).is_none())
    }

    /// Returns the columns of all relations that are known; with an alias, of that one.
    pub(super) fn known_columns<'s>(
        &self,
        alias: Option<&str>,
        schema: &'s Schema,
    ) -> Vec<&'s str> {
        let relations = self.chain().flat_map(|scope| &scope.relations);
        let chosen = relations.filter(|one| alias.is_none() || one.alias.as_deref() == alias);
        let tables = chosen.filter_map(|relation| relation.known(schema));
        tables.flat_map(|table| &table.columns).map(|column| column.name.as_str()).collect()
    }

    /// Returns the column of the only relation that there is, if its columns are not known.
    fn sole_unknown(&self, column: &str, schema: &Schema) -> Option<Reads> {
        let mut relations = self.chain().flat_map(|scope| &scope.relations);
        let (first, second) = (relations.next()?, relations.next());
        let table = first.table.as_ref()?;
        let sole = second.is_none() && self.relation(column).is_none();
        (sole && first.is_unknown(schema) && !SYSTEM_COLUMNS.contains(&column))
            .then(|| Reads::from([(table.clone(), Some(column.to_owned()))]))
    }

    /// Returns what the alias of a relation reads as a value: its row.
    fn whole_row(&self, alias: &str) -> Option<Reads> {
        let relation = self.relation(alias)?;
        Some(relation.table.iter().map(|table| (table.clone(), None)).collect())
    }

    /// Returns what `prefix.column` reads.
    pub(super) fn qualified(&self, prefix: &str, column: &str, schema: &Schema) -> Option<Reads> {
        let relation = self.relation(prefix)?;
        let Some(table) = &relation.table else {
            return Some(Reads::new());
        };
        let named = relation.names(column, schema);
        Some(Reads::from([(table.clone(), named.then(|| column.to_owned()))]))
    }

    /// Returns all columns of the relation with an alias; of all, if there is none.
    pub(super) fn all_of(&self, alias: &str) -> Reads {
        self.whole_row(alias).unwrap_or_else(|| self.everything())
    }

    /// Returns all columns of all tables of this scope and of those around it.
    pub(super) fn everything(&self) -> Reads {
        self.chain().flat_map(Scope::tables).map(|table| (table.to_owned(), None)).collect()
    }

    /// Returns the tables of this scope alone.
    pub(super) fn tables(&self) -> impl Iterator<Item = &str> {
        self.relations.iter().filter_map(|relation| relation.table.as_deref())
    }

    /// Returns the table of this scope alone that must be the one with the column, if it is sure.
    pub(super) fn owner(
        &self,
        prefix: Option<&str>,
        column: &str,
        schema: &Schema,
    ) -> Option<&str> {
        if prefix.is_some() {
            let is = |relation: &&Relation| relation.alias.as_deref() == prefix;
            let relation = self.relations.iter().find(is)?;
            return relation.names(column, schema).then_some(relation.table.as_deref()?);
        }
        let outer = self.outer.is_some_and(|outer| outer.chain().any(|s| !s.relations.is_empty()));
        if let [sole] = &self.relations[..]
            && !outer
        {
            return sole.names(column, schema).then_some(sole.table.as_deref()?);
        }
        let mut owner = None;
        for relation in &self.relations {
            let has = relation.known(schema)?.column(column).is_some();
            if has && owner.replace(relation.table.as_deref()?).is_some() {
                return None;
            }
        }
        owner
    }
}
