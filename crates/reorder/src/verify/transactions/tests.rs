use super::{super::log, *};

/// Returns the events of queries, each written as `connection statement state failed`.
fn events(text: &str) -> Vec<Event> {
    let line = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        if words[0] == "call" {
            return "{\"event\":\"begins\"}\n".to_owned();
        }
        let (kind, statement) =
            if words[1] == "prepare" { ("prepare", "other") } else { ("query", words[1]) };
        let failed = words.get(3).map_or("null".to_owned(), |code| format!("{code:?}"));
        format!(
            "{{\"event\":\"query\",\"connection\":{},\"kind\":\"{kind}\",\
             \"statement\":\"{statement}\",\
             \"sql\":\"{}\",\"parameters\":[],\"key\":\"\",\"failed\":{failed},\
             \"injected\":false,\"state\":\"{}\",\"rows\":0,\"changed\":\"\",\"first\":[]}}\n",
            words[0], words[1], words[2]
        )
    };
    log::read(
        &text.lines().map(str::trim).filter(|one| !one.is_empty()).map(line).collect::<String>(),
    )
    .unwrap()
}

/// Returns the outcome and the number of operations of each transaction.
fn outcomes(text: &str) -> Vec<(Outcome, usize)> {
    let events = events(text);
    transactions(&events).iter().map(|one| (one.outcome, one.operations.len())).collect()
}

#[test]
fn commit_ends_a_transaction() {
    let text = "1 begin active\n1 change active\n1 rows active\n1 commit idle";
    assert_eq!(outcomes(text), [(Outcome::Committed, 2)]);
}

#[test]
fn rollback_ends_a_transaction_without_its_effects() {
    let text = "1 begin active\n1 change active\n1 rows failed 23505\n1 rollback idle";
    assert_eq!(outcomes(text), [(Outcome::RolledBack, 1)]);
}

#[test]
fn commit_after_a_failed_query_is_refused() {
    let text = "1 begin active\n1 rows failed 40001\n1 rows failed 25P02\n1 commit idle";
    assert_eq!(outcomes(text), [(Outcome::Refused, 0)]);
}

#[test]
fn failed_commit_rolls_back() {
    assert_eq!(outcomes("1 begin active\n1 commit idle 40001"), [(Outcome::RolledBack, 0)]);
}

#[test]
fn rollback_to_a_savepoint_makes_a_commit_possible() {
    let text = "1 begin active\n1 savepoint active\n1 rows failed 23505\n\
                1 rollback_to active\n1 commit idle";
    assert_eq!(outcomes(text), [(Outcome::Committed, 2)]);
}

#[test]
fn lost_connection_ends_the_transaction_once() {
    let text = "1 begin active\n1 change lost LOST\n1 rollback lost LOST";
    assert_eq!(outcomes(text), [(Outcome::Lost, 0)]);
}

#[test]
fn statement_outside_of_transactions_is_one_of_its_own() {
    let text = "1 change idle\n1 rows idle 57014\n1 rollback idle";
    assert_eq!(outcomes(text), [(Outcome::Committed, 1), (Outcome::RolledBack, 0)]);
}

#[test]
fn read_behind_a_rollback_by_the_server_is_no_transaction() {
    let text = "1 begin active\n1 change idle 40001\n1 rows idle\n1 rollback idle\n1 rows idle";
    assert_eq!(outcomes(text), [(Outcome::RolledBack, 0), (Outcome::Committed, 1)]);
    let text = "1 begin active\n1 change idle 40001\n1 change idle\n1 rollback idle";
    assert_eq!(outcomes(text), [(Outcome::RolledBack, 0), (Outcome::Committed, 1)]);
}

#[test]
fn transactions_of_two_connections_are_kept_apart() {
    let text = "1 begin active\n2 begin active\n1 change active\n2 rollback idle\n1 commit idle";
    assert_eq!(outcomes(text), [(Outcome::RolledBack, 0), (Outcome::Committed, 1)]);
}

#[test]
fn transaction_of_the_setup_goes_on_without_what_the_setup_did() {
    let text = "1 change idle\n1 begin active\n1 change active\ncall\n1 rows active";
    assert_eq!(outcomes(text), [(Outcome::Open, 1)]);
}

#[test]
fn transaction_left_open_after_a_failed_query_has_no_effect() {
    assert_eq!(outcomes("1 begin active\n1 rows failed 40001"), [(Outcome::RolledBack, 0)]);
}

#[test]
fn preparation_is_no_operation() {
    assert_eq!(outcomes("1 prepare idle"), []);
    let text = "1 begin active\n1 prepare active\n1 rows active\n1 commit idle";
    assert_eq!(outcomes(text), [(Outcome::Committed, 1)]);
}
