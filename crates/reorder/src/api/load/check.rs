//! The consistency of a model.

use crate::api::{Call, Memory, Model, Returns, Role};

/// A key and what is wrong with its value.
pub(super) type Contradiction = (String, String);

/// Checks all calls of a model.
pub(super) fn check(model: &Model) -> Result<(), Contradiction> {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
    if model.name.is_empty() || !model.name.bytes().all(is_word) {
        let message = "a name has letters, digits, `_`, `-` and `.` only, and at least one";
        return Err(("name".to_owned(), message.to_owned()));
    }
    if model.extends.as_ref() == Some(&model.name) {
        return Err(("extends".to_owned(), "a model cannot extend itself".to_owned()));
    }
    for (name, call) in &model.calls {
        let key = || format!("calls.{name}");
        if name.trim().is_empty() || name.trim() != name {
            return Err((key(), "write the function's name, without spaces around it".to_owned()));
        }
        check_call(call).map_err(|message| (key(), message))?;
    }
    Ok(())
}

fn check_call(call: &Call) -> Result<(), String> {
    check_role(call)?;
    check_statement(call)?;
    check_arguments(call)?;
    check_memory("reads", &call.reads)?;
    check_memory("writes", &call.writes)?;
    check_ends(call)?;
    check_makes(call)?;
    let only_with = [
        (call.last_write, call.reads_last, "last_write", "reads_last"),
        (!call.success.is_empty(), call.status, "success", "status"),
        (call.failure.is_some(), !call.success.is_empty(), "failure", "success"),
        (!call.row.is_empty(), !call.success.is_empty(), "row", "success"),
        (call.format, call.sql.is_some(), "format", "sql"),
        (!call.open.is_empty(), call.reads_last, "open", "reads_last"),
    ];
    let is_other = |row: &&i64| !call.success.is_empty() && !call.success.contains(**row);
    if let Some(row) = call.row.iter().find(is_other) {
        return Err(format!("`row` has {row}, which is not in `success`"));
    }
    if let Some(failure) = call.failure.filter(|&one| call.success.contains(one)) {
        return Err(format!("`failure` is {failure}, which is in `success`"));
    }
    match only_with.into_iter().find(|&(has, may, ..)| has && !may) {
        Some((_, _, key, needed)) => Err(format!("`{key}` means nothing without `{needed}`")),
        None => Ok(()),
    }
}

/// Checks what a role needs and what it cannot have.
fn check_role(call: &Call) -> Result<(), String> {
    let runs_text = usize::from(call.sql.is_some()) + usize::from(call.text.is_some());
    let runs = runs_text + usize::from(call.statement.is_some());
    match call.role {
        Role::Query if runs != 1 => {
            Err("a query runs one of `sql`, `text` and `statement`; name exactly one".to_owned())
        }
        Role::Prepare if runs_text != 1 => {
            Err("the role `prepare` needs `sql` or `text`, and not both".to_owned())
        }
        Role::Prepare if call.statement.is_none() && call.returns != Returns::New => {
            Err("the role `prepare` needs `statement`, or `returns = \"new\"` if the result is \
                 the handle"
                .to_owned())
        }
        Role::Query | Role::Prepare => Ok(()),
        Role::None if runs_text > 0 => {
            Err("`sql` or `text` without a role; add `role = \"query\"` or `\"prepare\"`"
                .to_owned())
        }
        Role::Begin | Role::Commit | Role::Rollback | Role::Barrier if runs > 0 => {
            Err("only the roles `query` and `prepare` have `sql`, `text` or `statement`".to_owned())
        }
        Role::Barrier if call.outside => {
            Err("nothing moves across a barrier, so `outside` adds nothing; remove one".to_owned())
        }
        _ => Ok(()),
    }
}

/// Checks what only a call with a statement can have.
fn check_statement(call: &Call) -> Result<(), String> {
    let binds = call.binds();
    if (binds || call.writes_bound) && call.statement.is_none() {
        return Err("a call that binds, or writes what is bound, needs `statement`".to_owned());
    }
    if binds && call.role != Role::None {
        return Err("a call that binds has no role".to_owned());
    }
    if call.parameters.is_some() && call.role != Role::Query {
        return Err("`parameters` needs `role = \"query\"`".to_owned());
    }
    Ok(())
}

/// Checks that no argument has two roles.
fn check_arguments(call: &Call) -> Result<(), String> {
    let bound = |bound: &[_]| bound.first().map(|bound: &crate::api::Bound| bound.argument);
    let roles = [
        ("sql", call.sql),
        ("statement", call.statement),
        ("connection", call.connection),
        ("parameters.array", call.parameters.map(|parameters| parameters.array)),
        ("parameters.count", call.parameters.map(|parameters| parameters.count)),
        ("binds_number", call.binds_number),
        ("binds_parameters", bound(&call.binds_parameters)),
        ("binds_results", bound(&call.binds_results)),
    ];
    for (at, (role, argument)) in roles.iter().enumerate() {
        let same = roles[..at].iter().find(|(_, other)| argument.is_some() && other == argument);
        if let (Some((other, _)), Some(argument)) = (same, argument) {
            return Err(format!("argument {argument} is both `{other}` and `{role}`"));
        }
    }
    let written = |argument: &usize| call.writes.iter().any(|memory| memory.argument == *argument);
    if let Some(sql) = call.sql.filter(written) {
        return Err(format!(
            "argument {sql} is the `sql`, which a call only reads; yet it is in `writes`"
        ));
    }
    match &call.builds {
        Some(builds) if builds.from.is_empty() => Err("`builds` needs a text in `from`".to_owned()),
        _ => Ok(()),
    }
}

/// Checks `reads` or `writes`.
fn check_memory(key: &str, all: &[Memory]) -> Result<(), String> {
    for (at, memory) in all.iter().enumerate() {
        let argument = memory.argument;
        let has_same = |other: &Memory| {
            other.argument == argument
                || (other.rest && other.argument < argument)
                || (memory.rest && argument < other.argument)
        };
        if all[..at].iter().any(has_same) {
            return Err(format!("`{key}` names argument {argument} twice"));
        }
        let numbers = memory.count.into_iter().chain(memory.bytes);
        if memory.count.is_some() && memory.bytes.is_some() {
            return Err(format!("`{key}` of argument {argument}: `count` or `bytes`, not both"));
        }
        if numbers.clone().any(|number| memory.rest || number == argument) {
            let message = "the number stands in an argument that is not itself meant";
            return Err(format!("`{key}` of argument {argument}: {message}"));
        }
        if memory.whole && (key == "reads" || numbers.count() > 0) {
            let message = "`whole` is for writes without `count` or `bytes`";
            return Err(format!("`{key}` of argument {argument}: {message}"));
        }
    }
    Ok(())
}

/// Checks that nothing is written, borrowed or ended twice of an object that ends.
fn check_ends(call: &Call) -> Result<(), String> {
    for (at, argument) in call.ends.iter().enumerate() {
        if call.ends[..at].contains(argument) {
            return Err(format!("`ends` names argument {argument} twice"));
        }
        if call.writes.iter().any(|memory| memory.argument == *argument) {
            return Err(format!("argument {argument} ends with the call, yet it is in `writes`"));
        }
        if call.returns == Returns::Borrowed(*argument) {
            return Err(format!("the result is borrowed from argument {argument}, which ends"));
        }
    }
    Ok(())
}

/// Checks that a call which stores a new object does nothing else with the pointer.
fn check_makes(call: &Call) -> Result<(), String> {
    let Some(made) = call.makes else { return Ok(()) };
    let names = |all: &[Memory]| all.iter().any(|memory| memory.argument == made);
    if names(&call.reads) || names(&call.writes) || call.ends.contains(&made) {
        let message = "needs no `reads`, `writes` or `ends`: the call stores a new pointer";
        return Err(format!("`makes` of argument {made} {message}"));
    }
    if call.role == Role::Prepare || call.returns != Returns::Value {
        return Err("a call with `makes` prepares nothing, and its result is a number".to_owned());
    }
    Ok(())
}
