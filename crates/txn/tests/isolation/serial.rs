//! The judge of a run: checks that its transactions could have run one after the other.
//!
//! All locks are kept until a transaction's end, so the order of the ends is a serial order: the
//! same transactions, run alone one after the other in that order on a new engine, must give the
//! same answers and leave the same contents. A transaction that was rolled back, or died in a
//! deadlock, has its place too: what it read before its end counts.
//!
//! The judge knows nothing of modes, so it is the same for every range-lock protocol.

use std::collections::HashMap;

use crate::{
    driver::Driver,
    run::{self, Ran},
    session::Session,
    spec::Spec,
};

/// A transaction that has ended: its steps with their answers.
struct Transaction {
    steps: Vec<(Vec<String>, String)>,
    /// `commit` or `rollback`.
    end: &'static str,
}

/// The transactions of a run in the order in which they ended. Those that never ended are left out:
/// no other transaction has seen their changes.
fn transactions(spec: &Spec, ran: &Ran) -> Result<Vec<Transaction>, String> {
    let mut open: HashMap<usize, Vec<(Vec<String>, String)>> = HashMap::new();
    let mut ended = Vec::new();
    for event in &ran.events {
        let (step, answer) = event.split_once(' ').unwrap_or((event, ""));
        let Some((session, words)) = spec.find(step) else { continue };
        let end = match (words[0].as_str(), answer) {
            (_, answer) if answer.starts_with("error") => return Err(event.clone()),
            (_, "waits" | "still waits") => continue,
            ("commit", "durable" | "committed") => "commit",
            ("rollback", _) | (_, "deadlock") => "rollback",
            // Had no effect, or none on what is read.
            ("commit" | "nowait", _) | (_, "would block") => continue,
            _ => {
                open.entry(session).or_default().push((words.to_vec(), answer.to_string()));
                continue;
            }
        };
        ended.push(Transaction { steps: open.remove(&session).unwrap_or_default(), end });
    }
    Ok(ended)
}

/// Judges a run.
///
/// # Errors
/// The first answer, or the contents, that differ when each transaction runs alone.
pub(crate) fn judge(spec: &Spec, ran: &Ran) -> Result<(), String> {
    let (engine, table) = run::start(spec, &run::Locking::default());
    for transaction in transactions(spec, ran)? {
        let mut session = Session::new(engine.clone(), table.clone(), Driver::Blocking);
        for (words, answer) in &transaction.steps {
            let alone = session.perform(words);
            if alone != *answer {
                return Err(format!("{words:?} gave {answer:?}, and alone gives {alone:?}"));
            }
        }
        session.perform(&[transaction.end.to_string()]);
    }
    let alone = run::contents(&engine, &table);
    if alone != ran.contents {
        return Err(format!("left {:?}, and alone leave {alone:?}", ran.contents));
    }
    Ok(())
}
