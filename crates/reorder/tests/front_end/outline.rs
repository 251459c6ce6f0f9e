//! The IR in a short form, for comparison in tests.

use clearway_reorder::ir::{
    Callee, Expression, ExpressionKind as Kind, Program, Statement, StatementKind, Type,
};

/// Returns an expression in the syntax of C, with parentheses. `'` stands before one without a
/// range.
pub(crate) fn expression(program: &Program, here: &Expression) -> String {
    let show = |inner: &Expression| expression(program, inner);
    let all = |list: &[Expression]| list.iter().map(show).collect::<Vec<_>>().join(", ");
    let text = match &here.kind {
        Kind::Variable(index) => program.variable(*index).name.clone(),
        Kind::Constant(text) => text.clone(),
        Kind::Text(text) => format!("{text:?}"),
        Kind::Address(inner) => format!("&{}", show(inner)),
        Kind::Dereference(inner) => format!("*{}", show(inner)),
        Kind::Element { base, index } => format!("{}[{}]", show(base), show(index)),
        Kind::Field { base, record, name, .. } => format!("{}.<{record}>{name}", show(base)),
        Kind::Call { callee, arguments, .. } => {
            let callee = match callee {
                Callee::Function(name) => name.clone(),
                Callee::Field(name) => format!("<{name}>"),
                Callee::Pointer => "<pointer>".to_owned(),
            };
            format!("{callee}({})", all(arguments))
        }
        Kind::Unary(operator, inner) => format!("({operator}{})", show(inner)),
        Kind::Binary(operator, left, right) => {
            format!("({} {operator} {})", show(left), show(right))
        }
        Kind::Assign { operator, target, value } => {
            let operator = operator.as_deref().unwrap_or("");
            format!("({} {operator}= {})", show(target), show(value))
        }
        Kind::Increment(operator, inner) => format!("({}{operator})", show(inner)),
        Kind::Conditional(condition, yes, no) => {
            format!("({} ? {} : {})", show(condition), show(yes), show(no))
        }
        Kind::Comma(left, right) => format!("({}, {})", show(left), show(right)),
        Kind::Cast(ty, inner) => format!("({}){}", type_name(ty), show(inner)),
        Kind::List(list) => format!("{{{}}}", all(list)),
        Kind::Construct(class, list) => format!("{class}{{{}}}", all(list)),
        Kind::Opaque(reason) => format!("OPAQUE: {reason}"),
    };
    if here.range.is_none() { format!("'{text}") } else { text }
}

/// Returns a type in a syntax from left to right.
pub(crate) fn type_name(ty: &Type) -> String {
    let constant = |constant: bool| if constant { "const " } else { "" };
    match ty {
        Type::Void => "void".to_owned(),
        Type::Scalar(name) | Type::Record(name) | Type::Other(name) => name.clone(),
        Type::Class(name) => format!("class {name}"),
        Type::Pointer { to, constant: fixed } => format!("*{}{}", constant(*fixed), type_name(to)),
        Type::Reference { to, constant: fixed } => {
            format!("&{}{}", constant(*fixed), type_name(to))
        }
        Type::Array { of, length: Some(length) } => format!("[{length}]{}", type_name(of)),
        Type::Array { of, length: None } => format!("[]{}", type_name(of)),
        Type::Function => "function".to_owned(),
    }
}

/// Returns one line for each statement within this one: the text of its range and what it is.
pub(crate) fn statements(program: &Program, source: &str, here: &Statement) -> Vec<String> {
    let mut lines = Vec::new();
    for child in here.children() {
        line(program, source, child, 0, &mut lines);
    }
    lines
}

fn line(program: &Program, source: &str, here: &Statement, depth: usize, lines: &mut Vec<String>) {
    let kind = match &here.kind {
        StatementKind::Declare(all) => {
            let all = all.iter().map(|one| {
                let name = &program.variable(one.variable).name;
                match &one.initial {
                    Some(initial) => format!("{name} = {}", expression(program, initial)),
                    None => name.clone(),
                }
            });
            format!("declare {}", all.collect::<Vec<_>>().join("; "))
        }
        StatementKind::Goto(label) => format!("goto {label}"),
        StatementKind::Label(label, _) => format!("label {label}"),
        StatementKind::Opaque(reason) => format!("OPAQUE: {reason}"),
        StatementKind::Loop { form, condition, step, .. } => {
            let show = |one: &Option<Expression>| {
                one.as_ref().map_or("-".to_owned(), |one| expression(program, one))
            };
            format!("{form:?} {}; {}", show(condition), show(step)).to_lowercase()
        }
        other => {
            let name: String =
                format!("{other:?}").chars().take_while(|one| one.is_alphabetic()).collect();
            let all = here.expressions().into_iter().map(|one| expression(program, one));
            format!("{} {}", name.to_lowercase(), all.collect::<Vec<_>>().join("; "))
        }
    };
    let text = here.range.of(source).split_whitespace().collect::<Vec<_>>().join(" ");
    lines.push(format!("{}`{text}` {}", "  ".repeat(depth), kind.trim_end()));
    for child in here.children() {
        line(program, source, child, depth + 1, lines);
    }
}

/// Compares the statements of a function with the lines of `expected`; a line that begins with `|`
/// continues the one before.
pub(crate) fn assert_statements(program: &Program, source: &str, function: &str, expected: &str) {
    let function = program.function(function).expect("the function");
    let found = statements(program, source, &function.body);
    let expected: Vec<&str> = expected.lines().filter(|line| !line.trim().is_empty()).collect();
    let indent = expected.iter().map(|line| line.len() - line.trim_start().len()).min();
    let expected: Vec<&str> =
        expected.iter().map(|line| line[indent.unwrap_or(0)..].trim_end()).collect();
    let expected = expected.join("\n");
    let continued = expected.split("\n").fold(String::new(), |mut all, line| {
        match line.trim_start().strip_prefix('|') {
            Some(rest) => all.push_str(rest),
            None if all.is_empty() => all.push_str(line),
            None => all.extend(["\n", line]),
        }
        all
    });
    assert_eq!(found.join("\n"), continued);
}
