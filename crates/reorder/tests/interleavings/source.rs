//! The C text of transactions, for the interface of the golden cases' `shop.h`.
//!
//! A text of SQL has its constants in it; values that were read, and the parameter of the function,
//! are parameters. A query without a row returns an empty text, which is 0 for `atoi`.

use clearway_reorder::api::Server;

use super::transaction::{
    Action, Assigned, Condition, Conflict, Guard, Lock, Selected, Statement, TABLES, Transaction,
    Value,
};

/// SQL with the C expressions of its parameters.
struct Sql {
    server: Server,
    text: String,
    arguments: Vec<String>,
}

/// Returns a value as a C expression.
fn expression(value: &Value) -> String {
    match value {
        Value::Constant(number) => number.to_string(),
        Value::Parameter => "n".to_string(),
        Value::Read { variable, plus: 0 } => format!("atoi(v{variable})"),
        Value::Read { variable, plus } => format!("atoi(v{variable}) + {plus}"),
    }
}

impl Sql {
    fn value(&mut self, value: &Value) -> String {
        if let Value::Constant(number) = value {
            return number.to_string();
        }
        self.arguments.push(expression(value));
        match self.server {
            Server::Postgresql => format!("${}", self.arguments.len()),
            _ => "?".to_string(),
        }
    }

    fn condition(&mut self, table: usize, condition: &Condition) -> String {
        let columns = TABLES[table].columns;
        let mut terms = Vec::new();
        for (column, value) in condition {
            terms.push(format!("{} = {}", columns[*column], self.value(value)));
        }
        match terms.is_empty() {
            true => String::new(),
            false => format!(" WHERE {}", terms.join(" AND ")),
        }
    }

    fn assigned(&mut self, table: usize, column: usize, value: &Assigned) -> String {
        match value {
            Assigned::Value(value) => self.value(value),
            Assigned::Increment(step) => {
                format!("{}.{} + {step}", TABLES[table].name, TABLES[table].columns[column])
            }
            Assigned::Count(other, condition) => {
                let condition = self.condition(*other, condition);
                format!("(SELECT count(*) FROM {}{condition})", TABLES[*other].name)
            }
        }
    }

    fn conflict(&mut self, table: usize, conflict: &Conflict) -> String {
        let key = TABLES[table].columns[0];
        match (conflict, self.server) {
            (Conflict::Fails, _) => String::new(),
            (Conflict::Nothing, Server::Postgresql) => format!(" ON CONFLICT ({key}) DO NOTHING"),
            (Conflict::Nothing, _) => format!(" ON DUPLICATE KEY UPDATE {key} = {key}"),
            (Conflict::Update(column, value), server) => {
                let value = self.assigned(table, *column, value);
                let column = TABLES[table].columns[*column];
                match server {
                    Server::Postgresql => {
                        format!(" ON CONFLICT ({key}) DO UPDATE SET {column} = {value}")
                    }
                    _ => format!(" ON DUPLICATE KEY UPDATE {column} = {value}"),
                }
            }
        }
    }

    fn read(
        &mut self,
        table: usize,
        selected: Selected,
        condition: &Condition,
        lock: Option<Lock>,
    ) {
        let columns = TABLES[table].columns;
        let selected = match selected {
            Selected::Column(column) => columns[column].to_string(),
            Selected::Count => "count(*)".to_string(),
            Selected::Next => format!("coalesce(max({}), 0) + 1", columns[0]),
        };
        let condition = self.condition(table, condition);
        let lock = match (lock, self.server) {
            (None, _) => "",
            (Some(Lock::Exclusive), _) => " FOR UPDATE",
            (Some(Lock::Shared), Server::Postgresql) => " FOR SHARE",
            (Some(Lock::Shared), _) => " LOCK IN SHARE MODE",
        };
        self.text = format!("SELECT {selected} FROM {}{condition}{lock}", TABLES[table].name);
    }

    fn write(&mut self, action: &Action) {
        self.text = match action {
            Action::Read { table, selected, condition, lock, .. } => {
                return self.read(*table, *selected, condition, *lock);
            }
            Action::Update { table, assigned, condition } => {
                let mut all = Vec::new();
                for (column, value) in assigned {
                    let value = self.assigned(*table, *column, value);
                    all.push(format!("{} = {value}", TABLES[*table].columns[*column]));
                }
                let condition = self.condition(*table, condition);
                format!("UPDATE {} SET {}{condition}", TABLES[*table].name, all.join(", "))
            }
            Action::Insert { table, values, conflict } => {
                let mut all = Vec::new();
                for (column, value) in values.iter().enumerate() {
                    all.push(self.assigned(*table, column, value));
                }
                let conflict = self.conflict(*table, conflict);
                let (name, columns) = (TABLES[*table].name, TABLES[*table].columns.join(", "));
                format!("INSERT INTO {name} ({columns}) VALUES ({}){conflict}", all.join(", "))
            }
            Action::Delete { table, condition } => {
                let condition = self.condition(*table, condition);
                format!("DELETE FROM {}{condition}", TABLES[*table].name)
            }
            Action::Leave { .. } => String::new(),
        };
    }
}

/// Returns the call that runs a query, which is not 0 if the query fails.
fn call(action: &Action, server: Server) -> String {
    let mut sql = Sql { server, text: String::new(), arguments: Vec::new() };
    sql.write(action);
    let arguments: String = sql.arguments.iter().map(|one| format!(", {one}")).collect();
    match action {
        Action::Read { variable, .. } => {
            format!("db_text(db, v{variable}, \"{}\"{arguments})", sql.text)
        }
        _ => format!("db_run(db, \"{}\"{arguments})", sql.text),
    }
}

fn condition(guard: &Guard) -> String {
    format!("{} > {}", expression(&guard.value), guard.above)
}

/// Returns the name of the function in which a statement stands.
fn helper(name: &str, number: usize) -> String {
    format!("{name}_query{number}")
}

/// Returns the text of a statement: it stands in one piece in each order.
pub(crate) fn statement(name: &str, one: &Statement, server: Server) -> String {
    if one.helper {
        let value = one.guard.map_or("n".to_string(), |guard| expression(&guard.value));
        let variable = match one.action {
            Action::Read { variable, .. } => format!(", v{variable}"),
            _ => String::new(),
        };
        let helper = helper(name, one.number);
        return format!("    if ({helper}(db, {value}{variable}))\n        goto fail;\n");
    }
    let runs = match &one.action {
        Action::Leave { variable, least } => format!("atoi(v{variable}) >= {least}"),
        action => call(action, server),
    };
    match &one.guard {
        None => format!("    if ({runs})\n        goto fail;\n"),
        Some(guard) => format!(
            "    if ({}) {{\n        if ({runs})\n            goto fail;\n    }}\n",
            condition(guard)
        ),
    }
}

/// Returns the function with a statement, whose parameter is the value that its guard compares.
fn helper_function(name: &str, one: &Statement, server: Server) -> String {
    let (text, parameter) = match one.action {
        Action::Read { variable, .. } => {
            (call(&one.action, server), format!(", char *v{variable}"))
        }
        _ => (call(&one.action, server), String::new()),
    };
    let runs = match one.guard {
        None => format!("    (void)n;\n    return {text};\n"),
        Some(guard) => {
            format!("    if (n > {})\n        return {text};\n    return 0;\n", guard.above)
        }
    };
    format!(
        "static int {}(struct db *db, int n{parameter})\n{{\n{runs}}}\n\n",
        helper(name, one.number)
    )
}

/// Returns the functions of a transaction.
pub(crate) fn function(transaction: &Transaction, server: Server) -> String {
    let name = &transaction.name;
    let mut text = String::new();
    for one in transaction.statements.iter().filter(|one| one.helper) {
        text += &helper_function(name, one, server);
    }
    text += &format!("int {name}(struct db *db, int n, int *out)\n{{\n");
    for variable in 0..transaction.variables {
        text += &format!("    char v{variable}[32] = \"\";\n");
    }
    text += "\n    db_begin(db);\n";
    let output = |variable: usize| format!("    out[{variable}] = atoi(v{variable});\n");
    for one in &transaction.statements {
        text += &statement(name, one, server);
        if let Action::Read { variable, .. } = one.action
            && transaction.returns_early
            && transaction.returned.contains(&variable)
        {
            text += &output(variable);
        }
    }
    text += "    db_commit(db);\n";
    if !transaction.returns_early {
        text.extend(transaction.returned.iter().map(|&variable| output(variable)));
    }
    text + "    return 0;\nfail:\n    db_rollback(db);\n    return -1;\n}\n"
}

/// Returns a source file.
pub(crate) fn file(transactions: &[Transaction], server: Server) -> String {
    let functions: Vec<String> = transactions.iter().map(|one| function(one, server)).collect();
    format!("#include <stdlib.h>\n\n#include \"shop.h\"\n\n{}", functions.join("\n"))
}
