//! Profiles as JSON files.

use std::{collections::BTreeMap, fs, path::Path};

use serde::{Deserialize, Serialize};

use super::{BadProfile, Key, Profile, Times};

/// The version of the format that is read and written.
pub(super) const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
struct File {
    version: u32,
    queries: Vec<Query>,
    #[serde(default)]
    alone: Vec<Query>,
}

#[derive(Serialize, Deserialize)]
struct Query {
    function: String,
    sql: String,
    ordinal: u32,
    count: u64,
    sum: u64,
    squares: f64,
    buckets: Vec<(u32, u64)>,
    #[serde(flatten, skip_deserializing)]
    summary: Summary,
}

/// The part for people who read the file; the program computes it anew.
#[derive(Serialize, Default)]
struct Summary {
    mean: Option<f64>,
    deviation: Option<f64>,
    p5: Option<f64>,
    wait: Option<f64>,
}

impl Profile {
    /// Reads a profile, of one run or a merged one.
    ///
    /// # Errors
    /// The file cannot be read or is not a profile.
    pub fn read(path: &Path) -> Result<Profile, BadProfile> {
        let bytes = fs::read(path).map_err(|error| BadProfile::Read(path.to_owned(), error))?;
        let file: File = serde_json::from_slice(&bytes)
            .map_err(|error| BadProfile::Json(path.to_owned(), error))?;
        if file.version != VERSION {
            return Err(BadProfile::Version(path.to_owned(), file.version));
        }
        let collected = |queries| {
            collected(queries).map_err(|key| BadProfile::Contradiction(path.to_owned(), key))
        };
        Ok(Profile { queries: collected(file.queries)?, alone: collected(file.alone)? })
    }

    /// Writes the profile; what stood in the file is lost.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), BadProfile> {
        let listed = |queries: &BTreeMap<Key, Times>, has_wait: bool| {
            let wait = |key| self.wait(key).filter(|_| has_wait);
            queries.iter().map(|(key, times)| Query::of(key, times, wait(key))).collect()
        };
        let file = File {
            version: VERSION,
            queries: listed(&self.queries, true),
            alone: listed(&self.alone, false),
        };
        let mut text = serde_json::to_string_pretty(&file)
            .map_err(|error| BadProfile::Write(path.to_owned(), error.into()))?;
        text.push('\n');
        fs::write(path, text).map_err(|error| BadProfile::Write(path.to_owned(), error))
    }
}

impl Query {
    fn of(key: &Key, times: &Times, wait: Option<f64>) -> Query {
        Query {
            function: key.function.clone(),
            sql: key.sql.clone(),
            ordinal: key.ordinal,
            count: times.count,
            sum: times.sum,
            squares: times.squares,
            buckets: times.buckets.iter().map(|(&bucket, &count)| (bucket, count)).collect(),
            summary: Summary {
                mean: times.mean(),
                deviation: times.deviation(),
                p5: times.p5(),
                wait,
            },
        }
    }
}

/// Returns the times by key; the first key with inconsistent times otherwise.
fn collected(queries: Vec<Query>) -> Result<BTreeMap<Key, Times>, Key> {
    let mut collected: BTreeMap<Key, Times> = BTreeMap::new();
    for query in queries {
        let key = Key::new(&query.function, &query.sql, query.ordinal);
        let Query { count, sum, squares, buckets, .. } = query;
        let length = buckets.len();
        let times = Times { count, sum, squares, buckets: buckets.into_iter().collect() };
        if times.buckets.len() != length || !times.is_consistent() {
            return Err(key);
        }
        collected.entry(key).or_default().merge(&times);
    }
    Ok(collected)
}
