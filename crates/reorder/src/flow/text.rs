//! The SQL text that a pointer leads to: a literal, a constant, or a buffer that `snprintf` fills.
//!
//! A value that a format puts into the text becomes a parameter of the query: `%d`, and a quoted
//! literal that contains a conversion. What stands elsewhere, such as the name of a table, must be
//! known. Where several texts may have been put into a buffer, each of them is returned.

mod built;
mod passed;

use std::ops::Range;

use super::{
    Flow,
    access::variable,
    graph::NodeIndex,
    parameter::Written,
    place::{Place, Root, Step},
};
use crate::{
    api::{Call, Returns, Server},
    ir::{Expression, ExpressionKind as Kind, Type, VariableIndex},
};

/// The texts that are possible at most.
const MOST: usize = 64;

/// The texts that are possible, or the fact that is missing.
pub(super) type Texts = Result<Vec<String>, String>;

/// Returns the texts that an expression of a node may lead to, for a query whose own accesses of
/// the node are in a range.
///
/// # Errors
/// The fact that is missing.
pub(super) fn of<'a>(
    flow: &Flow<'a, '_>,
    expression: &'a Expression,
    node: NodeIndex,
    own: &Range<usize>,
) -> Texts {
    Ok(plain(Reader::of(flow, node, own).text(expression, node)?))
}

/// Returns the texts that a format and its values of a node may make, for such a query.
///
/// # Errors
/// The fact that is missing.
pub(super) fn formatted<'a>(
    flow: &Flow<'a, '_>,
    format: &'a Expression,
    values: &'a [Expression],
    node: NodeIndex,
    own: &Range<usize>,
) -> Texts {
    Ok(plain(Reader::of(flow, node, own).made(format, values, node)?))
}

/// Reads texts. A value that a format puts into one stands there as its number in `written`.
pub(super) struct Reader<'f, 'a, 'p> {
    flow: &'f Flow<'a, 'p>,
    /// The node of the query that runs the text, and which of the node's accesses are those of the
    /// query itself: it writes behind its read of the text.
    query: (NodeIndex, Range<usize>),
    depth: usize,
    /// The variables that receive the texts which are being made.
    receivers: Vec<VariableIndex>,
    /// The values.
    pub(super) written: Vec<Written<'a>>,
    /// The nodes that use a text with a value from a variable, each with the node that put the text
    /// there.
    pub(super) sources: Vec<(NodeIndex, NodeIndex)>,
}

impl<'f, 'a, 'p> Reader<'f, 'a, 'p> {
    pub(super) fn of(
        flow: &'f Flow<'a, 'p>,
        node: NodeIndex,
        own: &Range<usize>,
    ) -> Reader<'f, 'a, 'p> {
        let query = (node, own.clone());
        Reader { flow, query, depth: 0, receivers: vec![], written: vec![], sources: vec![] }
    }

    /// Returns which accesses of a node are those of the query.
    fn own(&self, node: NodeIndex) -> Range<usize> {
        if node == self.query.0 { self.query.1.clone() } else { 0..0 }
    }

    /// Returns the texts that a format and its values make.
    pub(super) fn made(
        &mut self,
        format: &'a Expression,
        values: &'a [Expression],
        node: NodeIndex,
    ) -> Texts {
        let mut texts = Vec::new();
        for format in self.text(format, node)? {
            texts.extend(self.formatted(vec![String::new()], &format, values, node)?);
        }
        Ok(texts)
    }

    pub(super) fn text(&mut self, expression: &'a Expression, node: NodeIndex) -> Texts {
        self.depth += 1;
        if self.depth > 64 {
            return Err("the SQL text depends on itself".to_string());
        }
        let texts = match &expression.kind {
            Kind::Text(text) => Ok(vec![text.clone()]),
            Kind::Cast(_, operand) => self.text(operand, node),
            Kind::Assign { operator: None, value, .. } => self.text(value, node),
            Kind::Conditional(_, yes, no) => {
                Ok([self.text(yes, node)?, self.text(no, node)?].concat())
            }
            Kind::Construct(_, arguments) | Kind::Call { arguments, .. } => {
                self.of_call(expression, arguments, node)
            }
            Kind::Field { base, .. } | Kind::Element { base, .. }
                if matches!(base.kind, Kind::Variable(_)) =>
            {
                self.of_part(expression, base, node)
            }
            _ => match variable(expression) {
                Some(variable) => self.of_variable(variable, node),
                None => Err("the SQL text is computed in a way that is not followed".to_string()),
            },
        };
        self.depth -= 1;
        texts
    }

    /// Returns the texts that a call returns.
    fn of_call(
        &mut self,
        expression: &'a Expression,
        arguments: &'a [Expression],
        node: NodeIndex,
    ) -> Texts {
        let model = self.model_of(expression);
        if let Some(model) = model
            && let Some(builds) = &model.builds
            && builds.to.is_none_or(|to| model.returns == Returns::Borrowed(to))
        {
            return self.built(builds, arguments, node);
        }
        match model.map(|model| model.returns) {
            Some(Returns::Borrowed(argument)) if argument < arguments.len() => {
                self.text(&arguments[argument], node)
            }
            _ => Err("the SQL text comes from a call whose text no model describes".to_string()),
        }
    }

    fn model_of(&self, expression: &'a Expression) -> Option<&'a Call> {
        match &expression.kind {
            Kind::Call { callee, .. } => self.flow.around.models.call(callee),
            Kind::Construct(class, _) => self.flow.around.models.construct(class),
            _ => None,
        }
    }

    pub(super) fn of_variable(&mut self, variable: VariableIndex, node: NodeIndex) -> Texts {
        let program = self.flow.around.program;
        let named = program.variable(variable);
        if let Some(initial) = &named.initial
            && !self.flow.around.summaries.is_assigned(variable)
        {
            return self.text(initial, node);
        }
        let place = Place::whole(Root::Variable(variable));
        let reaching = self.flow.reaching(node, &place);
        let missing = || format!("the SQL text in `{}` has no known source", named.name);
        if !self.is_read_first(variable, node) {
            return Err(missing());
        }
        let is_pointer = matches!(named.ty, Type::Pointer { .. } | Type::Reference { .. });
        if is_pointer && !self.receivers.contains(&variable) {
            self.check_node(&place, node)?;
        }
        let mut texts = Vec::new();
        for &definition in &reaching {
            let definition = &self.flow.definitions.all[definition];
            // Of several writes, each must have made the whole text.
            if reaching.len() > 1 && !definition.strong {
                return Err(missing());
            }
            if is_pointer {
                self.check_memory(&place, definition.node, node)?;
            }
            let found = match definition.value {
                Some(value) => {
                    // The value is read before the variable is written.
                    self.receivers.push(variable);
                    let texts = self.text(value, definition.node);
                    self.receivers.pop();
                    texts?
                }
                None => self.of_write(variable, definition.node).ok_or_else(missing)??,
            };
            if found.iter().any(|text| text.contains(HOLE)) {
                self.sources.push((node, definition.node));
            }
            texts.extend(found);
        }
        if texts.is_empty() || texts.len() > MOST { Err(missing()) } else { Ok(texts) }
    }

    /// Checks that a node which uses the text behind a pointer does not write its memory.
    fn check_node(&self, pointer: &Place, node: NodeIndex) -> Result<(), String> {
        let (flow, own) = (self.flow, self.own(node));
        let memory = flow.led_to_at(pointer, node);
        match memory.iter().any(|place| flow.writes_beside(node, &own, place)) {
            true => Err(WRITTEN.to_string()),
            false => Ok(()),
        }
    }

    /// Checks that the memory which a pointer leads to is not written between the definition of the
    /// pointer, by the node `defined`, and its use.
    fn check_memory(
        &self,
        pointer: &Place,
        defined: NodeIndex,
        used: NodeIndex,
    ) -> Result<(), String> {
        let flow = self.flow;
        let Some(&next) = flow.graph.nodes[defined].successors.first() else { return Ok(()) };
        let behind = |from: NodeIndex, to: NodeIndex| to != next || from == defined;
        let is_written = flow
            .led_to_at(pointer, next)
            .into_iter()
            .any(|place| flow.reaching_by(next, &place, behind) != flow.reaching(used, &place));
        match is_written {
            true => Err(WRITTEN.to_string()),
            false => Ok(()),
        }
    }

    /// Returns the texts that a part of a structure or of an array leads to: by the list that the
    /// variable is initialized with, or by an assignment to the part.
    fn of_part(&mut self, part: &'a Expression, base: &'a Expression, node: NodeIndex) -> Texts {
        let program = self.flow.around.program;
        let unknown = || "the SQL text is computed in a way that is not followed".to_string();
        let Kind::Variable(variable) = base.kind else { return Err(unknown()) };
        let (step, at) = match &part.kind {
            Kind::Field { record, name, .. } => {
                let known = program.records.iter().find(|one| one.name == *record && !one.union);
                let fields = known.map(|known| &known.fields).ok_or_else(unknown)?;
                let at = fields.iter().position(|(field, _)| field == name);
                (Step::Field(record.clone(), name.clone()), at.ok_or_else(unknown)?)
            }
            Kind::Element { index, .. } => {
                let at = program.index(index).ok_or_else(unknown)?;
                (Step::Element(Some(at)), usize::try_from(at).map_err(|_| unknown())?)
            }
            _ => return Err(unknown()),
        };
        let named = program.variable(variable);
        if !matches!(named.ty, Type::Record(_) | Type::Array { .. }) {
            return Err(unknown());
        }
        if let Some(initial) = &named.initial {
            return self.listed(initial, at, node);
        }
        let whole = Place::whole(Root::Variable(variable));
        let place = whole.part(step);
        if self.flow.writes_beside(node, &self.own(node), &place) {
            return Err(unknown());
        }
        self.check_node(&place, node)?;
        let mut texts = Vec::new();
        for definition in self.flow.reaching(node, &place) {
            let definition = &self.flow.definitions.all[definition];
            let value = definition.value.filter(|_| definition.strong).ok_or_else(unknown)?;
            self.check_memory(&place, definition.node, node)?;
            texts.extend(match definition.place == place {
                true => self.text(value, definition.node)?,
                false if definition.place == whole => self.listed(value, at, definition.node)?,
                false => return Err(unknown()),
            });
        }
        if texts.is_empty() || texts.len() > MOST { Err(unknown()) } else { Ok(texts) }
    }

    /// Returns the texts of an element of a list.
    fn listed(&mut self, list: &'a Expression, at: usize, node: NodeIndex) -> Texts {
        let value = match &list.kind {
            Kind::List(values) => values.get(at),
            _ => None,
        };
        let value = value.filter(|value| !matches!(value.kind, Kind::Constant(_)));
        self.text(value.ok_or("the SQL text is no element of a known list")?, node)
    }

    /// Appends a format with its conversions replaced.
    fn formatted(
        &mut self,
        mut out: Vec<String>,
        format: &str,
        values: &'a [Expression],
        node: NodeIndex,
    ) -> Texts {
        let (mut rest, mut values) = (format, values.iter());
        while let Some(at) = rest.find('%') {
            out.iter_mut().for_each(|text| text.push_str(&rest[..at]));
            rest = &rest[at + 1..];
            if let Some(after) = rest.strip_prefix('%') {
                out.iter_mut().for_each(|text| text.push('%'));
                rest = after;
                continue;
            }
            let conversion = |c: char| c.is_ascii_alphabetic() && !"hlLzjt".contains(c);
            let end = rest.find(conversion).ok_or("the format ends within a conversion")?;
            let width_from_argument = rest[..end].matches('*').count();
            let value = values.nth(width_from_argument).ok_or("the format lacks an argument")?;
            let is_text = rest[end..].starts_with('s');
            let parts = if is_text && !out.iter().all(|before| ends_quoted(before)) {
                let texts = self.text(value, node);
                texts.map_err(|_| UNKNOWN_TEXT)?
            } else {
                let conversion = rest[..=end].to_string();
                self.written.push(Written { conversion, value, node });
                vec![format!("{HOLE}{}{HOLE_END}", self.written.len() - 1)]
            };
            out = joined(&out, &parts)?;
            rest = &rest[end + 1..];
        }
        out.iter_mut().for_each(|text| text.push_str(rest));
        Ok(out)
    }
}

/// Returns each text followed by each part.
fn joined(texts: &[String], parts: &[String]) -> Texts {
    if texts.len() * parts.len() > MOST {
        return Err("the SQL text is one of too many".to_string());
    }
    let pairs = texts.iter().flat_map(|text| parts.iter().map(move |part| (text, part)));
    Ok(pairs.map(|(text, part)| format!("{text}{part}")).collect())
}

/// Returns true if a text certainly is a query that writes nothing, not even by a function.
pub(super) fn only_reads(text: &str) -> bool {
    let words: Vec<String> = words(text).collect();
    words.first().is_some_and(|first| first == "SELECT")
        && !words.iter().any(|one| one == "INTO")
        && !text.contains('(')
}

/// Returns true if a text certainly inserts a row, or fails.
pub(super) fn inserts(text: &str) -> bool {
    let words: Vec<String> = words(text).collect();
    let may_insert_none = ["OR", "ON", "IGNORE", "SELECT", "REPLACE", "WITH"];
    words.first().is_some_and(|first| first == "INSERT")
        && words.iter().any(|one| one == "VALUES" || one == "VALUE")
        && !words.iter().any(|one| may_insert_none.contains(&one.as_str()))
}

/// Returns true if a text certainly is a query that returns no rows.
pub(super) fn returns_no_rows(text: &str) -> bool {
    let words: Vec<String> = words(text).collect();
    let changes = ["INSERT", "UPDATE", "DELETE", "REPLACE"];
    words.first().is_some_and(|first| changes.contains(&first.as_str()))
        && !words.iter().any(|one| one == "RETURNING")
}

fn words(text: &str) -> impl Iterator<Item = String> {
    let words = text.split(|c: char| c != '_' && !c.is_alphanumeric());
    words.filter(|word| !word.is_empty()).map(str::to_ascii_uppercase)
}

/// Returns true if a text ends within a quoted literal.
fn ends_quoted(text: &str) -> bool {
    text.matches('\'').count() % 2 == 1
}

/// The reason why the text behind a pointer is not known.
const WRITTEN: &str = "the memory with the SQL text may be written before the query";

/// The reason why a text that is no quoted value makes the SQL unknown.
const UNKNOWN_TEXT: &str = "a `%s` outside of quotes puts an unknown text into the SQL: a value is \
                            known to be one if it stands in quotes, or if the program writes it as \
                            a number (`%d`, `%.2f`)";

/// Stands for a value that is not known; no SQL text contains it.
const HOLE: &str = "\u{1}";

/// Ends the number of a value that a format puts into a text: the number stands behind a hole.
const HOLE_END: char = '\u{2}';

/// Returns texts, each once, whose values have no numbers.
fn plain(texts: Vec<String>) -> Vec<String> {
    let plain = |text: &String| {
        let mut parts = text.split(HOLE);
        let first = parts.next().unwrap_or_default().to_string();
        parts.fold(first, |text, part| text + HOLE + numbered(part).1)
    };
    let mut texts: Vec<String> = texts.iter().map(plain).collect();
    texts.sort();
    texts.dedup();
    texts
}

/// Separates what stands behind a hole into the number of the value and the rest.
fn numbered(part: &str) -> (Option<usize>, &str) {
    match part.split_once(HOLE_END) {
        Some((number, rest)) => (number.parse().ok(), rest),
        None => (None, part),
    }
}

/// Returns the number of the value that is a whole text.
pub(super) fn only_value(text: &str) -> Option<usize> {
    let (number, rest) = numbered(text.strip_prefix(HOLE)?);
    number.filter(|_| rest.is_empty())
}

/// Replaces the values that are not known by parameters.
pub(crate) fn with_parameters(text: &str, server: Server) -> String {
    parameters(text, server).0
}

/// Replaces the values that are not known by parameters. Returns as well, of each parameter that
/// stands for one value, its number and that of the value, if they are known.
pub(super) fn parameters(text: &str, server: Server) -> (String, Vec<(usize, usize)>) {
    let (mut out, mut values) = (String::new(), Vec::new());
    let mut next = match server {
        Server::Postgresql => highest_parameter(text),
        Server::Mysql | Server::Sqlite => 0,
    };
    let mut parameter = |out: &mut String, value: Option<usize>| {
        values.extend(value.map(|value| (next, value)));
        next += 1;
        match server {
            Server::Postgresql => out.push_str(&format!("${next}")),
            Server::Mysql | Server::Sqlite => out.push('?'),
        }
    };
    let pieces: Vec<&str> = text.split('\'').collect();
    for (at, piece) in pieces.iter().enumerate() {
        let quoted = at % 2 == 1 && at + 1 < pieces.len();
        if quoted && piece.contains(HOLE) {
            parameter(&mut out, only_value(piece));
        } else if quoted {
            out.push_str(&format!("'{piece}'"));
        } else {
            let parts: Vec<&str> = piece.split(HOLE).collect();
            out.push_str(parts[0]);
            for part in &parts[1..] {
                let (value, rest) = numbered(part);
                parameter(&mut out, value);
                out.push_str(rest);
            }
        }
    }
    // Parameters of the text itself have numbers as well.
    let has_own = |signs: &[char]| server != Server::Postgresql && text.contains(signs);
    if has_own(&['?']) || server == Server::Sqlite && has_own(&['$', ':', '@']) {
        values.clear();
    }
    (out, values)
}

fn highest_parameter(text: &str) -> usize {
    let after_dollar = text.split('$').skip(1);
    let number = |part: &str| {
        let digits: String = part.chars().take_while(char::is_ascii_digit).collect();
        digits.parse().unwrap_or(0)
    };
    after_dollar.map(number).max().unwrap_or(0)
}
