//! The values that a program gives to the parameters of its queries, as expressions: those that a
//! format puts into the SQL or into the text that a parameter points to.
//!
//! A text that a format makes is assumed to fit into its buffer, as in [`text`](super::text).

use super::{
    Flow,
    access::{Access, Evaluation, QueryCall, Sql},
    graph::NodeIndex,
    place::{Place, Root, Step},
    text::{self, Reader},
};
use crate::{
    api::Server,
    flow::Resolver,
    ir::{Expression, ExpressionKind, Type, VariableIndex},
};

/// A value that a format writes into a text.
#[derive(Clone, Debug)]
pub(crate) struct Written<'a> {
    /// The conversion without the `%`: `lld`.
    pub(crate) conversion: String,
    /// The value.
    pub(crate) value: &'a Expression,
    /// The node that evaluates it.
    pub(crate) node: NodeIndex,
}

/// The values that a parameter may have.
#[derive(Debug)]
pub(crate) struct Given<'a> {
    /// The values, of which it has one.
    pub(crate) values: Vec<Written<'a>>,
    /// The way of the values to the query: nodes that use a text from a variable, each with a node
    /// that has put it there.
    pub(crate) sources: Vec<(NodeIndex, NodeIndex)>,
}

impl<'a> Flow<'a, '_> {
    /// Returns the places that an expression denotes at a node.
    pub(crate) fn denoted(&self, expression: &'a Expression, node: NodeIndex) -> Vec<Place> {
        self.around.denoted(expression, &Resolver::at(self, node), node)
    }

    /// Returns the values of a parameter of a query, if formats write them: the parameter with a
    /// number from 0 in one of the texts that the query of a node may run.
    pub(crate) fn given(
        &self,
        query: &QueryCall<'a>,
        node: NodeIndex,
        text: &str,
        number: usize,
    ) -> Option<Given<'a>> {
        let mut reader = Reader::of(self, node, &query.own);
        let values = match query.model.parameters {
            Some(_) => self.pointed_to(&mut reader, query, node, number)?,
            None => self.in_text(&mut reader, query, node, text, number)?,
        };
        let mut given = Vec::new();
        for value in values {
            self.follow_texts(&mut reader, value, &mut given)?;
        }
        Some(Given { values: given, sources: reader.sources })
    }

    /// Returns the numbers of the values that stand in a text for a parameter.
    fn in_text(
        &self,
        reader: &mut Reader<'_, 'a, '_>,
        query: &QueryCall<'a>,
        node: NodeIndex,
        text: &str,
        number: usize,
    ) -> Option<Vec<usize>> {
        let texts = match query.sql {
            Sql::Expression(expression) => reader.text(expression, node).ok()?,
            Sql::Format(format, values) => reader.made(format, values, node).ok()?,
            _ => return None,
        };
        let server = self.server().unwrap_or(Server::Postgresql);
        let all = texts.iter().map(|one| text::parameters(one, server));
        let of_text = all.filter(|(one, _)| one == text);
        of_text
            .map(|(_, values)| values.iter().find(|one| one.0 == number).map(|one| one.1))
            .collect()
    }

    /// Returns the numbers of the values in the texts that a parameter may point to.
    fn pointed_to(
        &self,
        reader: &mut Reader<'_, 'a, '_>,
        query: &QueryCall<'a>,
        node: NodeIndex,
        number: usize,
    ) -> Option<Vec<usize>> {
        let variable = match &self.parameter_places(query, node, number)?[..] {
            [Place { root: Root::Variable(variable), path }]
                if path.iter().all(|step| *step == Step::Element(Some(0))) =>
            {
                *variable
            }
            _ => return None,
        };
        numbers(reader.of_variable(variable, node).ok()?)
    }

    /// Adds the value with a number; of a text in it, the value that the text consists of.
    fn follow_texts(
        &self,
        reader: &mut Reader<'_, 'a, '_>,
        value: usize,
        given: &mut Vec<Written<'a>>,
    ) -> Option<()> {
        let written = reader.written[value].clone();
        if written.conversion != "s" {
            given.push(written);
            return Some(());
        }
        for value in numbers(reader.text(written.value, written.node).ok()?)? {
            self.follow_texts(reader, value, given)?;
        }
        Some(())
    }

    /// Returns the memory that the pointer to a parameter leads to, if the program passes pointers
    /// in an array; `None` if that is not known.
    pub(crate) fn parameter_places(
        &self,
        query: &QueryCall<'a>,
        node: NodeIndex,
        number: usize,
    ) -> Option<Vec<Place>> {
        let ExpressionKind::Call { arguments, .. } = &query.expression.kind else { return None };
        let array: &Expression = arguments.get(query.model.parameters?.array)?;
        let [array] = &self.targets(array, node)[..] else { return None };
        // An array leads to its first element, or to itself.
        let mut array = array.clone();
        if matches!(array.path.last(), Some(Step::Element(_))) {
            array.path.pop();
        }
        let element = array.part(Step::Element(Some(number as u64)));
        let [definition] = self.reaching(node, &element)[..] else { return None };
        let definition = &self.definitions.all[definition];
        let places = self.targets(definition.value?, definition.node);
        (!places.is_empty()).then_some(places)
    }

    /// Returns the value that a variable certainly has at a node, with the node that gives it.
    pub(crate) fn value_of(
        &self,
        variable: VariableIndex,
        node: NodeIndex,
    ) -> Option<(&'a Expression, NodeIndex)> {
        let place = Place::whole(Root::Variable(variable));
        let [definition] = self.reaching(node, &place)[..] else { return None };
        let definition = &self.definitions.all[definition];
        let whole = definition.strong && definition.place == place;
        definition.value.filter(|_| whole).map(|value| (value, definition.node))
    }

    /// Returns what the evaluation of an expression at a node reads and writes.
    pub(crate) fn accesses_of(
        &self,
        expression: &'a Expression,
        node: NodeIndex,
    ) -> Vec<Access<'a>> {
        let pointers = Resolver::at(self, node);
        let mut evaluation = Evaluation::new(self.around, &pointers, node);
        evaluation.value(expression);
        evaluation.into_effects().accesses
    }

    /// Returns the type of an expression, if it is known.
    pub(crate) fn type_of(&self, expression: &'a Expression) -> Option<&'a Type> {
        self.around.type_of(expression)
    }
}

/// Returns the numbers of the values that texts consist of, if each is one value.
fn numbers(texts: Vec<String>) -> Option<Vec<usize>> {
    texts.iter().map(|text| text::only_value(text)).collect()
}
