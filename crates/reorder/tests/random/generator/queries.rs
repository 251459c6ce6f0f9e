//! Queries, in several styles.

use super::{
    Generator, Leaving, indented,
    templates::{CALLING, LISTS, OF_NEW_BRANCH, Parameter, READS, Template, WRITES},
};

use crate::program::words;

impl Generator {
    fn draw(&mut self, templates: &[Template], columns: bool) -> Template {
        if self.style.unknown_functions && self.random.chance(30) {
            let calling: Vec<Template> =
                CALLING.iter().copied().filter(|one| (one.columns > 0) == columns).collect();
            return self.random.pick(&calling);
        }
        let tables = self.style.tables;
        let of_topic = |one: &&Template| {
            let words = words(one.sql);
            tables.iter().any(|table| words.contains(*table))
        };
        let of_topic: Vec<Template> = templates.iter().filter(of_topic).copied().collect();
        if of_topic.is_empty() || self.random.chance(15) {
            return self.random.pick(templates);
        }
        self.random.pick(&of_topic)
    }

    fn key(&mut self) -> String {
        if let Some(key) = self.next_key.take() {
            return key;
        }
        match self.random.weighted(&[50, 15, 15, 10]) {
            0 => match self.indexes.last() {
                Some(index) => format!("in->list[{index}]"),
                None => self.random.pick(&["in->a", "in->b", "in->c", "in->d"]).to_string(),
            },
            1 => format!("({} & 3) + 1", self.place()),
            2 => self.random.between(1, 4).to_string(),
            _ => "in->list[0]".to_string(),
        }
    }

    fn argument(&mut self, parameter: Parameter) -> String {
        match parameter {
            Parameter::Key => self.key(),
            Parameter::NewKey => match self.random.below(4) {
                0 => format!("{} + 10", self.key()),
                1 => format!("20 + ({} & 15)", self.place()),
                2 => self.random.between(4, 30).to_string(),
                _ => format!("in->n + {}", self.random.between(20, 40)),
            },
            Parameter::Amount => self.value(),
            Parameter::Text => "in->text".to_string(),
        }
    }

    fn arguments(&mut self, template: Template) -> Vec<(Parameter, String)> {
        let arguments = template.parameters.iter();
        let mut arguments: Vec<_> = arguments.map(|&one| (one, self.argument(one))).collect();
        // Of many writes in one program, one that always fails would end most programs.
        if self.reuses && template.sql == OF_NEW_BRANCH && self.random.chance(75) {
            arguments[1].1 = self.random.between(1, 4).to_string();
        }
        arguments
    }

    /// Returns a write.
    pub(super) fn write(&mut self) -> String {
        if let Some(kept) = self.kept
            && self.random.chance(40)
        {
            return self.kept_write(kept);
        }
        let template = self.draw(WRITES, false);
        self.write_of(template, None)
    }

    /// Returns a write of a number.
    pub(super) fn write_with(&mut self, amount: &str) -> String {
        let template = self.draw(WRITES, false);
        self.write_of(template, Some(amount))
    }

    /// Returns a write of a text.
    pub(super) fn insert_of(&mut self, text: &str) -> String {
        let has_text = |one: &&Template| one.parameters.contains(&Parameter::Text);
        let templates: Vec<Template> = WRITES.iter().filter(has_text).copied().collect();
        let template = self.random.pick(&templates);
        let mut arguments = self.arguments(template);
        let texts = arguments.iter_mut().filter(|(one, _)| *one == Parameter::Text);
        texts.for_each(|(_, argument)| *argument = text.to_string());
        self.run_write(template, &arguments)
    }

    /// Returns a write; `amount` stands for its number, if it has one.
    fn write_of(&mut self, template: Template, amount: Option<&str>) -> String {
        let mut arguments = self.arguments(template);
        if let Some(amount) = amount
            && let Some(first) = arguments.iter_mut().find(|(one, _)| *one == Parameter::Amount)
        {
            first.1 = amount.to_string();
        }
        self.run_write(template, &arguments)
    }

    fn run_write(&mut self, template: Template, arguments: &[(Parameter, String)]) -> String {
        let text = arguments.iter().any(|(parameter, _)| *parameter == Parameter::Text);
        let way = self.random.below(100);
        if way < self.style.by_exec {
            self.by_exec(template, arguments)
        } else if way < self.style.by_exec + self.style.by_helper && !text {
            self.by_helper(template, arguments)
        } else {
            self.prepared_write(template, arguments)
        }
    }

    fn by_exec(&mut self, template: Template, arguments: &[(Parameter, String)]) -> String {
        let run = |sql: &str| format!("sqlite3_exec(db, {sql}, NULL, NULL, NULL) != SQLITE_OK");
        if arguments.is_empty() {
            return self.leave_if(&run(&format!("\"{}\"", template.sql)));
        }
        let mut format = String::new();
        let escaped = template.sql.replace('%', "%%");
        let mut parts = escaped.split('?');
        format += parts.next().unwrap_or_default();
        for (part, (parameter, _)) in parts.zip(arguments) {
            format += if *parameter == Parameter::Text { "'%s'" } else { "%d" };
            format += part;
        }
        let values: Vec<&str> = arguments.iter().map(|(_, one)| one.as_str()).collect();
        let values = values.join(", ");
        let print = match self.random.chance(50) {
            true => format!("sprintf(sql, \"{format}\", {values});"),
            false => format!("snprintf(sql, sizeof sql, \"{format}\", {values});"),
        };
        let exit = self.leave_if(&run("sql"));
        format!("{print}\n{exit}")
    }

    fn by_helper(&mut self, template: Template, arguments: &[(Parameter, String)]) -> String {
        if template.sql == "UPDATE branch SET total = total + ? WHERE id = ?" {
            let (amount, id) = (&arguments[0].1, &arguments[1].1);
            return self.leave_if(&format!("add_total(db, {id}, {amount}) != 0"));
        }
        let mut values: Vec<&str> = arguments.iter().map(|(_, one)| one.as_str()).collect();
        values.resize(3, "0");
        let sql = template.sql;
        self.leave_if(&format!("run_query(db, \"{sql}\", {}) != 0", values.join(", ")))
    }

    /// Returns the variable of a new statement, and the declaration if it is one of its own.
    fn statement_variable(&mut self) -> (String, Option<String>) {
        if self.style.shares_statement {
            return ("stmt".to_string(), None);
        }
        let name = self.name("query");
        let declaration = format!("sqlite3_stmt *{name} = NULL;");
        (name, Some(declaration))
    }

    /// Returns the lines that prepare a query and bind its parameters.
    fn prepared(
        &mut self,
        name: &str,
        template: Template,
        arguments: &[(Parameter, String)],
    ) -> Vec<String> {
        let sql = template.sql;
        let prepare = format!("sqlite3_prepare_v2(db, \"{sql}\", -1, &{name}, NULL) != SQLITE_OK");
        let mut lines = vec![self.leave_if(&prepare)];
        for (at, (parameter, argument)) in arguments.iter().enumerate() {
            let number = at + 1;
            lines.push(match parameter {
                Parameter::Text => {
                    let kept = self.random.pick(&["SQLITE_STATIC", "SQLITE_TRANSIENT"]);
                    format!("sqlite3_bind_text({name}, {number}, {argument}, -1, {kept});")
                }
                _ => format!("sqlite3_bind_int({name}, {number}, {argument});"),
            });
        }
        lines
    }

    fn prepared_write(&mut self, template: Template, arguments: &[(Parameter, String)]) -> String {
        let (name, declaration) = self.statement_variable();
        let mut lines: Vec<String> = declaration.into_iter().collect();
        lines.extend(self.prepared(&name, template, arguments));
        let finalized_at_fail = self.style.leaving == Leaving::Goto && name == "stmt";
        if finalized_at_fail && self.random.chance(50) {
            lines.push(self.leave_if(&format!("sqlite3_step({name}) != SQLITE_DONE")));
            lines.push(format!("sqlite3_finalize({name});"));
            lines.push(format!("{name} = NULL;"));
        } else {
            lines.push(format!("rc = sqlite3_step({name});"));
            lines.push(format!("sqlite3_finalize({name});"));
            if finalized_at_fail {
                lines.push(format!("{name} = NULL;"));
            }
            lines.push(self.leave_if("rc != SQLITE_DONE"));
        }
        lines.join("\n")
    }

    fn kept_write(&mut self, template: Template) -> String {
        let arguments = self.arguments(template);
        let mut lines = Vec::new();
        for (at, (_, argument)) in arguments.iter().enumerate() {
            lines.push(format!("sqlite3_bind_int(kept, {}, {argument});", at + 1));
        }
        lines.push(self.leave_if("sqlite3_step(kept) != SQLITE_DONE"));
        lines.push("sqlite3_reset(kept);".to_string());
        lines.join("\n")
    }

    /// Returns a read.
    pub(super) fn read(&mut self) -> String {
        if self.random.chance(15) {
            return self.read_list();
        }
        let template = self.draw(READS, true);
        let place = self.place();
        self.read_to(template, &place)
    }

    /// Returns a read into a place.
    pub(super) fn read_for(&mut self, place: &str) -> String {
        let template = self.draw(READS, true);
        self.read_to(template, place)
    }

    fn read_to(&mut self, template: Template, place: &str) -> String {
        let by_helper = self.random.below(100) < self.style.by_helper;
        if by_helper && template.parameters.len() == 1 {
            let key = self.key();
            if template.sql == "SELECT balance FROM account WHERE id = ?" && self.random.chance(50)
            {
                return format!("{place} = balance_of(db, {key});");
            }
            let target = place.strip_prefix('*').map_or(format!("&{place}"), str::to_string);
            let sql = template.sql;
            return self.leave_if(&format!("fetch(db, \"{sql}\", {key}, {target}) != 0"));
        }
        let arguments = self.arguments(template);
        let (name, declaration) = self.statement_variable();
        let mut lines: Vec<String> = declaration.into_iter().collect();
        lines.extend(self.prepared(&name, template, &arguments));
        let columns: Vec<String> = (0..template.columns)
            .map(|column| {
                let place = if column == 0 { place.to_string() } else { self.place() };
                format!("{place} = sqlite3_column_int({name}, {column});")
            })
            .collect();
        let mut columns = columns.join("\n");
        if self.style.prints && self.random.chance(50) {
            columns += &format!("\nprintf(\"read %d\\n\", {place});");
        }
        let columns = indented(&columns);
        // Without a row the place keeps an older value.
        let otherwise = match self.reuses {
            true => format!(" else {{\n    {place} = 0;\n}}"),
            false => String::new(),
        };
        lines.push(format!("if (sqlite3_step({name}) == SQLITE_ROW) {{\n{columns}\n}}{otherwise}"));
        lines.push(format!("sqlite3_finalize({name});"));
        if self.style.leaving == Leaving::Goto && name == "stmt" {
            lines.push(format!("{name} = NULL;"));
        }
        lines.join("\n")
    }

    fn read_list(&mut self) -> String {
        let template = self.random.pick(LISTS);
        let arguments = self.arguments(template);
        let place = self.place();
        let (name, declaration) = self.statement_variable();
        let mut lines: Vec<String> = declaration.into_iter().collect();
        lines.extend(self.prepared(&name, template, &arguments));
        let mut body = format!("    {place} = ({place} + sqlite3_column_int({name}, 0)) % 1000;");
        if self.random.one_in(3) && self.style.by_helper > 0 {
            let value = self.value();
            body += &format!(
                "\n    run_query(db, \"INSERT INTO journal VALUES (?, ?)\", \
                 sqlite3_column_int({name}, 0), {value}, 0);"
            );
        }
        lines.push(format!("while (sqlite3_step({name}) == SQLITE_ROW) {{\n{body}\n}}"));
        lines.push(format!("sqlite3_finalize({name});"));
        if self.style.leaving == Leaving::Goto && name == "stmt" {
            lines.push(format!("{name} = NULL;"));
        }
        lines.join("\n")
    }

    /// Adds a read, a computation and a write of the result.
    pub(super) fn read_modify_write(&mut self, groups: &mut Vec<String>) {
        let pairs = [
            ("SELECT total FROM branch WHERE id = ?", "UPDATE branch SET total = ? WHERE id = ?"),
            (
                "SELECT balance FROM account WHERE id = ?",
                "UPDATE account SET balance = ? WHERE id = ?",
            ),
            ("SELECT price FROM item WHERE id = ?", "UPDATE item SET price = ? WHERE id = ?"),
            ("SELECT value FROM setting WHERE id = 1", "UPDATE setting SET value = ? WHERE id = 2"),
        ];
        let (read, write) = self.random.pick(&pairs);
        let find = |all: &[Template], sql| *all.iter().find(|one| one.sql == sql).expect("listed");
        let place = format!("v{}", self.random.below(super::LOCALS as u64));
        let read = self.read_to(find(READS, read), &place);
        let value = self.value();
        let write = self.write_of(find(WRITES, write), Some(&place));
        groups.push(read);
        groups.push(format!("{place} = ({place} + {value}) % 1000;"));
        if self.random.chance(40) {
            let between = self.write();
            groups.push(between);
        }
        groups.push(write);
    }

    /// Adds an exit that protects a division, with a read that uses the result.
    pub(super) fn guarded_division(&mut self, groups: &mut Vec<String>) {
        let (divisor, place, other, value) = (
            self.random.pick(&["in->count", "v0", "v1"]),
            self.place(),
            self.place(),
            self.value(),
        );
        let condition = match self.random.chance(50) {
            true => format!("{divisor} == 0"),
            false => format!("{divisor} == 0 || {other} > 400"),
        };
        if self.random.chance(50) {
            let read = self.draw(READS, true);
            let read = self.read_to(read, &other);
            groups.push(read);
        }
        // The divisor is used again below.
        let place = if place == divisor || place == "*where" { "v2".to_string() } else { place };
        let exit = self.leave_if(&condition);
        groups.push(exit);
        if self.random.chance(50) {
            let write = self.write();
            groups.push(write);
        }
        groups.push(format!("{place} = {value} / {divisor};"));
        let read = self.random.pick(&READS[..8]);
        let target = self.place();
        let mut read = self.read_to(read, &target);
        if self.random.chance(50) {
            read = read.replacen("in->a", &format!("10 / {divisor}"), 1);
        }
        groups.push(read);
    }

    /// Adds a change of a child row and one of its parent row.
    pub(super) fn foreign_pair(&mut self, groups: &mut Vec<String>) {
        const CHILDREN: [Template; 2] = [
            Template {
                sql: "UPDATE account SET branch_id = ? WHERE id = ?",
                parameters: &[Parameter::NewKey, Parameter::Key],
                columns: 0,
            },
            Template {
                sql: "INSERT INTO account VALUES (?, ?, 1, 1, 1)",
                parameters: &[Parameter::NewKey, Parameter::NewKey],
                columns: 0,
            },
        ];
        const PARENTS: [Template; 2] = [
            Template {
                sql: "INSERT INTO branch VALUES (?, 'late', 0, 0)",
                parameters: &[Parameter::NewKey],
                columns: 0,
            },
            Template {
                sql: "UPDATE branch SET id = ? WHERE id = 4",
                parameters: &[Parameter::NewKey],
                columns: 0,
            },
        ];
        let (child, parent) = (self.random.pick(&CHILDREN), self.random.pick(&PARENTS));
        let key = self.random.between(20, 40).to_string();
        let mut with_key = |template: Template| {
            let mut arguments = self.arguments(template);
            let keys = arguments.iter_mut().filter(|(one, _)| *one == Parameter::NewKey);
            keys.for_each(|(_, argument)| argument.clone_from(&key));
            self.run_write(template, &arguments)
        };
        let mut pair = [with_key(child), with_key(parent)];
        if self.random.chance(50) {
            pair.reverse();
        }
        groups.extend(pair);
    }

    /// Adds a read of a text and its use.
    pub(super) fn copied_text(&mut self, groups: &mut Vec<String>) {
        let buffer = self.name("text");
        let key = self.key();
        let (name, declaration) = self.statement_variable();
        let mut lines: Vec<String> = declaration.into_iter().collect();
        let template =
            Template { sql: "SELECT name FROM branch WHERE id = ?", parameters: &[], columns: 1 };
        lines.push(format!("char {buffer}[32] = \"\";"));
        lines.extend(self.prepared(&name, template, &[(Parameter::Key, key)]));
        lines.push(format!(
            "if (sqlite3_step({name}) == SQLITE_ROW)\n    snprintf({buffer}, sizeof {buffer}, \
             \"%s\", (const char *)sqlite3_column_text({name}, 0));"
        ));
        lines.push(format!("sqlite3_finalize({name});"));
        if self.style.leaving == Leaving::Goto && name == "stmt" {
            lines.push(format!("{name} = NULL;"));
        }
        groups.push(lines.join("\n"));
        let write = self.write();
        groups.push(write);
        groups.push(format!("strcpy(out->text, {buffer});"));
    }
}
