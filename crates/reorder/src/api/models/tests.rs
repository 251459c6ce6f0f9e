use std::collections::BTreeSet;

use super::*;
use crate::api::{Returns, Role};

fn own(text: &str) -> Model {
    load(text, "own.toml").unwrap()
}

fn function(name: &str) -> Callee {
    Callee::Function(name.to_owned())
}

#[test]
fn no_two_libraries_or_interfaces_describe_the_same_call() {
    let mut names = BTreeSet::new();
    for model in builtin() {
        for name in model.calls.keys() {
            assert!(names.insert(name.clone()), "{name} occurs twice");
        }
    }
    assert!(names.len() > 500, "{}", names.len());
}

#[test]
fn only_interfaces_have_servers() {
    let server = |name| Models::new(&[name], &[]).unwrap().server();
    assert_eq!(server("libc"), None);
    assert_eq!(server("libpq"), Some(Server::Postgresql));
    assert_eq!(server("mysql"), Some(Server::Mysql));
    assert_eq!(server("sqlite"), Some(Server::Sqlite));
    let aborts = |name| Models::new(&[name], &[]).unwrap().failure_aborts();
    assert_eq!(["libpq", "mysql", "sqlite"].map(aborts), [true, false, false]);
}

#[test]
fn calls_of_models_that_were_not_chosen_are_unknown() {
    let models = Models::new(&["libpq"], &[]).unwrap();
    assert_eq!(models.call(&function("PQexec")).unwrap().role, Role::Query);
    assert_eq!(models.call(&function("strlen")).unwrap().role, Role::None);
    assert_eq!(models.call(&function("mysql_query")), None);
    assert_eq!(models.call(&Callee::Pointer), None);
    let string = models.construct("std::basic_string").unwrap();
    assert!(string.builds.is_some());
    assert_eq!(models.construct("shop::Payment"), None);
}

#[test]
fn own_calls_replace_built_in_ones_and_extend_them() {
    let text = "name = \"shop\"\nextends = \"libpq\"\n[calls]\nPQexec = { role = \"barrier\" }\n\
                shop_query = { role = \"query\", sql = 0 }\n\
                \"struct shop.query\" = { role = \"query\", sql = 0 }";
    let more = own("name = \"more\"\nextends = \"libpq\"\n[calls]\nmore = {}");
    for chosen in [&[][..], &["libpq"], &["shop"], &["shop", "libpq"]] {
        let models = Models::new(chosen, &[own(text), more.clone()]).unwrap();
        assert_eq!(models.call(&function("PQexec")).unwrap().role, Role::Barrier, "{chosen:?}");
        assert_eq!(models.call(&function("shop_query")).unwrap().role, Role::Query);
        let field = Callee::Field("struct shop.query".to_owned());
        assert_eq!(models.call(&field).unwrap().role, Role::Query);
        assert_eq!(models.call(&function("PQclear")).unwrap().ends, [0]);
        assert_eq!((models.server(), models.failure_aborts()), (Some(Server::Postgresql), true));
    }
}

#[test]
fn own_model_replaces_the_built_in_one_of_its_name() {
    let models = Models::new(&["libpq"], &[own("name = \"libpq\"\n[calls]\nf = {}")]).unwrap();
    assert_eq!(models.call(&function("PQexec")), None);
    assert!(models.call(&function("f")).is_some());
}

#[test]
fn models_that_do_not_fit_together_are_refused() {
    let message = |chosen: &[&str], texts: &[&str]| {
        let own: Vec<Model> = texts.iter().map(|text| own(text)).collect();
        Models::new(chosen, &own).unwrap_err().to_string()
    };
    assert!(message(&["odbc"], &[]).contains("known are libc, cpp, libpq, mysql, sqlite"));
    let servers = message(&["libpq", "mysql"], &[]);
    assert!(
        servers.contains("is for Mysql, and another chosen model is for Postgresql"),
        "{servers}"
    );
    let base = message(&[], &["name = \"a\"\nserver = \"mysql\"\nextends = \"libpq\"\n[calls]"]);
    assert!(base.contains("model a: `server`"), "{base}");
    let circle =
        ["name = \"a\"\nextends = \"b\"\n[calls]", "name = \"b\"\nextends = \"a\"\n[calls]"];
    assert!(message(&[], &circle).contains("extends itself: a extends b"));
    assert!(message(&[], &["name = \"a\"\nextends = \"pq\"\n[calls]"]).contains("model pq"));
}

#[test]
fn calls_have_the_effects_that_their_interfaces_describe() {
    let models = Models::new(&["mysql"], &[]).unwrap();
    let bind = models.call(&function("mysql_stmt_bind_result")).unwrap();
    assert!(bind.binds_results[0].through && bind.statement == Some(0));
    assert!(models.call(&function("mysql_stmt_fetch")).unwrap().writes_bound);
    let c_str = models.call(&function("std::basic_string::c_str")).unwrap();
    assert_eq!(c_str.returns, Returns::Borrowed(0));
    let snprintf = models.call(&function("snprintf")).unwrap();
    assert!(snprintf.writes[0].whole && snprintf.reads[1].rest && !snprintf.outside);
    assert!(models.call(&function("printf")).unwrap().outside);
}

mod headers;
