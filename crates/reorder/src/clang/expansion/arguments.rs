//! The arguments of a use.

use super::{
    super::{macros::Definition, tokens::TokenKind},
    Expanded,
};

/// Takes `( … )` from `pending`: returns one list of tokens for each parameter, and the closing
/// parenthesis.
pub(super) fn arguments_of(
    definition: &Definition,
    pending: &mut Vec<Expanded>,
) -> Option<(Vec<Vec<Expanded>>, Expanded)> {
    let count = definition.parameters.as_ref()?.len();
    pending.pop()?;
    let mut arguments: Vec<Vec<Expanded>> = vec![Vec::new()];
    let mut depth = 0;
    let close = loop {
        let token = pending.pop()?;
        match &*token.text {
            "(" => depth += 1,
            ")" if depth == 0 => break token,
            ")" => depth -= 1,
            "," if depth == 0 && !(definition.variadic && arguments.len() == count) => {
                arguments.push(Vec::new());
                continue;
            }
            _ => {}
        }
        arguments.last_mut()?.push(token);
    };
    if count == 0 && arguments.len() == 1 && arguments[0].is_empty() {
        arguments.clear();
    }
    if definition.variadic && arguments.len() + 1 == count {
        arguments.push(Vec::new());
    }
    (arguments.len() == count).then_some((arguments, close))
}

/// Returns the tokens as a string literal.
pub(super) fn stringized(tokens: &[Expanded]) -> String {
    let mut text = String::from("\"");
    for (place, token) in tokens.iter().enumerate() {
        if place > 0 && token.spaced {
            text.push(' ');
        }
        let literal = matches!(token.kind, TokenKind::Text | TokenKind::Character);
        for letter in token.text.chars() {
            if literal && matches!(letter, '"' | '\\') {
                text.push('\\');
            }
            text.push(letter);
        }
    }
    text.push('"');
    text
}
