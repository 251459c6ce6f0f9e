//! Reads the DDL of a running server by the server's own programs: `pg_dump`, `mariadb-dump` or
//! `mysqldump`, which must be in the `PATH`.
//!
//! A dump without triggers would let the tool move what must stay, and MySQL and MariaDB leave out
//! the triggers, silently, for a user who may not see them. So the user's rights are read first.
//! A password is handed to the program in its environment, never in its arguments, which all users
//! of the machine can read.

mod address;

use std::{
    fmt, io,
    process::{Command, Stdio},
};

use self::address::Address;
use crate::api::Server;

/// The beginnings of addresses, each with its server.
const SCHEMES: [(&str, Server); 4] = [
    ("postgresql://", Server::Postgresql),
    ("postgres://", Server::Postgresql),
    ("mariadb://", Server::Mysql),
    ("mysql://", Server::Mysql),
];

/// The reason why the DDL of a server was not read.
#[derive(Debug)]
pub enum NoDump {
    /// The address is not understood, with the reason.
    Address(String),
    /// The address is that of another server than the interface's.
    OtherServer,
    /// None of these programs is in the `PATH`; with the package that has the first.
    NoProgram(&'static [&'static str], &'static str),
    /// A program cannot be run.
    NotRun(String, io::Error),
    /// A program failed, with what it said.
    Failed(String, String),
    /// The user may not see the triggers of the database.
    NoTriggers(String),
}

impl fmt::Display for NoDump {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoDump::Address(reason) => write!(
                f,
                "{reason}: write postgresql://USER@HOST/DATABASE, or \
                 mysql://USER@HOST/DATABASE, with ?host=DIRECTORY or ?socket=FILE for a socket"
            ),
            NoDump::OtherServer => f.write_str(
                "the address is that of another server than the interface of --api: correct one \
                 of both",
            ),
            NoDump::NoProgram(names, package) => write!(
                f,
                "{} is not found: install it (apt-get install {package}), or dump the schema \
                 elsewhere and pass the file",
                names.join(" or ")
            ),
            NoDump::NotRun(program, error) => write!(f, "cannot run {program}: {error}"),
            NoDump::Failed(program, message) => write!(
                f,
                "{program} failed: {message}; correct the address or the user's rights, or dump \
                 the schema elsewhere and pass the file"
            ),
            NoDump::NoTriggers(database) => write!(
                f,
                "the user has no right to see the triggers of `{database}`, so the dump would lack \
                 them: GRANT TRIGGER ON `{database}`.* to the user, or take another user"
            ),
        }
    }
}

impl std::error::Error for NoDump {}

/// Returns true if a text is the address of a server, and not the path of a file.
pub fn is_address(text: &str) -> bool {
    server_of(text).is_some()
}

fn server_of(text: &str) -> Option<Server> {
    let scheme = SCHEMES.iter().find(|(scheme, _)| text.starts_with(scheme));
    scheme.map(|(_, server)| *server)
}

/// Returns the DDL of the database at an address.
///
/// # Errors
/// [`NoDump`] if the address is not understood, the program is missing, or it cannot read all.
pub fn dump(text: &str, server: Server) -> Result<String, NoDump> {
    if server_of(text) != Some(server) {
        return Err(NoDump::OtherServer);
    }
    let address = Address::parse(text).map_err(NoDump::Address)?;
    match server {
        Server::Postgresql => dump_postgresql(&address),
        _ => dump_mysql(&address),
    }
}

fn dump_postgresql(address: &Address) -> Result<String, NoDump> {
    let mut arguments: Vec<String> =
        ["--schema-only", "--no-owner", "--no-privileges", "--no-password"]
            .map(str::to_owned)
            .into();
    arguments.push("--lock-wait-timeout=10000".to_owned());
    arguments.push(format!("--dbname={}", address.without_password()));
    let mut environment = vec![("PGCONNECT_TIMEOUT", "10")];
    environment.extend(address.password.as_deref().map(|password| ("PGPASSWORD", password)));
    run(&["pg_dump"], "postgresql-client", &arguments, &environment)
}

fn dump_mysql(address: &Address) -> Result<String, NoDump> {
    let Some(database) = address.database.as_deref().filter(|name| !name.starts_with('-')) else {
        return Err(NoDump::Address("the address names no database".to_owned()));
    };
    let password = address.password.as_deref();
    let environment: Vec<(&str, &str)> =
        password.map(|one| ("MYSQL_PWD", one)).into_iter().collect();
    let with = |options: &[&str]| {
        let mut all = address.options_of_mysql();
        all.extend(options.iter().map(|&option| option.to_owned()));
        all
    };
    let question = with(&["--batch", "--skip-column-names", "--execute=SHOW GRANTS"]);
    let rights = run(&["mariadb", "mysql"], "mariadb-client", &question, &environment)?;
    if !sees_triggers(&rights, database) {
        return Err(NoDump::NoTriggers(database.to_owned()));
    }
    let options = [
        "--no-data",
        "--routines",
        "--triggers",
        "--skip-lock-tables",
        "--no-tablespaces",
        "--databases",
        database,
    ];
    run(&["mariadb-dump", "mysqldump"], "mariadb-client", &with(&options), &environment)
}

/// Returns true if the rights that `SHOW GRANTS` prints contain that to see all triggers of a
/// database.
fn sees_triggers(rights: &str, database: &str) -> bool {
    // `_` and `%` stand for other letters there, unless a backslash stands before them.
    let quoted = database.replace('_', "\\_").replace('%', "\\%");
    let objects = [
        "*.*".to_owned(),
        format!("`{database}`.*"),
        // The client writes a backslash as two.
        format!("`{quoted}`.*"),
        format!("`{}`.*", quoted.replace('\\', "\\\\")),
    ];
    rights.lines().any(|line| {
        let Some((rights, rest)) =
            line.strip_prefix("GRANT ").and_then(|line| line.split_once(" ON "))
        else {
            return false;
        };
        let object = rest.split(" TO ").next().unwrap_or_default();
        let mut rights = rights.split(", ");
        objects.iter().any(|one| one == object)
            && rights.any(|right| ["ALL PRIVILEGES", "ALL", "TRIGGER"].contains(&right))
    })
}

/// Runs the first of the programs that is found, and returns its output.
fn run(
    programs: &'static [&'static str],
    package: &'static str,
    arguments: &[String],
    environment: &[(&str, &str)],
) -> Result<String, NoDump> {
    for program in programs {
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::null()).env("LC_MESSAGES", "C");
        command.envs(environment.iter().copied());
        let output = match command.output() {
            Ok(output) => output,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(NoDump::NotRun((*program).to_owned(), error)),
        };
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let message = String::from_utf8_lossy(&output.stderr);
        let lines: Vec<&str> = message.lines().map(str::trim).take(4).collect();
        return Err(NoDump::Failed((*program).to_owned(), lines.join(" ")));
    }
    Err(NoDump::NoProgram(programs, package))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_paths_are_different() {
        assert!(is_address("postgresql:///tpcc") && is_address("mariadb://u@h/d"));
        assert!(!is_address("schema.sql") && !is_address("sqlite://x") && !is_address(""));
    }

    #[test]
    fn address_of_another_server_is_refused() {
        let error = dump("mysql://h/d", Server::Postgresql).unwrap_err();
        assert!(error.to_string().contains("correct one of both"), "{error}");
        let error = dump("mysql://h", Server::Mysql).unwrap_err();
        assert!(error.to_string().contains("names no database"), "{error}");
    }

    #[test]
    fn rights_to_see_triggers_are_found() {
        let sees = |rights| sees_triggers(rights, "my_shop");
        assert!(sees("GRANT ALL PRIVILEGES ON *.* TO `root`@`localhost` WITH GRANT OPTION"));
        assert!(sees(
            "GRANT USAGE ON *.* TO `u`@`h`\nGRANT SELECT, TRIGGER ON `my_shop`.* TO `u`@`h`"
        ));
        assert!(sees("GRANT ALL PRIVILEGES ON `my\\_shop`.* TO `u`@`h`"));
        assert!(!sees("GRANT SELECT ON `my_shop`.* TO `u`@`h`"));
        assert!(!sees("GRANT TRIGGER ON `my_shop`.`item` TO `u`@`h`"));
        assert!(!sees("GRANT ALL PRIVILEGES ON `other`.* TO `u`@`h`"));
        assert!(!sees(""));
    }

    #[test]
    fn missing_program_is_named_with_its_package() {
        let error = run(&["clearway-no-such-program"], "some-package", &[], &[]).unwrap_err();
        let message = error.to_string();
        assert!(
            message.starts_with("clearway-no-such-program is not found: install it"),
            "{message}"
        );
        assert!(message.contains("apt-get install some-package"), "{message}");
    }

    #[test]
    fn failed_program_says_why() {
        let arguments = ["-c".to_owned(), "echo no right >&2; exit 1".to_owned()];
        let error = run(&["sh"], "dash", &arguments, &[]).unwrap_err();
        assert!(error.to_string().starts_with("sh failed: no right; correct"), "{error}");
        let arguments = ["-c".to_owned(), "printf %s \"$NAME\"".to_owned()];
        let output = run(&["sh"], "dash", &arguments, &[("NAME", "value")]).unwrap();
        assert_eq!(output, "value");
    }
}
