//! Finds the renamings that lower the expected cost.
//!
//! 1. Without the constraints on values that carry the name of a variable with several webs, the
//!    solver gives a bound. If the bound is not lower than the cost, nothing is tried.
//! 2. Each web gets a name of its own, in each function alone: an edited
//!    [excerpt](crate::split::Excerpt), which is read and solved. If the function does not cost
//!    less, it keeps its names. If all transactions are to lock tables in one order, all functions
//!    are edited at once.
//! 3. The order of 2. says which webs may share a name ([`needed`](super::needed)). The text with
//!    only the needed names, in all functions, is read and solved too. Here the program is compared
//!    with the old one (RENAME-1).
//!
//! So a file is read once for all its renamings, in rare cases more often. The best cost
//! with all renamings is a bound for each choice of them; a text that reaches it gains nothing by a
//! second search.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Candidate, Plan, Refusal,
    check::{self, Names, Side},
    edits::Named,
    find::candidates_with,
    needed::{Conflicting, Conflicts, Shared},
    tokens::Words,
};
use crate::{
    api::Models,
    flow::{Flow, summary::Summaries},
    ir::{Function, LeftOut, Program},
    legality::{self, Context, Rule, reads},
    parallel,
    rewrite::{self, Options, Refused, Report, Rewritten, Source, map_transactions, rewrite_with},
    schema::Schema,
    solve::Limits,
    source::{self, Edit},
    split::{Excerpt, trace::Trace},
    transaction::Transaction,
    transform::Parse,
};

/// The limits of the bound. A bound that is not found costs a renaming and no correctness.
const LIMITS: Limits = Limits { states: 200_000, branches: 200 };

/// The models, the schema and the options of a search.
#[derive(Clone, Copy)]
pub(crate) struct Setting<'s> {
    pub(crate) models: &'s Models,
    pub(crate) schema: &'s Schema,
    pub(crate) options: &'s Options,
}

/// A text with renamed variables.
pub(crate) struct Renamed {
    pub(crate) program: Program,
    pub(crate) text: String,
    pub(crate) trace: Trace,
    pub(crate) found: Vec<Found>,
    /// The text in its new order; of one function only, if no other one has changed.
    pub(crate) rewritten: Rewritten,
    /// True if `rewritten` is that of all functions that the options choose.
    pub(crate) is_whole: bool,
}

/// A renaming, by offsets in the text before it.
pub(crate) struct Found {
    pub(crate) function: String,
    pub(crate) variable: String,
    pub(crate) name: String,
    pub(crate) tokens: Vec<usize>,
    pub(crate) write: usize,
    pub(crate) read: usize,
}

/// Renames the variables of a text where that lowers the expected cost; `None` if it does nowhere.
/// The refusals are those of variables that hold a transaction back.
pub(crate) fn pass<E>(
    parse: Parse<'_, E>,
    program: &Program,
    text: &str,
    before: &[Report],
    setting: Setting<'_>,
    refusals: &mut Vec<Refusal>,
) -> Option<Renamed> {
    let Setting { models, schema, options } = setting;
    let hopeful = hopeful(before);
    if hopeful.is_empty() {
        return None;
    }
    let old = Summaries::of_program(program, models);
    let source = Source { program, text, models, schema, options };
    let all = candidates_with(&source, &old).ok()?;
    let is_hopeful = |one: &&Candidate| {
        let names = hopeful.get(&one.function);
        names.is_some_and(|names| names.contains(&one.variable))
    };
    let unique = |one: &&Candidate| {
        program.functions.iter().filter(|other| other.name == one.function).count() == 1
    };
    let chosen: Vec<&Candidate> = all.iter().filter(is_hopeful).filter(unique).collect();
    refusals.extend(chosen.iter().filter_map(|one| one.outcome.clone().err()));
    let words = Words::of(program, text);
    let plans = chosen.into_iter().filter_map(|one| Some((one, one.outcome.as_ref().ok()?)));
    let chosen: Vec<Chosen<'_>> = plans.map(|(one, plan)| Chosen::of(one, plan, &words)).collect();
    let words = &words;
    let left_out = None;
    let search = Search { parse, program, text, setting, before, words, old: &old, left_out };
    let groups: Vec<&[Chosen<'_>]> = match options.lock_order {
        true => vec![&chosen],
        false => chosen.chunk_by(|one, other| one.function() == other.function()).collect(),
    };
    let mut needed = parallel::map(&groups, &|group| search.needed(group)).concat();
    let only = only_function(&needed, options);
    let setting = Setting { options: only.as_ref().unwrap_or(options), ..setting };
    let renamed = Search { setting, ..search }.version(&mut needed)?;
    Some(Renamed { is_whole: only.is_none(), ..renamed })
}

/// Returns the options for the function of all variables, if there is only one: no other function
/// changes.
fn only_function(chosen: &[Chosen<'_>], options: &Options) -> Option<Options> {
    let function = chosen.first()?.function();
    let is_only = chosen.iter().all(|one| one.function() == function);
    let function = Some(function.to_owned());
    (is_only && !options.lock_order).then(|| Options { function, ..options.clone() })
}

/// Returns the variables whose renaming could lower the cost, by functions.
fn hopeful(reports: &[Report]) -> BTreeMap<String, BTreeSet<String>> {
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for report in reports {
        let name = |reason: &str| Some(reason.split('`').nth(1)?.to_string());
        let is_of_name = |rule: Rule| matches!(rule, Rule::WriteAfterRead | Rule::WriteAfterWrite);
        let (named, kept): (Vec<_>, Vec<_>) =
            report.constraints.iter().cloned().partition(|one| is_of_name(one.rule));
        let names: BTreeSet<String> = named.iter().filter_map(|one| name(&one.reason)).collect();
        if names.is_empty() {
            continue;
        }
        let mut problem = report.problem();
        let without = legality::problem(report.units.len(), &kept);
        problem.before = without.before;
        problem.before.extend(&report.lock_order);
        problem.outside = without.outside;
        let bound = problem.solve_from(&report.solution.order, LIMITS);
        if bound.is_ok_and(|bound| bound.cost < report.solution.cost) {
            found.entry(report.function.clone()).or_default().extend(names);
        }
    }
    found
}

/// A variable with the names of its webs.
#[derive(Clone)]
struct Chosen<'c> {
    candidate: &'c Candidate,
    plan: &'c Plan,
    names: Vec<String>,
    of_web: Vec<usize>,
    reasons: Vec<Conflicting>,
}

impl<'c> Chosen<'c> {
    /// Gives each web a name of its own.
    fn of(candidate: &'c Candidate, plan: &'c Plan, words: &Words<'_>) -> Chosen<'c> {
        let count = plan.webs.len();
        let names = words.new_names(&candidate.variable, count - 1);
        Chosen { candidate, plan, names, of_web: (0..count).collect(), reasons: Vec::new() }
    }

    /// Returns the name of its function.
    fn function(&self) -> &'c str {
        &self.candidate.function
    }

    fn named(&self) -> Named<'_> {
        let (plan, variable) = (self.plan, self.candidate.variable.as_str());
        Named { plan, variable, names: &self.names, of_web: &self.of_web }
    }

    fn is_renamed(&self) -> bool {
        self.of_web.iter().any(|&name| name > 0)
    }
}

struct Search<'s, E> {
    parse: Parse<'s, E>,
    program: &'s Program,
    text: &'s str,
    setting: Setting<'s>,
    before: &'s [Report],
    words: &'s Words<'s>,
    /// The summaries of the functions before the renaming.
    old: &'s Summaries<'s>,
    /// The facts of the functions whose bodies `text` lacks, if it is an excerpt.
    left_out: Option<&'s LeftOut>,
}

impl<'s, E> Search<'s, E> {
    /// Returns the variables with the names that they need, if these lower the cost. They are those
    /// of one function, or of all.
    fn needed<'c>(&self, chosen: &[Chosen<'c>]) -> Vec<Chosen<'c>> {
        let Setting { models, options, .. } = self.setting;
        let Some(only) = only_function(chosen, options) else {
            return self.shared(chosen).unwrap_or_default();
        };
        let function = only.function.as_deref().unwrap_or_default();
        let setting = Setting { options: &only, ..self.setting };
        if let Some(excerpt) = Excerpt::of(self.program, self.text, models, self.old, function) {
            let (text, left_out) = (&*excerpt.text, Some(&excerpt.left_out));
            let shared = Search { setting, text, left_out, ..*self }.shared(chosen);
            if shared.is_some() || (self.parse)(text).is_ok() {
                return shared.unwrap_or_default();
            }
        }
        Search { setting, ..*self }.shared(chosen).unwrap_or_default()
    }

    /// Lets webs that have names of their own share them; `None` if that does not lower the cost.
    fn shared<'c>(&self, chosen: &[Chosen<'c>]) -> Option<Vec<Chosen<'c>>> {
        let mut chosen = chosen.to_vec();
        let apart = self.version(&mut chosen)?;
        let unplaced = self.share(&apart, &mut chosen);
        self.place(unplaced, &mut chosen);
        Some(chosen)
    }

    fn read(&self, text: &str) -> Option<Program> {
        let program = (self.parse)(text).ok()?;
        Some(match self.left_out {
            Some(left_out) => Program { left_out: left_out.clone(), ..program },
            None => program,
        })
    }

    /// Returns the text with the names of the variables, without the functions that do not cost
    /// less; these are taken from the list.
    fn version(&self, chosen: &mut Vec<Chosen<'_>>) -> Option<Renamed> {
        let Setting { models, schema, options } = self.setting;
        loop {
            chosen.retain(Chosen::is_renamed);
            if chosen.is_empty() {
                return None;
            }
            let edits: Vec<Edit> =
                chosen.iter().flat_map(|one| one.named().edits(self.words)).collect();
            let text = source::apply(self.text, &edits);
            let program = self.read(&text)?;
            let new = Summaries::of_program(&program, models);
            let source = Source { program: &program, text: &text, models, schema, options };
            let rewritten = rewrite_with(&source, &new).ok()?;
            let after = &rewritten.transactions;
            let functions: BTreeSet<&str> =
                chosen.iter().map(|one| one.candidate.function.as_str()).collect();
            let is_better = |function: &&str| {
                let (before, after) = (cost(self.before, function), cost(after, function));
                after.0 == before.0
                    && after.1 < before.1
                    && (self.left_out.is_some() || self.is_same(&program, &new, function, chosen))
            };
            let kept: BTreeSet<&str> = functions.into_iter().filter(is_better).collect();
            let count = chosen.len();
            chosen.retain(|one| kept.contains(one.candidate.function.as_str()));
            if chosen.len() == count {
                let trace = Trace::of(&edits);
                let found = chosen.iter().flat_map(found).collect();
                let is_whole = false;
                return Some(Renamed { program, text, trace, found, rewritten, is_whole });
            }
        }
    }

    /// Returns true if a function does what it did before (RENAME-1).
    fn is_same<'n>(
        &self,
        program: &'n Program,
        summaries: &Summaries<'n>,
        function: &str,
        chosen: &[Chosen<'_>],
    ) -> bool {
        let mut names = Names::default();
        for one in chosen {
            let Candidate { variable, index, .. } = one.candidate;
            let used = one.named().used().into_iter();
            if one.candidate.function == function {
                names.own.extend(used.map(|new| (new, (variable.clone(), *index))));
            } else {
                names.others.extend(used);
            }
        }
        let models = self.setting.models;
        let (old, new) = (self.program.function(function), program.function(function));
        let (Some(old), Some(new)) = (old, new) else { return false };
        let old = Flow::of(self.program, models, self.old, old);
        let new = Flow::of(program, models, summaries, new);
        let old = Side { program: self.program, flow: &old };
        check::same(old, Side { program, flow: &new }, &names).is_ok()
    }

    /// Lets webs share a name where the order of a text in which they do not allows it. Returns
    /// the webs for which it allows none, each with the index of its variable.
    fn share(&self, apart: &Renamed, chosen: &mut [Chosen<'_>]) -> Vec<(usize, usize)> {
        let mut conflicts: Vec<Conflicts> = chosen.iter().map(|_| Conflicts::default()).collect();
        for (at, later) in self.conflicts(apart, chosen).into_iter().flatten().flatten() {
            conflicts[at].add(later);
        }
        let mut all_unplaced = Vec::new();
        for (at, (one, conflicts)) in chosen.iter_mut().zip(conflicts).enumerate() {
            let Shared { of_web, mut reasons, unplaced } = conflicts.names(one.plan);
            for reason in &mut reasons {
                reason.write = apart.trace.before(reason.write);
                reason.read = apart.trace.before(reason.read);
            }
            (one.of_web, one.reasons) = (of_web, reasons);
            all_unplaced.extend(unplaced.into_iter().map(|web| (at, web)));
        }
        all_unplaced
    }

    /// Returns the conflicts of each variable in each transaction, each with the index of the
    /// variable.
    fn conflicts(
        &self,
        apart: &Renamed,
        all: &[Chosen<'_>],
    ) -> Result<Vec<Vec<(usize, Conflicts)>>, Refused> {
        let Setting { models, schema, options } = self.setting;
        let (program, text) = (&apart.program, apart.text.as_str());
        let source = Source { program, text, models, schema, options };
        let summaries = Summaries::of_program(program, models);
        let is_of = |function: &Function, one: &Chosen<'_>| one.function() == function.name;
        let mut transactions = rewrite::chosen(&source, &summaries)?;
        transactions.retain(|transaction| all.iter().any(|one| is_of(transaction.function, one)));
        let work = |before: &mut usize,
                    context: &Context<'_, '_, '_>,
                    transaction: &Transaction<'_>| {
            let Transaction { function, .. } = *transaction;
            let mut reports = apart.rewritten.transactions.iter();
            let report = reports.by_ref().filter(|one| one.function == function.name).nth(*before);
            *before += 1;
            let Some(report) = report else { return Ok(Vec::new()) };
            let (reads, order) = (reads(context), &report.solution.order);
            let of = |one: &Chosen<'_>| Conflicts::of(context, &reads, order, &one.named());
            let own = all.iter().enumerate().filter(|(_, one)| is_of(function, one));
            Ok(own.map(|(at, one)| (at, of(one))).collect())
        };
        map_transactions(&source, &summaries, &transactions, work)
    }

    /// Gives each of some webs the name with which its function costs least.
    fn place(&self, webs: Vec<(usize, usize)>, chosen: &mut [Chosen<'_>]) {
        for (at, web) in webs {
            let names = 0..=chosen[at].reasons.len();
            let cost_with = |name: usize| {
                let mut trial = chosen.to_vec();
                trial[at].of_web[web] = name;
                self.cost_alone(&chosen[at].candidate.function, trial)
            };
            chosen[at].of_web[web] = names.min_by_key(|&name| cost_with(name)).unwrap_or(0);
        }
    }

    /// Returns what a function costs with its renamed variables, if no other function is changed.
    fn cost_alone(&self, function: &str, mut chosen: Vec<Chosen<'_>>) -> u128 {
        chosen.retain(|one| one.candidate.function == function);
        let only = Some(function.to_owned());
        let options = Options { function: only, ..self.setting.options.clone() };
        let setting = Setting { options: &options, ..self.setting };
        let renamed = Search { setting, ..*self }.version(&mut chosen);
        let reports = renamed.as_ref().map(|one| &one.rewritten.transactions[..]);
        cost(reports.unwrap_or(self.before), function).1
    }
}

/// Returns the number of a function's transactions, and their cost.
fn cost(reports: &[Report], function: &str) -> (usize, u128) {
    let own = || reports.iter().filter(|report| report.function == function);
    (own().count(), own().map(|report| report.solution.cost).sum())
}

/// Returns the renamings of a variable.
fn found(one: &Chosen<'_>) -> Vec<Found> {
    let webs = || one.plan.webs.iter().zip(&one.of_web);
    let of_name = |(at, reason): (usize, &Conflicting)| {
        let own = webs().filter(|(_, name)| **name == at + 1);
        let tokens = own.flat_map(|(web, _)| web.tokens.iter().map(|range| range.start)).collect();
        let Candidate { function, variable, .. } = one.candidate;
        Found {
            function: function.clone(),
            variable: variable.clone(),
            name: one.names[at].clone(),
            tokens,
            write: reason.write,
            read: reason.read,
        }
    };
    one.reasons.iter().enumerate().map(of_name).collect()
}
