//! A place for an experiment: a directory with programs and databases, and at most one running
//! server.
//!
//! Invariants:
//! - LAB-SITE-1. A database is loaded once in each run of an experiment, and its server is started
//!   again only for another database or other options.
//! - LAB-SITE-2. No process of a site outlives it (LAB-SERVER-1, LAB-GUARD-1).

use std::{
    collections::BTreeSet,
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use tempfile::TempDir;

use super::{
    guard::Guard,
    programs::{Builder, Drive, Driven, finished, need},
    proxy::Proxy,
    server::{self, Server},
    workload::{Data, Scale, System, Workload},
};
use crate::experiment::Outcome;

/// The time for which the clients run before a measurement begins.
const WARMUP: Duration = Duration::from_millis(500);

/// The delays that are added to each round trip, in microseconds.
pub(crate) const DELAYS: [u32; 3] = [0, 200, 1000];

/// The settings of one run.
#[derive(Clone, Copy)]
pub(crate) struct Setting<'a> {
    pub(crate) system: System,
    pub(crate) workload: &'a Workload,
    pub(crate) clients: u32,
    /// The number of shared rows.
    pub(crate) size: u32,
    /// The delay that is added to each round trip, in microseconds.
    pub(crate) delay_us: u32,
    pub(crate) time: Duration,
    pub(crate) seed: u32,
    /// Further options of the server.
    pub(crate) options: &'a str,
}

impl Setting<'_> {
    /// Returns the name of the setting.
    pub(crate) fn name(&self) -> String {
        let (workload, system) = (self.workload.name, self.system.name());
        format!("{workload}, {system}, {} clients, {}:", self.clients, self.point())
    }

    /// Returns the name of the setting's point in a grid.
    pub(crate) fn point(&self) -> String {
        let size = self.workload.data.point(self.size);
        format!("{size}, {}", delay_name(self.delay_us))
    }
}

/// Returns a delay for people.
pub(crate) fn delay_name(delay_us: u32) -> String {
    format!("+{} ms", f64::from(delay_us) / 1000.0)
}

/// A directory with programs and databases. The fields are dropped in this order.
pub(crate) struct Site {
    proxy: Option<(u32, Proxy)>,
    server: Option<(Place, Server)>,
    pub(super) builder: Builder,
    proxy_program: PathBuf,
    scale: fn(System) -> Scale,
    loaded: BTreeSet<(System, Data)>,
    /// The programs that have run. The database is checked after the first run of each, since that
    /// takes seconds, and the conditions also show what earlier runs have done.
    checked: BTreeSet<PathBuf>,
    guard: Guard,
    directory: TempDir,
}

/// A server's database and options.
#[derive(Clone, PartialEq, Debug)]
struct Place {
    system: System,
    data: Data,
    options: String,
}

/// Returns the sizes of the databases that the experiments load unless they need others. The server
/// of PostgreSQL loads more slowly, so its database is smaller.
pub(crate) fn usual_scale(system: System) -> Scale {
    let warehouses = match system {
        System::MariaDb => 16,
        System::Postgres => 8,
    };
    Scale { warehouses, customers: 600, items: 100_000, trades: 64_000 }
}

/// Returns the same with four warehouses.
pub(crate) fn small_scale(system: System) -> Scale {
    Scale { warehouses: 4, ..usual_scale(system) }
}

impl Site {
    /// Checks that all programs are installed that the experiments need, and makes a directory.
    ///
    /// # Errors
    /// The first program or library that is missing.
    pub(crate) fn new(systems: &[System], scale: fn(System) -> Scale) -> Outcome<Site> {
        for &system in systems {
            match system {
                System::MariaDb => {
                    need("mariadbd", "MariaDB (mariadb-server)")?;
                    need("mariadb_config", "MariaDB's headers (libmariadb-dev)")?;
                }
                System::Postgres => need("pg_config", "PostgreSQL's headers (libpq-dev)")?,
            }
        }
        need("make", "make")?;
        need("gcc", "gcc")?;
        clearway_reorder::clang::prepare()?;
        clearway_reorder::clang::FrontEnd::load()?;
        let directory = tempfile::Builder::new().prefix("clearway-lab").tempdir()?;
        let guard = Guard::start(directory.path())?;
        // The users that the servers run as need a way to their own directories.
        fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755))?;
        let programs = directory.path().join("programs");
        fs::create_dir(&programs)?;
        let builder = Builder::new(programs);
        let proxy_program = builder.known(System::Postgres, "proxy")?;
        let (proxy, server) = (None, None);
        let (loaded, checked) = (BTreeSet::new(), BTreeSet::new());
        Ok(Site { proxy, server, builder, proxy_program, scale, loaded, checked, guard, directory })
    }

    /// Returns a new folder for generated sources.
    pub(super) fn folder(&self, name: &str) -> Outcome<PathBuf> {
        let folder = self.directory.path().join(name);
        fs::create_dir_all(&folder)?;
        Ok(folder)
    }

    /// Runs a program of the driver.
    pub(crate) fn drive(&mut self, setting: &Setting<'_>, program: &Path) -> Outcome<Driven> {
        self.drive_measured(setting, program, None)
    }

    /// Runs a program of the driver; an instrumented one writes `profile`.
    pub(super) fn drive_measured(
        &mut self,
        setting: &Setting<'_>,
        program: &Path,
        profile: Option<&Path>,
    ) -> Outcome<Driven> {
        let Setting { system, workload, .. } = *setting;
        let socket = self.reach(setting)?;
        Drive {
            program,
            address: server::address(system, &socket),
            clients: setting.clients,
            size: (workload.data.size_name(), setting.size),
            mix: workload.mix,
            time: setting.time,
            warmup: WARMUP,
            seed: setting.seed + 1,
            checks: self.checked.insert(program.to_path_buf()),
            profile,
        }
        .run()
    }

    /// Runs a file of the examples as one statement.
    pub(crate) fn execute(&mut self, setting: &Setting<'_>, file: &Path) -> Outcome<()> {
        let socket = self.open(setting)?;
        let program = self.builder.known(setting.system, "statement")?;
        let address = server::address(setting.system, &socket);
        finished(Command::new(program).arg(address).arg(file).output()?, "the statement")?;
        Ok(())
    }

    /// Returns the number of bytes of a loaded database's files.
    pub(crate) fn database_bytes(&mut self, setting: &Setting<'_>) -> Outcome<u64> {
        self.open(setting)?;
        let data = self.data_directory(setting.system, setting.workload.data).join("data/tpcc");
        let sizes = fs::read_dir(data)?.map(|entry| Ok(entry?.metadata()?.len()));
        sizes.sum::<std::io::Result<u64>>().map_err(Into::into)
    }

    /// Returns the socket that leads to the server of a setting, with its delay.
    fn reach(&mut self, setting: &Setting<'_>) -> Outcome<PathBuf> {
        let server = self.open(setting)?;
        let delay = setting.delay_us;
        if delay == 0 {
            self.proxy = None;
            return Ok(server);
        }
        let proxy = match self.proxy.take() {
            Some((running, proxy)) if running == delay => proxy,
            other => {
                drop(other);
                let socket = server::socket_in(setting.system, self.directory.path());
                Proxy::start(&self.proxy_program, socket, &server, delay)?
            }
        };
        let socket = proxy.socket().to_path_buf();
        self.proxy = Some((delay, proxy));
        Ok(socket)
    }

    /// Returns the socket of the server of a setting, which is running and has its data.
    fn open(&mut self, setting: &Setting<'_>) -> Outcome<PathBuf> {
        let (system, data) = (setting.system, setting.workload.data);
        let place = Place { system, data, options: setting.options.to_string() };
        if let Some((running, server)) = &self.server
            && *running == place
        {
            return Ok(server.socket());
        }
        // The proxy leads to the server that stops.
        self.proxy = None;
        self.server = None;
        let options = match system {
            System::MariaDb => format!("--innodb-buffer-pool-size=4G {}", place.options),
            System::Postgres => place.options.clone(),
        };
        self.guard.expect(&data_folder(system, data))?;
        let server = Server::start(system, self.data_directory(system, data), &options)?;
        let socket = server.socket();
        self.server = Some((place, server));
        if !self.loaded.contains(&(system, data)) {
            self.load(system, data, &socket)?;
            self.loaded.insert((system, data));
        }
        Ok(socket)
    }

    fn data_directory(&self, system: System, data: Data) -> PathBuf {
        self.directory.path().join(data_folder(system, data))
    }

    fn load(&self, system: System, data: Data, socket: &Path) -> Outcome<()> {
        clearway_console::tell!("loading {} into {}", data.schema(system), system.name());
        let loader = self.builder.known(system, data.loader())?;
        let output = Command::new(loader)
            .arg(server::address(system, socket))
            .arg(super::workload::examples().join(data.schema(system)))
            .args((self.scale)(system).arguments(data))
            .output()?;
        finished(output, "the loader")?;
        Ok(())
    }
}

/// Returns the name of the folder of a database, which begins with that of the server's script.
fn data_folder(system: System, data: Data) -> String {
    format!("{system:?}-{data:?}").to_lowercase()
}
