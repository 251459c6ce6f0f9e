//! Sums over ranges: the search for versions of the rows that add up to the sum that was read.
//!
//! A sum names no versions, so the versions that its reader saw are found by a search, over the
//! combinations of one candidate for each key of the range: a version, or no row. If versions are
//! large random numbers, no two combinations have the same sum, and the combination that is found
//! is the one that was read.
//!
//! - The search first tries the candidates that real time allows, a few for each key. If some of
//!   their combinations fit, no others need to be tried: every other combination has a version that
//!   was replaced before the reader was invoked, or written after it was acknowledged, or rolled
//!   back, or replaced by its own writer, so a history that it explains is wrong anyway.
//! - If none of them fits, the history *is* wrong, and the search goes through all versions so that
//!   the graph can show in which way. If nothing fits there either, no state ever had this sum.
//! - Only what all fitting combinations agree on counts as read. The rest is left open, and so is a
//!   sum whose reader took so long that there are too many combinations. That may miss an anomaly
//!   but never invents one; such sums are counted.
//!
//! The combinations of half of the keys are put in a table, and those of the other half looked up
//! in it, so that the search takes the root of their number. (Horowitz, Sahni, "Computing
//! Partitions with Applications to the Knapsack Problem", 1974.)

use std::collections::{BTreeMap, HashMap};

use crate::history::{Op, Phase, Transaction};

use super::{
    replay::{Facts, Object, Reading, Seen, Space, Writer},
    report::{Kind, Report},
};

/// Upper bound on the combinations of half of the keys.
const HALF_MAX: usize = 1 << 18;
/// Upper bound on fitting combinations; more of them are assumed to agree on nothing.
const FITTING_MAX: usize = 1_000;
/// Upper bound on the candidates shown for each key.
const SHOWN: usize = 8;

/// Rows and the sum of their versions, modulo 2⁶⁴.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub(super) struct Total {
    pub(super) rows: u64,
    pub(super) sum: u64,
}

/// A version of a row, or `None` for no row.
type Candidate = Option<u64>;

impl Total {
    fn with(self, candidate: Candidate) -> Total {
        let Some(version) = candidate else { return self };
        Total { rows: self.rows.wrapping_add(1), sum: self.sum.wrapping_add(version) }
    }

    /// Subtracts `other`. (A number of rows below zero fits nothing.)
    fn without(self, other: Total) -> Total {
        Total { rows: self.rows.wrapping_sub(other.rows), sum: self.sum.wrapping_sub(other.sum) }
    }
}

/// The part of a sum that covers other transactions' rows.
pub(super) struct Sum<'a> {
    pub(super) transaction: usize,
    pub(super) op: &'a Op,
    pub(super) low: u64,
    pub(super) high: u64,
    /// The reader's own rows: the last version of each key that it wrote before.
    pub(super) own: Vec<(u64, Candidate)>,
    pub(super) total: Total,
}

/// The facts known about a row.
#[derive(Default)]
struct Row {
    /// Its longest ledger.
    ledger: Vec<u64>,
    versions: BTreeMap<u64, Writer>,
}

/// Converts sums into reads of rows. Real time counts if `strict`.
pub(super) fn resolve(
    facts: &mut Facts,
    sums: &[Sum<'_>],
    transactions: &[Transaction],
    strict: bool,
    report: &mut Report,
) {
    if sums.is_empty() {
        return;
    }
    let rows = rows_of(facts);
    for sum in sums {
        let own = sum.own.iter().fold(Total::default(), |total, (_, own)| total.with(*own));
        let total = sum.total.without(own);
        let others = rows.range(sum.low..=sum.high);
        let others = others.filter(|(key, _)| sum.own.iter().all(|(own, _)| own != *key));
        let others: Vec<(u64, &Row)> = others.map(|(key, row)| (*key, row)).collect();
        let timely = others.iter().map(|(_, row)| row.timely(sum.transaction, transactions));
        let timely: Vec<Vec<Candidate>> = timely.collect();
        let all = || others.iter().map(|(_, row)| row.all(sum.transaction)).collect::<Vec<_>>();
        let found = if strict { search(&timely, total) } else { search(&all(), total) };
        let found = match found {
            Found::Nothing if strict => match search(&all(), total) {
                // No combination that real time allows fits, whether or not another one does.
                Found::TooMany => Found::Nothing,
                found => found,
            },
            found => found,
        };
        match found {
            Found::Agreed(seen) => note(facts, sum, &others, &seen, report),
            Found::TooMany => report.ambiguous_sums += 1,
            Found::Nothing => {
                let id = transactions[sum.transaction].id;
                report.add(Kind::ImpossibleSum, vec![id], || explain(id, sum, &others, &timely));
            }
        }
    }
}

fn rows_of(facts: &Facts) -> BTreeMap<u64, Row> {
    let mut rows: BTreeMap<u64, Row> = BTreeMap::new();
    for ((object, version), writer) in &facts.writers {
        if object.space == Space::Row {
            rows.entry(object.key).or_default().versions.insert(*version, *writer);
        }
    }
    for (key, row) in &mut rows {
        let lists = facts.lists.get(&Object { space: Space::Row, key: *key }).into_iter().flatten();
        let longest = lists.map(|(_, list)| list).max_by_key(|list| list.len());
        row.ledger = longest.cloned().unwrap_or_default();
    }
    rows
}

impl Row {
    /// The versions that a reader may have seen without an anomaly that a single read can have.
    fn timely(&self, reader: usize, transactions: &[Transaction]) -> Vec<Candidate> {
        let invoked = transactions[reader].invoked;
        let is_past = |version: &u64| {
            let writer = self.versions.get(version);
            let end = writer.and_then(|writer| transactions[writer.transaction].acknowledged);
            end.is_some_and(|end| end < invoked)
        };
        let start = self.ledger.iter().rposition(is_past);
        let stale = &self.ledger[..start.unwrap_or(0)];
        let may_be_seen = |version: &u64, writer: &Writer| {
            let source = &transactions[writer.transaction];
            let future = transactions[reader].acknowledged.is_some_and(|end| end < source.invoked);
            let is_over = source.outcome == Phase::Fail || !writer.last || stale.contains(version);
            !future && !is_over
        };
        self.candidates(reader, start.is_none(), may_be_seen)
    }

    /// All versions that other transactions wrote.
    fn all(&self, reader: usize) -> Vec<Candidate> {
        self.candidates(reader, true, |_, _| true)
    }

    fn candidates(
        &self,
        reader: usize,
        initially_absent: bool,
        may_be_seen: impl Fn(&u64, &Writer) -> bool,
    ) -> Vec<Candidate> {
        let others = self.versions.iter().filter(|(_, writer)| writer.transaction != reader);
        let seen = others.filter(|(version, writer)| may_be_seen(version, writer));
        let seen = seen.map(|(version, writer)| (!writer.removal).then_some(*version));
        let mut candidates: Vec<Candidate> = seen.collect();
        candidates.extend(initially_absent.then_some(None));
        candidates.sort_unstable();
        candidates.dedup();
        candidates
    }
}

/// The result of a search.
#[derive(PartialEq, Eq, Debug)]
enum Found {
    /// For each key, the candidate on which all fitting combinations agree, if they do.
    Agreed(Vec<Option<Candidate>>),
    /// No combination fits.
    Nothing,
    /// There are too many combinations to try.
    TooMany,
}

/// Searches for the combinations of one candidate of each key that have this total.
fn search(keys: &[Vec<Candidate>], total: Total) -> Found {
    let Some((left, right)) = halves(keys) else { return Found::TooMany };
    let mut table: HashMap<Total, Vec<usize>> = HashMap::new();
    for (number, part) in combinations(keys, &left).into_iter().enumerate() {
        table.entry(part).or_default().push(number);
    }
    let mut agreed: Option<Vec<Option<Candidate>>> = None;
    let mut fitting = 0;
    for (number, part) in combinations(keys, &right).into_iter().enumerate() {
        for &partner in table.get(&total.without(part)).into_iter().flatten() {
            let mut seen = vec![None; keys.len()];
            choose(keys, &left, partner, &mut seen);
            choose(keys, &right, number, &mut seen);
            let agreed = agreed.get_or_insert_with(|| seen.clone());
            for (agreed, seen) in agreed.iter_mut().zip(&seen) {
                *agreed = agreed.filter(|agreed| Some(*agreed) == *seen);
            }
            fitting += 1;
            if fitting > FITTING_MAX {
                return Found::Agreed(vec![None; keys.len()]);
            }
        }
    }
    agreed.map_or(Found::Nothing, Found::Agreed)
}

/// Splits the keys into two halves with about the same number of combinations; `None` if these are
/// too many.
fn halves(keys: &[Vec<Candidate>]) -> Option<(Vec<usize>, Vec<usize>)> {
    let mut order: Vec<usize> = (0..keys.len()).collect();
    order.sort_unstable_by_key(|&key| std::cmp::Reverse(keys[key].len()));
    let mut halves = [(1usize, Vec::new()), (1, Vec::new())];
    for key in order {
        let smaller = usize::from(halves[1].0 < halves[0].0);
        let (count, half) = &mut halves[smaller];
        *count = count.checked_mul(keys[key].len()).filter(|count| *count <= HALF_MAX)?;
        half.push(key);
    }
    let [(_, left), (_, right)] = halves;
    Some((left, right))
}

/// Returns the total of each combination. The index identifies the combination (see [`choose`]).
fn combinations(keys: &[Vec<Candidate>], half: &[usize]) -> Vec<Total> {
    half.iter().fold(vec![Total::default()], |totals, &key| {
        let extend = |total: Total| keys[key].iter().map(move |candidate| total.with(*candidate));
        totals.into_iter().flat_map(extend).collect()
    })
}

/// Sets the candidate that each key has in a combination.
fn choose(
    keys: &[Vec<Candidate>],
    half: &[usize],
    mut number: usize,
    seen: &mut [Option<Candidate>],
) {
    for &key in half.iter().rev() {
        let candidates = &keys[key];
        seen[key] = Some(candidates[number % candidates.len()]);
        number /= candidates.len();
    }
}

/// Records the result as reads.
fn note(
    facts: &mut Facts,
    sum: &Sum<'_>,
    rows: &[(u64, &Row)],
    seen: &[Option<Candidate>],
    report: &mut Report,
) {
    for ((key, _), seen) in rows.iter().zip(seen) {
        let Some(candidate) = seen else { continue };
        let seen = candidate.map_or(Seen::Absent, Seen::Version);
        let predicate = sum.low != sum.high;
        let reading = Reading { transaction: sum.transaction, seen, predicate };
        let object = Object { space: Space::Row, key: *key };
        facts.readings.entry(object).or_default().push(reading);
    }
    report.ambiguous_sums += usize::from(seen.iter().any(Option::is_none));
}

fn explain(id: u64, sum: &Sum<'_>, rows: &[(u64, &Row)], timely: &[Vec<Candidate>]) -> String {
    let Sum { op, total: Total { rows: count, sum }, .. } = sum;
    let mut text = format!(
        "T{id} read {count} rows with the sum {sum}, and no state has those\n  {op:?}\n  \
         what it may have seen:\n"
    );
    for ((key, _), candidates) in rows.iter().zip(timely) {
        let name = |seen: &Candidate| seen.map_or("no row".to_owned(), |v| v.to_string());
        let mut names: Vec<String> = candidates.iter().take(SHOWN).map(name).collect();
        if candidates.len() > SHOWN {
            names.push(format!("and {} more", candidates.len() - SHOWN));
        }
        text += &format!("    row {key}: {}\n", names.join(", "));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn total(rows: u64, sum: u64) -> Total {
        Total { rows, sum }
    }

    #[test]
    fn the_one_combination_that_fits_is_found() {
        let big = 1u64 << 63;
        let keys =
            vec![vec![None, Some(5)], vec![Some(7), Some(9)], vec![Some(big), Some(big + 1)]];
        let agreed = |seen: [Candidate; 3]| Found::Agreed(seen.map(Some).to_vec());
        assert_eq!(search(&keys, total(2, big + 9)), agreed([None, Some(9), Some(big)]));
        assert_eq!(search(&keys, total(3, big + 13)), agreed([Some(5), Some(7), Some(big + 1)]));
        assert_eq!(search(&keys, total(3, big + 9)), Found::Nothing);
        assert_eq!(search(&[], total(0, 0)), Found::Agreed(Vec::new()));
        assert_eq!(search(&[], total(0, 1)), Found::Nothing);
        assert_eq!(search(&[Vec::new()], total(0, 0)), Found::Nothing);
    }

    #[test]
    fn what_combinations_disagree_about_is_left_open() {
        let keys = vec![vec![Some(1), Some(2)], vec![Some(1), Some(2)], vec![None, Some(40)]];
        let found = search(&keys, total(3, 43));
        assert_eq!(found, Found::Agreed(vec![None, None, Some(Some(40))]));
    }

    #[test]
    fn too_many_combinations_are_not_looked_at() {
        let key: Vec<Candidate> = (0..40).map(Some).collect();
        assert_eq!(search(&vec![key.clone(); 10], total(10, 7)), Found::TooMany);
        // All fit that add up to this, and they agree on nothing.
        assert_eq!(search(&vec![key; 6], total(6, 100)), Found::Agreed(vec![None; 6]));
    }
}
