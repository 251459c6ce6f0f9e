//! The calls between the functions of a program, read once from their text: who calls whom, and of
//! which functions there is an address.
//!
//! A call has only the name of a function, so functions that share a name, as overloaded ones do,
//! count as one.

use std::{
    collections::{BTreeMap, BTreeSet},
    ptr,
};

use super::summary::for_each_expression;
use crate::ir::{Callee, ExpressionKind as Kind, Function, Program, plain};

/// The calls between the functions of a program.
#[derive(Debug)]
pub(crate) struct Calls<'a> {
    /// The facts of each function, in the order of the program.
    functions: Vec<OfFunction<'a>>,
    /// Of each name that is called, the functions that call it.
    callers: BTreeMap<&'a str, BTreeSet<&'a str>>,
}

/// The calls and the addresses in one function.
#[derive(Debug)]
struct OfFunction<'a> {
    function: &'a Function,
    /// The names that it calls.
    called: BTreeSet<&'a str>,
    /// The other functions of the program that it may call in code that the IR does not represent.
    hidden: BTreeSet<&'a str>,
    /// The functions of the program that it names in other places than calls.
    addressed: BTreeSet<&'a str>,
}

impl<'a> Calls<'a> {
    pub(super) fn of_program(program: &'a Program) -> Calls<'a> {
        let names: BTreeSet<&str> = program.functions.iter().map(|one| &*one.name).collect();
        let of_function = |function: &'a Function| {
            let is_hidden =
                |name: &&str| *name != function.name && function.hidden.contains(plain(name));
            let hidden = names.iter().copied().filter(is_hidden).collect();
            let mut addressed = BTreeSet::new();
            for_each_expression(function, &mut |one| {
                if let Kind::Constant(name) = &one.kind
                    && names.contains(name.as_str())
                {
                    addressed.insert(name.as_str());
                }
            });
            OfFunction { function, called: called(function), hidden, addressed }
        };
        let functions: Vec<OfFunction<'_>> = program.functions.iter().map(of_function).collect();
        let mut callers: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for one in &functions {
            for name in one.called_or_hidden() {
                callers.entry(name).or_default().insert(&one.function.name);
            }
        }
        Calls { functions, callers }
    }

    /// Returns the names that the functions of the program call.
    pub(super) fn all_called(&self) -> impl Iterator<Item = &'a str> + '_ {
        self.functions.iter().flat_map(|one| one.called.iter().copied())
    }

    /// Returns the names that a function of the program calls.
    pub(super) fn called_by<'c>(
        &'c self,
        function: &Function,
    ) -> impl Iterator<Item = &'a str> + use<'a, 'c> {
        self.of(function).into_iter().flat_map(|one| one.called.iter().copied())
    }

    /// Returns the names that a function of the program calls, or may call in code that the IR does
    /// not represent.
    pub(super) fn may_be_called_by<'c>(
        &'c self,
        function: &Function,
    ) -> impl Iterator<Item = &'a str> + use<'a, 'c> {
        self.of(function).into_iter().flat_map(OfFunction::called_or_hidden)
    }

    fn of(&self, function: &Function) -> Option<&OfFunction<'a>> {
        self.functions.iter().find(|one| ptr::eq(one.function, function))
    }

    /// Returns the functions that call one of some names.
    pub(super) fn calling<'n>(
        &'n self,
        names: &'n BTreeSet<&str>,
    ) -> impl Iterator<Item = &'a Function> + 'n {
        let calls = |one: &&OfFunction<'a>| one.called_or_hidden().any(|name| names.contains(name));
        self.functions.iter().filter(calls).map(|one| one.function)
    }

    /// Returns true if a function of the program takes the address of one of some functions.
    pub(super) fn address_is_taken(&self, names: &BTreeSet<&str>) -> bool {
        self.functions.iter().any(|one| !one.addressed.is_disjoint(names))
    }

    /// Returns some names, and the functions that call one of them, directly or through others.
    pub(super) fn leading_to(&self, names: impl Iterator<Item = &'a str>) -> BTreeSet<&'a str> {
        closure(names, |name| self.callers.get(name).into_iter().flatten().copied())
    }

    /// Returns some names, and those that these call, directly or through others.
    pub(super) fn needed_by(&self, names: impl Iterator<Item = &'a str>) -> BTreeSet<&'a str> {
        let of_name = |name| self.functions.iter().filter(move |one| one.function.name == name);
        closure(names, |name| of_name(name).flat_map(OfFunction::called_or_hidden))
    }
}

impl<'a> OfFunction<'a> {
    fn called_or_hidden(&self) -> impl Iterator<Item = &'a str> + '_ {
        self.called.iter().chain(&self.hidden).copied()
    }
}

/// Returns some names, and all to which a step from one of them leads, directly or by others.
fn closure<'a, I: Iterator<Item = &'a str>>(
    names: impl Iterator<Item = &'a str>,
    step: impl Fn(&'a str) -> I,
) -> BTreeSet<&'a str> {
    let (mut open, mut found): (Vec<&str>, _) = (names.collect(), BTreeSet::new());
    while let Some(name) = open.pop() {
        if found.insert(name) {
            open.extend(step(name));
        }
    }
    found
}

/// Returns the names that a function calls.
pub(crate) fn called(function: &Function) -> BTreeSet<&str> {
    let mut names = BTreeSet::new();
    for_each_expression(function, &mut |expression| {
        if let Kind::Call { callee: Callee::Function(name), .. } = &expression.kind {
            names.insert(name.as_str());
        }
    });
    names
}
