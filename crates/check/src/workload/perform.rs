//! Performs planned operations and returns their results.

use std::time::Duration;

use clearway::{Error, Result};
use clearway_sync::thread;

use crate::history::Op;

use super::{
    number,
    plan::{Plan, Step},
    store::{Access, Place},
};

/// The reason given for a planned rollback.
pub(super) const CHANGED_MIND: &str = "changed its mind";

/// Runs a plan in a transaction. Returns the operations with their results.
pub(super) fn perform(plan: &Plan, access: &mut dyn Access) -> Result<Vec<Op>> {
    let mut done = Vec::with_capacity(plan.steps.len());
    for step in &plan.steps {
        match step.pause_us {
            0 => {}
            1..50 => thread::yield_now(),
            pause => thread::sleep(Duration::from_micros(pause)),
        }
        if let Some(undone) = &step.undone {
            access.savepoint()?;
            let undone = Step { op: undone.clone(), ..step.clone() };
            perform_step(&undone, access, &mut Vec::new())?;
            access.rollback_to_savepoint()?;
        }
        perform_step(step, access, &mut done)?;
    }
    if plan.abort {
        return Err(Error::Aborted { reason: CHANGED_MIND.to_owned() });
    }
    Ok(done)
}

fn perform_step(step: &Step, access: &mut dyn Access, done: &mut Vec<Op>) -> Result<()> {
    let op = match step.op.clone() {
        op @ Op::Append { key, value } => {
            append(step, access, Place::Lists, key, value)?;
            op
        }
        Op::List { key, .. } => {
            let values = list(access.get(Place::Lists, key)?.as_deref());
            Op::List { key, values: Some(values) }
        }
        Op::Lists { low, high, way, .. } => {
            let found = access.range(Place::Lists, low, high, way)?;
            let found = found.iter().map(|(key, value)| (*key, list(Some(value)))).collect();
            Op::Lists { low, high, way, found: Some(found) }
        }
        op @ Op::Write { key, value } => {
            access.put(Place::Registers, key, &value.to_be_bytes())?;
            op
        }
        Op::Read { key, .. } => {
            let value = access.get(Place::Registers, key)?;
            Op::Read { key, value: Some(value.map(|value| number(&value, 0))) }
        }
        Op::Cas { key, expected, value } => {
            compare_and_set(step, access, (key, expected, value), done)?;
            return Ok(());
        }
        op @ (Op::Insert { key, version } | Op::Delete { key, version }) => {
            if step.swap {
                append(step, access, Place::Ledgers, key, version)?;
                change_row(&op, access)?;
            } else {
                change_row(&op, access)?;
                append(step, access, Place::Ledgers, key, version)?;
            }
            op
        }
        Op::Ledger { key, .. } => {
            let versions = list(access.get(Place::Ledgers, key)?.as_deref());
            Op::Ledger { key, versions: Some(versions) }
        }
        Op::Rows { low, high, way, .. } => {
            let found = if low == high {
                access.get(Place::Rows, low)?.map(|value| (low, value)).into_iter().collect()
            } else {
                access.range(Place::Rows, low, high, way)?
            };
            let found = found.iter().map(|(key, value)| (*key, number(value, 0))).collect();
            Op::Rows { low, high, way, found: Some(found) }
        }
        Op::Sum { low, high, way, .. } => {
            let rows = access.range(Place::Rows, low, high, way)?;
            let versions = rows.iter().map(|(_, value)| number(value, 0));
            let sum = versions.fold(0u64, u64::wrapping_add);
            Op::Sum { low, high, way, found: Some((rows.len() as u64, sum)) }
        }
    };
    done.push(op);
    Ok(())
}

fn append(step: &Step, access: &mut dyn Access, place: Place, key: u64, value: u64) -> Result<()> {
    let before = match step.upgrade {
        true => access.get(place, key)?,
        false => access.get_for_update(place, key)?,
    };
    let mut list = before.unwrap_or_default();
    list.extend(value.to_be_bytes());
    access.put(place, key, &list)
}

fn compare_and_set(
    step: &Step,
    access: &mut dyn Access,
    (key, expected, value): (u64, Option<u64>, u64),
    done: &mut Vec<Op>,
) -> Result<()> {
    let current = match step.upgrade {
        true => access.get(Place::Registers, key)?,
        false => access.get_for_update(Place::Registers, key)?,
    };
    let current = current.map(|current| number(&current, 0));
    done.push(Op::Read { key, value: Some(current) });
    if current == expected {
        access.put(Place::Registers, key, &value.to_be_bytes())?;
        done.push(Op::Write { key, value });
    }
    Ok(())
}

/// Inserts or removes a row. A present row holds its version and, so that rows differ in length,
/// padding.
fn change_row(op: &Op, access: &mut dyn Access) -> Result<()> {
    match *op {
        Op::Insert { key, version } => {
            let mut row = version.to_be_bytes().to_vec();
            row.resize(8 + (version % 48) as usize, b'.');
            access.put(Place::Rows, key, &row)
        }
        Op::Delete { key, .. } => access.remove(Place::Rows, key),
        _ => Ok(()),
    }
}

fn list(value: Option<&[u8]>) -> Vec<u64> {
    let value = value.unwrap_or_default();
    (0..value.len() / 8).map(|at| number(value, at * 8)).collect()
}
