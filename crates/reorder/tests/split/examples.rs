//! The loops of the TPC-C examples.

use std::{fs, path::Path};

use clearway_reorder::{
    api::Models,
    clang::FrontEnd,
    rewrite::Options,
    schema,
    split::{self, Candidate},
};

/// Returns the candidates of an example over libpq; `None` with a message if something is missing.
fn candidates(file: &str, function: &str) -> Option<Vec<Candidate>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/tpcc");
    let include = "/usr/include/postgresql";
    let front_end = match FrontEnd::load() {
        Ok(front_end) if Path::new(include).join("libpq-fe.h").exists() => front_end,
        _ => {
            assert!(std::env::var_os("CLEARWAY_REQUIRE_LIBCLANG").is_none(), "libclang or libpq");
            eprintln!("SKIPPED: libclang or libpq-fe.h is missing");
            return None;
        }
    };
    let models = Models::new(&["libpq"], &[]).unwrap();
    let ddl = fs::read_to_string(folder.join("schema.sql")).unwrap();
    let schema = schema::parse(&ddl, models.server().unwrap()).unwrap();
    let flags = [
        format!("-I{include}"),
        format!("-I{}", folder.display()),
        format!("-I{}/..", folder.display()),
    ];
    let text = fs::read_to_string(folder.join(file)).unwrap();
    let program = front_end.parse(&folder.join(file), Some(&text), &flags).unwrap();
    let function = Some(function.to_string());
    let options = Options { function, relaxed_reads: true, ..Options::default() };
    Some(split::candidates(&program, &text, &models, &schema, &options).unwrap())
}

fn reasons(candidates: &[Candidate]) -> Vec<String> {
    let reasons = candidates.iter().map(|one| match &one.outcome {
        Ok(_) => format!("behind {}: legal", one.split.behind),
        Err(refusal) => format!("behind {}: {refusal}", one.split.behind),
    });
    reasons.collect()
}

/// Each place between two queries of the loop is crossed by a variable that all iterations share:
/// `params`, `i_id`, `supply_w_id`, `quantity` and `number`, which hold the parameters, and
/// `i_data`, `s_data`, `dist_info`, `s_quantity`, which hold results. An array with an element for
/// each iteration in the place of each of them would make the split legal.
#[test]
fn loop_of_new_order_reuses_its_buffers() {
    let Some(found) = candidates("new_order_params.c", "new_order") else { return };
    let reasons = reasons(&found);
    assert!(reasons.len() > 20, "{reasons:#?}");
    for reason in &reasons {
        assert!(reason.ends_with("(overwritten value)"), "{reason}");
    }
    for name in ["`res`", "`i_id`", "`params`", "`s_quantity`", "`i_data`", "`number`"] {
        assert!(reasons.iter().any(|one| one.contains(name)), "{name}: {reasons:#?}");
    }
}

#[test]
fn loop_of_delivery_goes_on_without_an_order() {
    let Some(found) = candidates("delivery.c", "delivery") else { return };
    let reasons = reasons(&found);
    assert!(reasons.len() > 20, "{reasons:#?}");
    for reason in &reasons {
        assert!(reason.ends_with("a `break`, `continue` or label stands in it (jump)"), "{reason}");
    }
}
