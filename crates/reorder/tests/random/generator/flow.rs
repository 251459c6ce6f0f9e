//! Computations, branches, loops, exits and outputs.

use super::{Generator, indented};

/// The deepest nesting of branches and loops.
const DEPTH: usize = 2;

impl Generator {
    /// Adds a statement, or several that belong together.
    pub(super) fn statement(&mut self, depth: usize, groups: &mut Vec<String>) {
        let on = u32::from;
        let deeper = on(depth < DEPTH);
        let top = on(depth == 0);
        let style = self.style.clone();
        let weights = [
            26,
            34,
            12,
            deeper * on(style.branches) * 12,
            deeper * on(style.loops) * (12 + on(style.long_bodies) * 20),
            8,
            top * on(style.guards) * 20,
            on(style.prints) * 10,
            on(style.unknown_calls) * 8,
            top * 8,
            top * on(style.pointers) * 6,
            top * on(style.declares_late) * 10,
            top * 6,
            top * on(style.tables.contains(&"account")) * 8,
            on(self.reuses) * 200,
        ];
        match self.random.weighted(&weights) {
            0 => {
                let read = self.read();
                groups.push(read);
            }
            1 => {
                let write = self.write();
                groups.push(write);
            }
            2 => {
                let computation = self.computation();
                groups.push(computation);
            }
            3 => {
                let branch = self.branch(depth);
                groups.push(branch);
            }
            4 => {
                let repeated = self.repetition(depth);
                groups.push(repeated);
            }
            5 => {
                let condition = self.rare_condition();
                let exit = self.leave_if(&condition);
                groups.push(exit);
            }
            6 => self.guarded_division(groups),
            7 => {
                let value = self.value();
                let number = self.random.below(9);
                groups.push(format!("printf(\"note {number} %d\\n\", {value});"));
            }
            8 => {
                let (place, value) = (self.place(), self.value());
                groups.push(format!("{place} = outside_call(db, {value});"));
            }
            9 => self.read_modify_write(groups),
            10 => {
                let alias = self.alias();
                groups.push(alias);
            }
            11 => self.late_declaration(groups),
            12 => self.copied_text(groups),
            13 => self.foreign_pair(groups),
            _ => self.reuse(groups),
        }
    }

    /// Returns a place that a value may be assigned to.
    pub(super) fn place(&mut self) -> String {
        match self.random.chance(60) {
            true => format!("v{}", self.random.below(super::LOCALS as u64)),
            false => self.random.pick(&self.places),
        }
    }

    /// Returns an expression for a number.
    pub(super) fn value(&mut self) -> String {
        match self.random.weighted(&[50, 10, 10, 6, 10, 4]) {
            0 => self.place(),
            1 => self.random.between(1, 20).to_string(),
            2 => self.random.pick(&["in->n", "in->a", "in->count"]).to_string(),
            3 => match self.indexes.last().cloned() {
                Some(index) => format!("in->list[{index}]"),
                None => "in->list[2]".to_string(),
            },
            4 => format!("{} + {}", self.place(), self.random.between(1, 9)),
            _ => {
                let (a, b) = (self.place(), self.place());
                format!("mix({a} % 50, {b} % 50)")
            }
        }
    }

    /// Adds statements that give a variable or the buffer another value, and use it.
    fn reuse(&mut self, groups: &mut Vec<String>) {
        let (local, value) = (format!("v{}", self.random.below(2)), self.value());
        match self.random.weighted(&[60, 25, 4, 3, 8, 8]) {
            0 => {
                // The second read needs the value of the first one, and so do the writes.
                for second in [false, true] {
                    self.next_key = second.then(|| format!("({local} & 3) + 1"));
                    let read = self.read_for(&local);
                    self.next_key = None;
                    let write = self.write_with(&local);
                    groups.extend([read, write]);
                }
            }
            1 => {
                groups.push(format!("snprintf(buffer, sizeof buffer, \"%d\", {value});"));
                let insert = self.insert_of("buffer");
                groups.push(insert);
            }
            2 => {
                let line = format!(
                    "snprintf(buffer, sizeof buffer, \"%d\", atoi(buffer) % 50 + {value});"
                );
                groups.push(line);
            }
            3 => groups.push(format!("buffer[0] = (char)('a' + (({value}) & 7));")),
            4 => {
                let write = self.write_with(&local);
                groups.extend([write, format!("adjust(&{local});")]);
            }
            _ => {
                let write = self.write_with(&local);
                groups.extend([write, format!("{local} += {};", self.random.between(1, 9))]);
            }
        }
    }

    fn computation(&mut self) -> String {
        let (place, a, b) = (self.place(), self.value(), self.value());
        let text = match self.random.below(6) {
            0 => format!("{place} = {a};"),
            1 => format!("{place} = ({a} + {b}) % 1000;"),
            2 => format!("{place} = ({a} - {b}) % 1000;"),
            3 => format!("{place} = {a} > {} ? {a} : {b};", self.random.below(40)),
            4 => format!("{place} = ({place} % 100) * 2 + 1;"),
            _ => format!("{place} += {};", self.random.between(1, 9)),
        };
        match self.random.one_in(8) {
            true => format!("/* Follows the line above. */\n{text}"),
            false => text,
        }
    }

    /// Returns a condition that is often true and often false.
    fn condition(&mut self) -> String {
        let (a, b) = (self.value(), self.random.below(60));
        match self.random.below(3) {
            0 => format!("{a} > {b}"),
            1 => format!("({a}) % 2 == 0"),
            _ => format!("{a} < {b} && in->count > 0"),
        }
    }

    /// Returns a condition that is seldom true.
    fn rare_condition(&mut self) -> String {
        let value = self.value();
        match self.random.below(3) {
            0 => format!("{value} > 400"),
            1 => format!("{value} == {}", self.random.below(60)),
            _ => format!("{value} < -20"),
        }
    }

    fn block(&mut self, depth: usize) -> String {
        let mut inner = Vec::new();
        let (least, most) = if self.style.long_bodies { (2, 4) } else { (1, 2) };
        for _ in 0..self.random.between(least, most) {
            self.statement(depth + 1, &mut inner);
        }
        indented(&inner.join("\n"))
    }

    fn branch(&mut self, depth: usize) -> String {
        let (condition, then) = (self.condition(), self.block(depth));
        match self.random.chance(50) {
            true => format!("if ({condition}) {{\n{then}\n}}"),
            false => {
                let otherwise = self.block(depth);
                format!("if ({condition}) {{\n{then}\n}} else {{\n{otherwise}\n}}")
            }
        }
    }

    fn repetition(&mut self, depth: usize) -> String {
        let index = ["i", "j"][self.indexes.len().min(1)];
        let count = self.random.pick(&["in->count", "4", "3"]);
        self.indexes.push(index.to_string());
        let body = match self.style.long_bodies && self.random.chance(60) {
            true if self.style.shares && self.random.chance(80) => self.sharing_queries(index),
            true => self.queries(index),
            false => self.block(depth),
        };
        self.indexes.pop();
        format!("for ({index} = 0; {index} < {count}; {index}++) {{\n{body}\n}}")
    }

    /// Returns queries of a loop, which read into elements of the iteration.
    fn queries(&mut self, index: &str) -> String {
        let mut inner = Vec::new();
        let style = self.style.clone();
        self.style.by_helper = 0;
        self.style.shares_statement &= self.random.chance(30);
        for _ in 0..self.random.between(2, 3) {
            let slot = format!("slots[{index}]");
            let query = match self.random.weighted(&[40, 30, 30]) {
                0 => self.read_for(&slot),
                1 => self.write_with(&slot),
                _ => self.write(),
            };
            inner.push(query);
            self.skip(&slot, index, &mut inner);
        }
        self.style = style;
        indented(&inner.join("\n"))
    }

    /// Returns queries of a loop, which share variables and a buffer within an iteration.
    fn sharing_queries(&mut self, index: &str) -> String {
        let mut inner = Vec::new();
        let style = self.style.clone();
        self.style.by_helper = 0;
        self.style.shares_statement &= self.random.chance(30);
        if self.random.chance(60) {
            self.style.tables = &[];
        }
        let mut shared = vec![format!("in->list[{index}]")];
        let mut last = Vec::new();
        for _ in 0..self.random.between(2, 3) {
            let (local, value) = (format!("v{}", self.random.below(3)), self.random.pick(&shared));
            match self.random.weighted(&[35, 20, 20, 15, 10]) {
                0 => inner.push(self.read_for(&local)),
                1 => inner.push(format!("{local} = ({value} + {index}) % 1000;")),
                2 => {
                    inner.push(format!("snprintf(digits, sizeof digits, \"%d\", {value});"));
                    shared.push("atoi(digits)".to_string());
                }
                3 => {
                    let name = self.name("fresh");
                    inner.push(format!("int {name} = {value} + 1;"));
                    last.push(format!("{local} = {name};"));
                    shared.push(name);
                }
                _ => inner.push(format!("if ({value} > 20)\n    {local} = {value} % 20;")),
            }
            shared.push(local);
            let value = self.random.pick(&shared);
            let query = match self.random.chance(70) {
                true => self.write_with(&value),
                false => self.write(),
            };
            inner.push(query);
            let value = self.random.pick(&shared);
            self.skip(&value, index, &mut inner);
        }
        inner.extend(last);
        self.style = style;
        indented(&inner.join("\n"))
    }

    /// Adds a statement that ends the iteration if a value or the one of the list says so.
    fn skip(&mut self, value: &str, index: &str, inner: &mut Vec<String>) {
        if !self.style.continues || !self.random.chance(40) {
            return;
        }
        let local = self.random.below(super::LOCALS as u64);
        let (first, last) = (self.random.between(1, 9), "continue;");
        inner.push(match self.random.below(3) {
            0 => format!("if (in->list[{index}] > {first})\n    {last}"),
            1 => format!("if ({value} % 3 == 1)\n    {last}"),
            _ => format!("if ({value} % 3 == 1) {{\n    v{local} = {first};\n    {last}\n}}"),
        });
    }

    fn alias(&mut self) -> String {
        let target = self.random.pick(&["&v0", "&v1", "&p.first", "in->a > 2 ? &v0 : &v1"]);
        format!("where = {target};\n*where += 2;")
    }

    /// Adds a declaration, a use of the variable, and maybe a query between them.
    fn late_declaration(&mut self, groups: &mut Vec<String>) {
        let name = self.name("late");
        if self.random.chance(30) {
            // One declaration with a query and with a variable of its own.
            let (failed, value, key) = (self.name("failed"), self.value(), self.place());
            groups.push(format!("int {failed} = add_total(db, ({key} & 3) + 1, 5), {name};"));
            groups.push(format!("{name} = {value};"));
            let read = self.read_for(&name);
            groups.push(read);
            let exit = self.leave_if(&format!("{failed} != 0"));
            groups.push(exit);
            let target = self.place();
            groups.push(format!("{target} = {name};"));
            self.places.push(name);
            return;
        }
        if self.random.chance(50) {
            let value = self.value();
            groups.push(format!("int {name} = {value};"));
        } else {
            let value = self.value();
            groups.push(format!("int {name};"));
            if self.random.chance(50) {
                let write = self.write();
                groups.push(write);
            }
            groups.push(format!("{name} = {value};"));
        }
        if self.random.chance(60) {
            let write = self.write();
            groups.push(write);
        }
        let place = self.place();
        groups.push(format!("{place} = {name};"));
        self.places.push(name);
    }

    /// Returns a new name.
    pub(super) fn name(&mut self, prefix: &str) -> String {
        self.names += 1;
        format!("{prefix}{}", self.names)
    }
}
