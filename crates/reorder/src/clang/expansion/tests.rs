use super::*;

/// Expands the first use in `text`, all of it being tokens of the use.
fn expand(definitions: &[&str], text: &str) -> (String, Vec<Expanded>) {
    let definitions: HashMap<String, Rc<Definition>> = definitions
        .iter()
        .filter_map(|text| Definition::read(text, Language::C))
        .map(|definition| (definition.name.to_string(), Rc::new(definition)))
        .collect();
    let mut end = 0;
    let tokens = lex(text, Language::C).tokens.into_iter().map(|token| {
        let spaced = token.range.start > std::mem::replace(&mut end, token.range.end);
        Expanded::written(token.range.of(text), token.kind, token.range, spaced)
    });
    let mut expander = Expander::new(Language::C);
    let found = expander
        .use_of(tokens.collect(), &mut |name| definitions.get(name).cloned())
        .expect("an expansion");
    let texts: Vec<&str> = found.iter().map(|token| &*token.text).collect();
    (texts.join(" "), found)
}

#[test]
fn arguments_are_expanded_before_the_body_is_scanned_again() {
    let definitions = ["ONE 1", "ADD(a, b) a + b", "TWICE(x) ADD(x, x)"];
    assert_eq!(expand(&definitions, "TWICE(ONE)").0, "1 + 1");
    assert_eq!(expand(&definitions, "ADD((1, 2), ADD(ONE, 3))").0, "( 1 , 2 ) + 1 + 3");
}

#[test]
fn macro_does_not_expand_itself() {
    let (text, tokens) = expand(&["f(x) f(x, g)", "g f"], "f(1)");
    assert_eq!(text, "f ( 1 , f )");
    assert!(tokens[0].painted);
    assert_eq!(expand(&["stderr stderr"], "stderr").0, "stderr");
}

/// The standard's example in 6.10.3.5, as far as its macros are not redefined.
#[test]
fn example_of_the_standard_expands() {
    let definitions = [
        "str(s) # s",
        "xstr(s) str(s)",
        "debug(s, t) printf(\"x\" # s \"= %d, x\" # t \"= %s\", x ## s, x ## t)",
        "INCFILE(n) vers ## n",
        "glue(a, b) a ## b",
        "xglue(a, b) glue(a, b)",
        "HIGHLOW \"hello\"",
        "LOW LOW \", world\"",
    ];
    let found = |text| expand(&definitions, text).0;
    assert_eq!(found("debug(1, 2)"), r#"printf ( "x" "1" "= %d, x" "2" "= %s" , x1 , x2 )"#);
    assert_eq!(found("xstr(INCFILE(2).h)"), "\"vers2.h\"");
    assert_eq!(found("glue(HIGH, LOW)"), "\"hello\"");
    assert_eq!(found("xglue(HIGH, LOW)"), r#""hello" ", world""#);
    let text = found(r#"str(strncmp("abc\0d", 'x')  ==0)"#);
    assert_eq!(text, r#""strncmp(\"abc\\0d\", 'x') ==0""#);
}

#[test]
fn comma_before_missing_arguments_vanishes() {
    let definitions = ["LOG(f, ...) log(f, ## __VA_ARGS__)", "ALL(...) all(__VA_ARGS__)"];
    assert_eq!(expand(&definitions, "LOG(1)").0, "log ( 1 )");
    assert_eq!(expand(&definitions, "LOG(1, 2, 3)").0, "log ( 1 , 2 , 3 )");
    assert_eq!(expand(&definitions, "ALL(1, (2, 3))").0, "all ( 1 , ( 2 , 3 ) )");
}

#[test]
fn steps_tell_arguments_from_bodies() {
    let (text, tokens) = expand(&["SQUARE(x) x * x", "ID(x) x"], "SQUARE(ID(ab))");
    assert_eq!(text, "ab * ab");
    let (first, star, second) = (&tokens[0], &tokens[1], &tokens[2]);
    assert_eq!(first.file, Some(Range::new(10, 12)));
    assert_eq!(first.file, second.file);
    assert_eq!((star.file, star.steps.len()), (None, 1));
    assert_eq!(first.steps.len(), 2);
    assert_eq!(first.steps[0].usage, star.steps[0].usage);
    assert_ne!(first.steps[0].argument, second.steps[0].argument);
    assert_eq!(star.steps[0].argument, None);
}

#[test]
fn exponential_macros_are_given_up() {
    let mut definitions = vec!["A0 x x".to_owned()];
    definitions.extend((1..40).map(|n| format!("A{n} A{} A{}", n - 1, n - 1)));
    let definitions: HashMap<String, Rc<Definition>> = definitions
        .iter()
        .filter_map(|text| Definition::read(text, Language::C))
        .map(|definition| (definition.name.to_string(), Rc::new(definition)))
        .collect();
    let token = Expanded::written("A39", TokenKind::Identifier, Range::new(0, 3), false);
    let found =
        Expander::new(Language::C).use_of(vec![token], &mut |name| definitions.get(name).cloned());
    assert!(found.is_none());
}

#[test]
fn first_token_has_the_space_before_its_name() {
    let definitions = ["STR(x) #x", "XSTR(x) STR(x)", "NAME   a+b", "BOTH(x, y) (x, y)x  - y"];
    let found = |text| expand(&definitions, text).0;
    assert_eq!(found("XSTR(f(NAME, NAME))"), r#""f(a+b, a+b)""#);
    assert_eq!(found("XSTR(BOTH( 1,  NAME ))"), r#""(1, a+b)1 - a+b""#);
}
