//! Makes a pair with a wrong outcome smaller.

use super::{
    pair::{Pair, are_comparable},
    tool::Tool,
    transaction::{Action, Selected, Statement, Transaction},
};

/// Returns a smaller pair that is wrong as well: without a statement, a guard, a row or a returned
/// value.
pub(crate) fn shrink(tool: &Tool, pair: &Pair) -> Pair {
    let mut smallest = pair.clone();
    while let Some(smaller) = smaller(&smallest).into_iter().find(|one| {
        one.second.as_ref().is_none_or(|second| are_comparable(&one.first, second))
            && matches!(one.check_alone(tool), Ok(Some(_)))
    }) {
        smallest = smaller;
    }
    smallest
}

fn smaller(pair: &Pair) -> Vec<Pair> {
    let mut found: Vec<Pair> = Vec::new();
    found.extend(simpler(&pair.first).map(|first| Pair { first, ..pair.clone() }));
    if let Some(second) = &pair.second {
        found.extend(simpler(second).map(|one| Pair { second: Some(one), ..pair.clone() }));
    }
    for at in 0..pair.rows.len() {
        let mut smaller = pair.clone();
        smaller.rows.remove(at);
        found.push(smaller);
    }
    found
}

fn simpler(transaction: &Transaction) -> impl Iterator<Item = Transaction> {
    let with = |change: &dyn Fn(&mut Transaction)| {
        let mut simpler = transaction.clone();
        change(&mut simpler);
        simpler
    };
    let mut found = Vec::new();
    for at in 0..transaction.statements.len() {
        found.push(with(&|one| {
            one.statements.remove(at);
        }));
        found.push(with(&|one| one.statements[at].guard = None));
        found.push(with(&|one| one.statements[at].helper = false));
        found.push(with(&|one| simplify(&mut one.statements[at])));
    }
    found.push(with(&|one| one.returned.clear()));
    let transaction = transaction.clone();
    found.into_iter().filter(move |one| *one != transaction && !one.statements.is_empty())
}

/// Makes a read of a number of rows one of a column.
fn simplify(statement: &mut Statement) {
    if let Action::Read { selected, .. } = &mut statement.action {
        *selected = Selected::Column(1);
    }
}
