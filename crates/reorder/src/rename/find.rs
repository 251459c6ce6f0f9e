//! The variables of a program that hold several values.
//!
//! A variable is renamed only if nothing but tokens of its function can reach it: a local variable
//! or a parameter whose address does not escape, that is a number, or an array of numbers or of
//! pointers, and no pointer, structure, object or reference.

use std::collections::BTreeSet;

use super::{
    Candidate, Plan, Refusal, declaration,
    tokens::{Uses, Words},
    webs::{self, Analysis},
};
use crate::{
    api::Models,
    flow::{access::AccessKind, graph::NodeIndex, place::Root, summary::Summaries},
    ir::{Function, Program, Scope, Type, VariableIndex},
    legality::Context,
    rewrite::{Options, Refused, Source, chosen, map_transactions},
    schema::Schema,
    source::Range,
    transaction::Transaction,
};

/// Lists the variables with several values of the functions with transactions that the options
/// choose.
///
/// # Errors
/// [`Refused`] if there is no transaction.
pub fn candidates(
    program: &Program,
    text: &str,
    models: &Models,
    schema: &Schema,
    options: &Options,
) -> Result<Vec<Candidate>, Refused> {
    let summaries = Summaries::of_program(program, models);
    candidates_with(&Source { program, text, models, schema, options }, &summaries)
}

/// Like [`candidates`], with the summaries of the program.
pub(super) fn candidates_with<'s>(
    source: &Source<'s>,
    summaries: &Summaries<'s>,
) -> Result<Vec<Candidate>, Refused> {
    let words = Words::of(source.program, source.text);
    let transactions = chosen(source, summaries)?;
    let work = |seen: &mut BTreeSet<Range>,
                context: &Context<'_, '_, '_>,
                transaction: &Transaction<'_>| {
        let Transaction { function, .. } = *transaction;
        let mut found = Vec::new();
        if seen.insert(function.range) {
            of_function(context, summaries, source.models, &words, function, &mut found);
        }
        Ok(found)
    };
    Ok(map_transactions(source, summaries, &transactions, work)?.concat())
}

fn of_function<'a>(
    context: &Context<'_, 'a, '_>,
    summaries: &Summaries<'a>,
    models: &'a Models,
    words: &Words<'_>,
    function: &'a Function,
    found: &mut Vec<Candidate>,
) {
    let (program, flow) = (context.program, context.flow);
    let uses = Uses::of(program, flow, function);
    let all = Analysis { program, models, summaries, function, flow, uses: &uses };
    for (&variable, tokens) in &uses.of {
        let one = program.variable(variable);
        let is_local = matches!(one.scope, Scope::Local | Scope::Parameter);
        if !is_local || writers(&all, variable).len() < 2 {
            continue;
        }
        let first = tokens.iter().find_map(|one| one.range).unwrap_or(function.range);
        let outcome = match plan(&all, words, variable) {
            Ok(plan) if plan.webs.len() < 2 => continue,
            Ok(plan) => Ok(plan),
            Err((range, reason)) => Err(Refusal {
                function: function.name.clone(),
                variable: one.name.clone(),
                line: range.unwrap_or(first).line(words.text),
                reason: reason.to_string(),
            }),
        };
        let (function, name) = (function.name.clone(), one.name.clone());
        found.push(Candidate { function, variable: name, index: variable, outcome });
    }
}

/// Returns the nodes that write a variable, or a part of it.
fn writers(all: &Analysis<'_, '_, '_>, variable: VariableIndex) -> Vec<NodeIndex> {
    let root = Root::Variable(variable);
    let effects = all.flow.effects.iter().enumerate();
    let writes = effects.filter(|(_, effects)| {
        effects.accesses.iter().any(|one| one.place.root == root && one.kind != AccessKind::Read)
    });
    writes.map(|(node, _)| node).collect()
}

type Reason = (Option<Range>, &'static str);

/// Returns the webs of a variable, and where their names are declared.
fn plan(
    all: &Analysis<'_, '_, '_>,
    words: &Words<'_>,
    variable: VariableIndex,
) -> Result<Plan, Reason> {
    let one = all.program.variable(variable);
    if let Some(reason) = kind(&one.ty, one.scope) {
        return Err((None, reason));
    }
    if one.owner.is_some() {
        return Err((None, "it is an object"));
    }
    if one.volatile || one.constant {
        return Err((None, "it is volatile or constant"));
    }
    if let Some((range, reason)) =
        all.uses.unknown_mention(all.program, words, all.function, &one.name)
    {
        return Err((Some(range), reason));
    }
    if all.flow.is_escaped(variable) {
        return Err((None, "its address is stored or passed on where it is not followed"));
    }
    let range = |node: NodeIndex| Some(all.flow.graph.nodes[node].range);
    let webs = webs::of(all, variable).map_err(|(node, reason)| (range(node), reason))?;
    if let (1, Type::Array { .. }, Some(node)) = (webs.webs.len(), &one.ty, webs.partial) {
        return Err((range(node), "it writes a part of it, so that the rest keeps an older value"));
    }
    let uses = all.uses.of.values().flatten();
    let known: BTreeSet<Range> = uses.filter_map(|one| one.range).collect();
    let declared = declaration::find(all.program, words, all.function, variable, &known)
        .map_err(|(range, reason)| (Some(range), reason))?;
    Ok(Plan { webs: webs.webs, copies: webs.copies, sizes: webs.sizes, declaration: declared })
}

/// Returns the reason why variables of a type keep their names.
fn kind(ty: &Type, scope: Scope) -> Option<&'static str> {
    if webs::is_renameable(ty, scope) {
        return None;
    }
    Some(match ty {
        Type::Pointer { .. } => "it is a pointer",
        Type::Record(_) => "it is a structure",
        Type::Class(_) => "it is an object",
        Type::Reference { .. } => "it is a reference",
        Type::Array { length: None, .. } => "its length is not a constant",
        _ => "it is neither a number nor an array of numbers",
    })
}
