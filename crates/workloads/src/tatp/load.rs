//! Loading the subscribers, each thread on its own range of s_id.

use super::{
    Tables, TatpScale,
    population::Subscriber,
    rows::{forwarding_key, index_row, read_number, subscriber_key, typed_key},
};
use crate::{
    loading::{Loader, Mark, Progress, in_parallel},
    store::Store,
};

/// Loads the subscribers if the store has none; checks their number if it has.
pub(super) fn load_if_absent<S: Store>(
    store: &S,
    tables: &Tables<S>,
    scale: TatpScale,
    threads: usize,
    progress: &Progress<'_>,
) -> Result<(), S::Error> {
    let bytes = scale.subscribers.to_le_bytes();
    let mark = Mark { store, table: &tables.scale, what: "TATP subscribers", scale: &bytes };
    let load = || {
        in_parallel(store, progress, scale.parts(threads), |(from, to), loader| {
            (from..to).try_for_each(|id| add::<S>(tables, id, loader))
        })
    };
    mark.load_once(&[], load).map(drop)
}

/// Adds a subscriber with all its rows.
fn add<'a, S: Store>(
    tables: &'a Tables<S>,
    id: u32,
    loader: &mut Loader<'a, S>,
) -> Result<(), S::Error> {
    let subscriber = Subscriber::draw(id);
    loader.insert(&tables.subscriber, &subscriber_key(id), &subscriber.row)?;
    loader.insert(&tables.by_number, read_number(&subscriber.row), &index_row(id))?;
    for (kind, row) in subscriber.access() {
        loader.insert(&tables.access, &typed_key(id, kind), row)?;
    }
    for (kind, row) in subscriber.facilities() {
        loader.insert(&tables.facility, &typed_key(id, kind), row)?;
    }
    for (kind, start, row) in subscriber.forwardings() {
        loader.insert(&tables.forwarding, &forwarding_key(id, kind, start), row)?;
    }
    Ok(())
}
