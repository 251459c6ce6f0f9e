//! A declaration stands before all that mentions the variable. In C++ a jump out of the transaction
//! does not come before a declaration with an initializer that it stood behind, since the compiler
//! refuses a jump into the scope of such a variable.
//!
//! **Safe because** the program compiles as before, and each name means the same variable: the
//! statements of one list share one scope, and a name that an inner scope hides moves with it.

use std::collections::BTreeMap;

use super::{Context, Found, Rule};
use crate::{
    ir::{Expression, ExpressionKind, Statement, StatementKind, VariableIndex},
    units::Unit,
};

pub(super) fn find(context: &Context<'_, '_, '_>, found: &mut Found) {
    let mut declared: BTreeMap<VariableIndex, usize> = BTreeMap::new();
    for (index, unit) in context.units.units.iter().enumerate() {
        for variable in unit.pieces.iter().flat_map(|piece| declarations(piece.statement)) {
            declared.insert(variable, index);
        }
    }
    for (later, unit) in context.units.units.iter().enumerate() {
        for_each_mentioned(unit, &mut |variable| {
            if let Some(&first) = declared.get(&variable).filter(|&&first| first < later) {
                let name = &context.program.variable(variable).name;
                found.before(first, later, Rule::Declaration, format!("it declares `{name}`"));
            }
        });
    }
    if context.is_cpp() {
        keep_behind_jumps(context, found);
    }
}

fn keep_behind_jumps(context: &Context<'_, '_, '_>, found: &mut Found) {
    for (first, later) in context.pairs() {
        let units = &context.units.units;
        let declares = units[first].pieces.iter().any(|piece| initializes(piece.statement));
        if declares && units[later].exits().next().is_some() {
            let reason = "a jump must not enter the scope of an initialized variable";
            found.before(first, later, Rule::Declaration, reason.to_string());
        }
    }
}

fn initializes(statement: &Statement) -> bool {
    match &statement.kind {
        StatementKind::Declare(declarations) => {
            declarations.iter().any(|declaration| declaration.initial.is_some())
        }
        _ => false,
    }
}

/// Returns the variables that a statement of the list declares for those behind it.
fn declarations(statement: &Statement) -> Vec<VariableIndex> {
    match &statement.kind {
        StatementKind::Declare(declarations) => {
            declarations.iter().map(|declaration| declaration.variable).collect()
        }
        StatementKind::Expanded(statements) => statements.iter().flat_map(declarations).collect(),
        _ => Vec::new(),
    }
}

fn for_each_mentioned(unit: &Unit<'_>, visit: &mut impl FnMut(VariableIndex)) {
    let mut expression = |expression: &Expression| {
        expression.walk(&mut |inner| {
            if let ExpressionKind::Variable(variable) = inner.kind {
                visit(variable);
            }
        });
    };
    for piece in &unit.pieces {
        piece.statement.walk(&mut |statement| {
            statement.expressions().into_iter().for_each(&mut expression);
        });
    }
}
