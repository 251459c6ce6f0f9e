use super::*;
use crate::api::{Bound, Memory, Returns, Role, Server, Success};

fn call(text: &str) -> Result<Model, BadModel> {
    load(&format!("name = \"own\"\n\n[calls]\n{text}\n"), "own.toml")
}

#[test]
fn number_stands_for_an_argument() {
    let model = call("f = { reads = [1, { argument = 2, deep = true }], writes = [0] }").unwrap();
    let deep = Memory { argument: 2, deep: true, ..Memory::default() };
    assert_eq!(model.calls["f"].reads, [Memory { argument: 1, ..Memory::default() }, deep]);
    assert_eq!(model.calls["f"].writes, [Memory::default()]);
    let text = "f = { statement = 0, binds_results = [{ argument = 1, through = true }, 2] }";
    let (through, plain) =
        (Bound { argument: 1, through: true }, Bound { argument: 2, through: false });
    assert_eq!(call(text).unwrap().calls["f"].binds_results, [through, plain]);
}

#[test]
fn model_of_a_pointer_in_a_structure_is_read() {
    let text = "[calls.\"struct operations.query\"]\nrole = \"query\"\nsql = 1\nreturns = \"new\"";
    let model = load(&format!("name = \"own\"\nserver = \"mysql\"\n{text}"), "own.toml").unwrap();
    assert_eq!(model.server, Some(Server::Mysql));
    let call = &model.calls["struct operations.query"];
    assert_eq!((call.role, call.sql, call.returns), (Role::Query, Some(1), Returns::New));
}

#[test]
fn mistakes_name_the_line_and_the_key() {
    let mistakes = [
        ("g = {}\nf = { writess = [0] }", 5, "calls.f", "unknown field `writess`"),
        ("f = { reads = [-1] }\ng = {}", 4, "calls.f", "invalid value: integer `-1`"),
        ("f = { reads = [{ deep = true }] }", 4, "calls.f", "missing field `argument`"),
        ("f = { role = \"queries\", sql = 1 }", 4, "calls.f", "unknown variant `queries`"),
        ("f = {}\ng = {}\nf = {}", 6, "", "duplicate key"),
        ("f = {}\n\n\ng = { sql = 1 }", 7, "calls.g", "without a role"),
    ];
    for (text, line, key, message) in mistakes {
        let bad = call(text).unwrap_err();
        assert_eq!((bad.line, bad.key.as_str()), (line, key), "{text}: {bad}");
        assert!(bad.message.contains(message), "{text}: {bad}");
        assert!(bad.to_string().starts_with(&format!("own.toml:{line}: ")), "{bad}");
    }
    let bad = load("server = \"mysql\"\nnames = 1", "own.toml").unwrap_err();
    assert_eq!((bad.line, bad.key.as_str()), (2, "names"), "{bad}");
    let bad = load("name = \"\"\ncalls = {}", "own.toml").unwrap_err();
    assert_eq!((bad.line, bad.key.as_str()), (1, "name"), "{bad}");
    assert!(load("[calls", "own.toml").unwrap_err().to_string().starts_with("own.toml:1: "));
    assert!(load("", "own.toml").unwrap_err().message.contains("missing field `name`"));
}

#[test]
fn contradictions_are_refused() {
    let contradictions = [
        ("sql = 1", "without a role"),
        ("text = \"BEGIN\"", "without a role"),
        ("role = \"query\"", "exactly one"),
        ("role = \"query\", sql = 1, statement = 0", "exactly one"),
        ("role = \"query\", sql = 1, text = \"BEGIN\"", "exactly one"),
        ("role = \"query\", sql = 1, connection = 1", "argument 1 is both `sql` and `connection`"),
        ("role = \"query\", sql = 1, parameters = { array = 2, count = 2 }", "argument 2 is both"),
        ("role = \"query\", sql = 1, writes = [1]", "a call only reads"),
        ("role = \"prepare\", statement = 0", "needs `sql` or `text`"),
        ("role = \"prepare\", sql = 0", "needs `statement`"),
        ("role = \"begin\", sql = 1", "only the roles"),
        ("role = \"barrier\", statement = 1", "only the roles"),
        ("role = \"barrier\", outside = true", "remove one"),
        ("parameters = { array = 1, count = 2 }", "`parameters` needs"),
        ("binds_parameters = [1]", "needs `statement`"),
        ("binds_number = 1", "needs `statement`"),
        ("writes_bound = true", "needs `statement`"),
        ("statement = 0, binds_results = [0]", "argument 0 is both"),
        ("role = \"query\", statement = 0, binds_results = [1]", "has no role"),
        ("reads = [1, 1]", "`reads` names argument 1 twice"),
        ("writes = [{ argument = 1, rest = true }, 2]", "`writes` names argument 2 twice"),
        ("writes = [2, { argument = 1, rest = true }]", "`writes` names argument 1 twice"),
        ("reads = [{ argument = 0, whole = true }]", "`whole` is for writes"),
        ("writes = [{ argument = 0, whole = true, count = 1 }]", "`whole` is for writes"),
        ("reads = [{ argument = 0, count = 1, bytes = 2 }]", "not both"),
        ("reads = [{ argument = 0, count = 0 }]", "not itself meant"),
        ("reads = [{ argument = 0, count = 1, rest = true }]", "not itself meant"),
        ("ends = [0, 0]", "`ends` names argument 0 twice"),
        ("ends = [0], writes = [0]", "yet it is in `writes`"),
        ("ends = [0], returns = { borrowed = 0 }", "which ends"),
        ("last_write = true", "without `reads_last`"),
        ("success = [0]", "without `status`"),
        ("success = \">= 0\"", "without `status`"),
        ("status = true, row = [100]", "without `success`"),
        ("status = true, failure = -1", "without `success`"),
        ("status = true, success = \">= 0\", failure = 1", "which is in `success`"),
        ("status = true, success = [0], row = [100]", "not in `success`"),
        ("format = true", "without `sql`"),
        ("builds = { from = [] }", "needs a text"),
    ];
    for (text, message) in contradictions {
        let bad = call(&format!("f = {{ {text} }}")).expect_err(text);
        assert!(bad.message.contains(message), "{text}: {bad}");
        assert_eq!((bad.line, bad.key.as_str()), (4, "calls.f"), "{text}");
    }
    for (name, text) in [("", "f = {}"), ("a b", "f = {}"), ("own", "\" f\" = {}")] {
        let bad = load(&format!("name = \"{name}\"\n[calls]\n{text}"), "own.toml").unwrap_err();
        assert!(bad.line > 0, "{bad}");
    }
    let itself = load("name = \"own\"\nextends = \"own\"\n[calls]", "own.toml").unwrap_err();
    assert_eq!((itself.line, itself.key.as_str()), (2, "extends"));
}

#[test]
fn examples_of_the_page_about_models_are_models() {
    let page = include_str!("../../../../../docs/reorder-models.md");
    let blocks: Vec<&str> = page
        .split("```toml\n")
        .skip(1)
        .map(|rest| rest.split_once("```").expect("the block ends").0)
        .collect();
    let mut names = Vec::new();
    for block in blocks {
        let model = load(block, "reorder-models.md").unwrap_or_else(|bad| panic!("{bad}\n{block}"));
        names.push(model.name.clone());
        crate::api::Models::new(&[], &[model]).unwrap_or_else(|bad| panic!("{bad}\n{block}"));
    }
    assert_eq!(names, ["shop", "operations", "own-statements", "payment-statements"]);
}

#[test]
fn success_is_a_list_or_a_range() {
    let success = |written: &str| {
        call(&format!("f = {{ status = true, success = {written} }}"))
            .map(|model| model.calls["f"].success.clone())
    };
    assert_eq!(success("[0, 1]").unwrap(), Success::Listed(vec![0, 1]));
    assert_eq!(success("\">= 0\"").unwrap(), Success::AtLeast(0));
    assert_eq!(success("\">=-1\"").unwrap(), Success::AtLeast(-1));
    for (wrong, message) in [("\"< 0\"", "write \">= 0\""), ("true", "a range as in")] {
        let bad = success(wrong).unwrap_err();
        assert!(bad.message.contains(message), "{bad}");
        assert_eq!((bad.line, bad.key.as_str()), (4, "calls.f"));
    }
}

#[test]
fn page_about_models_explains_every_key() {
    let page = include_str!("../../../../../docs/reorder-models.md");
    let unknown = call("f = { unknown = 1 }").unwrap_err().message;
    let keys: Vec<&str> = unknown.split('`').skip(3).step_by(2).collect();
    assert!(keys.len() > 20, "{unknown}");
    for key in keys {
        assert!(page.contains(&format!("- `{key}`: ")), "`{key}` is not explained");
    }
}

#[test]
fn message_of_the_page_is_the_one_that_is_written() {
    let text = "name = \"shop\"\nserver = \"postgresql\"\n\n[calls]\n\
                db_query = { role = \"query\", sql = 2, connection = 2 }";
    let bad = load(text, "shop.toml").unwrap_err().to_string();
    assert!(include_str!("../../../../../docs/reorder-models.md").contains(&bad), "{bad}");
}
