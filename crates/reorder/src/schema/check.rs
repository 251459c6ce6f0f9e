//! Checks that what a statement names is there.

use super::{resolve::Builder, table::Message};
use crate::sql::names;

impl Builder {
    /// Checks that the file defines a table or view, perhaps behind this place.
    pub(super) fn check_table(&self, name: &str) -> Result<(), Message> {
        if self.names.contains(name) {
            return Ok(());
        }
        let hint = hint(name, self.names.iter().map(String::as_str));
        Err(format!("the file defines no table `{name}`{hint}: dump the schema from the server"))
    }

    /// Checks that no two columns of a table have one name, and that its keys are of its columns.
    pub(super) fn check_columns(&self, name: &str) -> Result<(), Message> {
        let Some(table) = self.schema.tables.get(name) else { return Ok(()) };
        let mut columns: Vec<&str> =
            table.columns.iter().map(|column| column.name.as_str()).collect();
        columns.sort_unstable();
        if let Some(pair) = columns.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(format!("`{name}` has two columns `{}`: leave out one of both", pair[0]));
        }
        // Others come from the tables above it, or are not known.
        if columns.is_empty() || !table.above().is_empty() {
            return Ok(());
        }
        let of_keys = table.keys().flat_map(|key| &key.columns);
        let mut used = of_keys.chain(table.foreign_keys.iter().flat_map(|key| &key.columns));
        let Some(wrong) = used.find(|column| !columns.contains(&column.as_str())) else {
            return Ok(());
        };
        let hint = hint(wrong, columns.iter().copied());
        Err(format!("`{name}` has no column `{wrong}`{hint}: correct the SQL"))
    }
}

fn hint<'n>(name: &str, known: impl Iterator<Item = &'n str>) -> String {
    let near = names::nearest(name, known);
    near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default()
}
