//! A database that is larger than its cache, with the cache warm.

use std::{
    cell::{Ref, RefCell, RefMut},
    sync::Arc,
    time::Duration,
};

use clearway::{Options, Staging};
use clearway_base::PAGE_SIZE;
use clearway_disk::MemoryDisk;
use clearway_testkit::disk::{QueueingDisk, ReadServers};
use clearway_workloads::{
    ClearwayStore, Commit, Outcome as DriverOutcome, Plan, Skew, Tpcb, TpcbOrder, TpcbScale, Tpcc,
    TpccMix, TpccScale, TpccTransaction, Workload, drive,
};

use super::{counters::Counters, device::Device, observed::ObservedStore};
use crate::experiment::Outcome;

/// The data of a database.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in super::super) enum Data {
    Tpcc(TpccScale),
    Tpcb(TpcbScale),
}

/// The place of a run: data, the size of the cache in percent of them, and a disk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in super::super) struct Place {
    pub(in super::super) data: Data,
    pub(in super::super) cache_percent: u64,
    pub(in super::super) device: Device,
}

/// An open database whose cache is warm.
pub(in super::super) struct Site {
    place: Place,
    pub(super) store: ObservedStore,
    pub(super) servers: ReadServers,
    ready: Ready,
    /// The number of the next client.
    clients: u32,
    cache_pages: u64,
    /// Pages of the database when it was opened.
    pages: u64,
}

/// Loaded data that are ready to run.
enum Ready {
    Tpcc(Tpcc<ObservedStore>),
    Tpcb(Tpcb<ObservedStore>),
}

/// Loaded data, and the number of their pages.
struct Image {
    data: Data,
    disk: MemoryDisk,
    pages: u64,
}

/// Loaded data, and the site of the last run.
#[derive(Default)]
pub(in super::super) struct Sites {
    images: RefCell<Vec<Image>>,
    last: RefCell<Option<Site>>,
}

const LOG_BYTES: u64 = 256 << 20;
/// The bytes of cache for each row while data are loaded: none is evicted.
const BYTES_EACH_ROW: u64 = 500;
/// The least cache.
const CACHE_MIN: u64 = 4 << 20;
/// A site is replaced by a new one once this many pages in a hundred were added to its data.
const GROWTH_PERCENT: u64 = 25;
/// The warm-up ends once a part of the cache was evicted and the misses of a transaction have
/// fallen by less than `STEADY` in a round, or are below `MISSES_MIN`, or after `ROUNDS_MAX`.
const EVICTED_PART: u64 = 2;
const STEADY: f64 = 0.05;
const MISSES_MIN: f64 = 0.01;
const ROUNDS_MAX: u32 = 50;
const ROUND: Duration = Duration::from_millis(400);
const THREADS: usize = 2;
const WARMING_CLIENTS: u32 = 50;
/// Of all runs: the seed decides which customers and items are drawn often.
const SEED: u64 = 7;

impl Data {
    /// The names of the types of its transactions.
    fn types(self) -> Vec<&'static str> {
        match self {
            Data::Tpcc(_) => TpccTransaction::ALL.map(TpccTransaction::name).to_vec(),
            Data::Tpcb(_) => vec!["tpcb"],
        }
    }

    /// The bytes that a transaction adds, about.
    fn bytes_of_commit(self) -> u64 {
        match self {
            Data::Tpcc(_) => 600,
            Data::Tpcb(_) => 80,
        }
    }

    fn rows(self) -> u64 {
        match self {
            Data::Tpcc(scale) => scale.rows(),
            Data::Tpcb(scale) => scale.rows(),
        }
    }
}

impl Ready {
    /// Loads the data, if they are not there.
    fn prepare(data: Data, store: &ObservedStore) -> Outcome<Ready> {
        Ok(match data {
            Data::Tpcc(scale) => {
                let mix = TpccMix::Standard;
                Ready::Tpcc(Tpcc::prepare(store, scale, mix, THREADS, &|_| true)?)
            }
            Data::Tpcb(scale) => {
                Ready::Tpcb(Tpcb::prepare(store, scale, Skew::Uniform, THREADS, &|_| true)?)
            }
        })
    }

    fn drive(&self, store: &ObservedStore, plan: &Plan) -> Outcome<DriverOutcome> {
        Ok(match self {
            Ready::Tpcc(tpcc) => drive(store, tpcc, plan, &mut |_| true)?,
            Ready::Tpcb(bank) => drive(store, bank, plan, &mut |_| true)?,
        })
    }

    /// Makes the next client the first of a round of all warehouses, so that a run has as many of
    /// its clients at one warehouse as any other run. Each round begins with another warehouse, so
    /// that no run has the clients of the one before. `clients` is the number of the next client.
    fn skip_clients(&self, clients: u32) -> u32 {
        let Ready::Tpcc(tpcc) = self else { return clients };
        let next = clients.next_multiple_of(tpcc.scale().warehouses);
        (clients..next).for_each(|_| drop(tpcc.client(SEED)));
        next
    }
}

impl Image {
    fn load(data: Data) -> Outcome<Image> {
        let disk = MemoryDisk::new();
        let cache = CACHE_MIN + data.rows() * BYTES_EACH_ROW;
        let options = Options::new().cache_size(cache).log_capacity(LOG_BYTES);
        let store = ClearwayStore::new(options.on_disk(Arc::new(disk.clone())).open("lab")?);
        Ready::prepare(data, &ObservedStore::new(store.clone()))?;
        let pages = Counters::of(&store).engine.pool.resident_pages;
        store.database().close()?;
        Ok(Image { data, disk, pages })
    }
}

impl Site {
    /// Opens a copy of the image, and runs transactions until the hit rate is steady.
    fn open(place: Place, image: &Image, round: Duration) -> Outcome<Site> {
        let servers = place.device.servers();
        let disk = QueueingDisk::new(image.disk.fork(), servers.clone());
        let cache = image.pages * PAGE_SIZE as u64 * place.cache_percent / 100;
        let cache = cache.max(CACHE_MIN);
        let options = Options::new().cache_size(cache).log_capacity(LOG_BYTES);
        let store = ClearwayStore::new(options.on_disk(Arc::new(disk)).open("lab")?);
        let store = ObservedStore::new(store);
        let ready = Ready::prepare(place.data, &store)?;
        let (cache_pages, pages) = (cache / PAGE_SIZE as u64, image.pages);
        let mut site = Site { place, store, servers, ready, clients: 0, cache_pages, pages };
        site.warm_up(round)?;
        Ok(site)
    }

    fn warm_up(&mut self, duration: Duration) -> Outcome<()> {
        let plan = Plan {
            clients: WARMING_CLIENTS,
            threads: Some(THREADS),
            commit: Commit::Blocking,
            duration,
            seed: SEED,
        };
        let (opened, mut last) = (self.counters(), f64::INFINITY);
        for _ in 0..ROUNDS_MAX {
            let before = self.counters();
            self.drive(&plan)?;
            let after = self.counters();
            let misses = after.misses_each(&before);
            let is_full = after.evictions(&opened) > self.cache_pages / EVICTED_PART;
            if misses < MISSES_MIN || is_full && misses >= last * (1.0 - STEADY) {
                break;
            }
            last = misses;
        }
        Ok(())
    }

    /// Runs transactions of new clients.
    pub(super) fn drive(&mut self, plan: &Plan) -> Outcome<DriverOutcome> {
        self.clients = self.ready.skip_clients(self.clients) + plan.clients;
        self.ready.drive(&self.store, &Plan { seed: SEED, ..*plan })
    }

    /// Sets the order of the statements of TPC-B.
    pub(super) fn set_order(&mut self, order: TpcbOrder) {
        if let Ready::Tpcb(bank) = &mut self.ready {
            bank.set_order(order);
        }
    }

    /// Sets the policy of all types of transactions of the data.
    pub(super) fn set_policy(&self, staging: Staging) {
        for name in self.place.data.types() {
            self.store.inner().database().set_staging(name, Some(staging));
        }
    }

    pub(super) fn counters(&self) -> Counters {
        Counters::of(self.store.inner())
    }

    /// Returns true if the data have grown too much for another run.
    fn has_grown(&self) -> bool {
        let commits = self.counters().engine.commits;
        let grown = commits * self.place.data.bytes_of_commit() / PAGE_SIZE as u64;
        grown > self.pages * GROWTH_PERCENT / 100
    }
}

impl Sites {
    /// Returns the site of the last run if it is at this place and has not grown much, and
    /// otherwise a new one. `time` bounds a round of the warm-up.
    pub(super) fn at(&self, place: Place, time: Duration) -> Outcome<RefMut<'_, Site>> {
        let mut last = self.last.borrow_mut();
        let fits = |site: &Site| site.place == place && !site.has_grown();
        if !last.as_ref().is_some_and(fits) {
            *last = None;
            *last = Some(Site::open(place, &*self.image(place.data)?, ROUND.min(time))?);
        }
        RefMut::filter_map(last, Option::as_mut).map_err(|_| "there is no site".into())
    }

    /// Returns the size of the loaded data.
    pub(in super::super) fn bytes(&self, data: Data) -> Outcome<u64> {
        Ok(self.image(data)?.pages * PAGE_SIZE as u64)
    }

    fn image(&self, data: Data) -> Outcome<Ref<'_, Image>> {
        let position = || self.images.borrow().iter().position(|image| image.data == data);
        let at = match position() {
            Some(at) => at,
            None => {
                let image = Image::load(data)?;
                self.images.borrow_mut().push(image);
                self.images.borrow().len() - 1
            }
        };
        Ok(Ref::map(self.images.borrow(), |images| &images[at]))
    }
}
