//! The database interfaces that have a mock: its C files, and how a test program uses it.

/// A database interface with a mock.
#[derive(Debug)]
pub struct Interface {
    /// The name of the interface's model: `libpq`.
    pub name: &'static str,
    /// The header that programs include.
    pub(crate) header: &'static str,
    /// A program and its arguments that print the directory of the header.
    pub(crate) locator: (&'static str, &'static [&'static str]),
    /// The directories in which the header stands otherwise.
    pub(crate) directories: &'static [&'static str],
    /// The command that installs the header.
    pub(crate) install: &'static str,
    /// The flags that link the real library, which the mock replaces.
    pub(crate) libraries: &'static [&'static str],
    /// The C files of the mock, without the recording core.
    pub(crate) files: &'static [(&'static str, &'static str)],
    /// The types of a connection, as the IR writes them.
    pub(crate) connections: &'static [&'static str],
    /// The other types whose fields belong to the interface, as the IR writes them.
    pub(crate) handles: &'static [&'static str],
    /// The type of a pointer to a connection, as C programs write it.
    pub(crate) pointer: &'static str,
    /// The beginnings of the names of functions that prepare a statement or bind memory to one.
    pub(crate) prepares: &'static [&'static str],
    /// The functions that run queries.
    pub(crate) runs: &'static [&'static str],
    /// The codes with which a query is made to fail; `LOST` ends the connection.
    pub(crate) codes: &'static [&'static str],
    /// The code for a statement that cannot fail by itself, such as a rollback.
    pub(crate) last_resort: &'static str,
    /// The codes after which the database has rolled the transaction back, and runs what follows
    /// outside of it.
    pub(crate) rolls_back: &'static [&'static str],
}

impl Interface {
    /// Returns the interface of a model: `libpq`, `mysql` or `sqlite`.
    pub fn named(name: &str) -> Option<&'static Interface> {
        INTERFACES.into_iter().find(|interface| interface.name == name)
    }
}

/// The interfaces that have a mock.
pub static INTERFACES: [&Interface; 3] = [&LIBPQ, &MYSQL, &SQLITE];

/// libpq, the interface of PostgreSQL.
pub static LIBPQ: Interface = Interface {
    name: "libpq",
    header: "libpq-fe.h",
    locator: ("pg_config", &["--includedir"]),
    directories: &["/usr/include/postgresql", "/usr/include", "/usr/local/include"],
    install: "install it (Debian: libpq-dev) or name its directory with -I",
    libraries: &["-lpq"],
    files: &[
        ("mock_libpq.h", include_str!("../../runtime/mock_libpq.h")),
        ("mock_libpq.c", include_str!("../../runtime/mock_libpq.c")),
        ("mock_libpq_result.c", include_str!("../../runtime/mock_libpq_result.c")),
        ("mock_libpq_text.c", include_str!("../../runtime/mock_libpq_text.c")),
    ],
    connections: &["struct pg_conn", "pg_conn", "PGconn"],
    handles: &["struct pg_result", "pg_result", "PGresult"],
    pointer: "PGconn *",
    prepares: &["PQprepare"],
    runs: &["PQexec", "PQexecParams", "PQexecPrepared"],
    codes: &["40001", "LOST", "23505", "57014", "40P01"],
    last_resort: "LOST",
    rolls_back: &[],
};

/// The C interface of MySQL and MariaDB.
///
/// A deadlock (`40001`) ends the transaction there, so that later statements run outside of it.
pub static MYSQL: Interface = Interface {
    name: "mysql",
    header: "mysql.h",
    locator: ("mariadb_config", &["--variable=pkgincludedir"]),
    directories: &[
        "/usr/include/mariadb",
        "/usr/include/mysql",
        "/usr/local/include/mariadb",
        "/usr/local/include/mysql",
    ],
    install: "install it (Debian: libmariadb-dev) or name its directory with -I",
    libraries: &["-lmariadb", "-lmysqlclient", "-lmariadbclient"],
    files: &[
        ("mock_mysql.h", include_str!("../../runtime/mock_mysql.h")),
        ("mock_mysql.c", include_str!("../../runtime/mock_mysql.c")),
        ("mock_mysql_result.c", include_str!("../../runtime/mock_mysql_result.c")),
        ("mock_mysql_text.c", include_str!("../../runtime/mock_mysql_text.c")),
        ("mock_mysql_bind.c", include_str!("../../runtime/mock_mysql_bind.c")),
        ("mock_mysql_statement.h", include_str!("../../runtime/mock_mysql_statement.h")),
        ("mock_mysql_statement.c", include_str!("../../runtime/mock_mysql_statement.c")),
        ("mock_mysql_statement_info.c", include_str!("../../runtime/mock_mysql_statement_info.c")),
    ],
    connections: &["struct st_mysql", "st_mysql", "struct MYSQL", "MYSQL"],
    handles: &[
        "struct st_mysql_stmt",
        "st_mysql_stmt",
        "MYSQL_STMT",
        "struct st_mysql_res",
        "st_mysql_res",
        "MYSQL_RES",
    ],
    pointer: "MYSQL *",
    prepares: &["mysql_stmt_prepare", "mysql_stmt_bind_param", "mysql_stmt_bind_result"],
    runs: &["mysql_query", "mysql_real_query", "mysql_stmt_execute", "mysql_commit"],
    codes: &["40001", "LOST", "23000", "HY000", "70100"],
    last_resort: "LOST",
    rolls_back: &["40001"],
};

/// SQLite's C interface.
///
/// A full disk or an error of the disk ends the transaction.
pub static SQLITE: Interface = Interface {
    name: "sqlite",
    header: "sqlite3.h",
    locator: ("pkg-config", &["--variable=includedir", "sqlite3"]),
    directories: &["/usr/include", "/usr/local/include"],
    install: "install it (Debian: libsqlite3-dev) or name its directory with -I",
    libraries: &["-lsqlite3"],
    files: &[
        ("mock_sqlite.h", include_str!("../../runtime/mock_sqlite.h")),
        ("mock_sqlite.c", include_str!("../../runtime/mock_sqlite.c")),
        ("mock_sqlite_text.c", include_str!("../../runtime/mock_sqlite_text.c")),
        ("mock_sqlite_statement.h", include_str!("../../runtime/mock_sqlite_statement.h")),
        ("mock_sqlite_statement.c", include_str!("../../runtime/mock_sqlite_statement.c")),
        ("mock_sqlite_bind.c", include_str!("../../runtime/mock_sqlite_bind.c")),
        ("mock_sqlite_column.c", include_str!("../../runtime/mock_sqlite_column.c")),
    ],
    connections: &["struct sqlite3", "sqlite3"],
    handles: &["struct sqlite3_stmt", "sqlite3_stmt"],
    pointer: "sqlite3 *",
    prepares: &["sqlite3_prepare", "sqlite3_bind"],
    runs: &["sqlite3_exec", "sqlite3_step", "sqlite3_get_table"],
    codes: &["SQLITE_BUSY", "SQLITE_IOERR", "SQLITE_CONSTRAINT", "SQLITE_FULL"],
    last_resort: "SQLITE_IOERR",
    rolls_back: &["SQLITE_IOERR", "SQLITE_FULL"],
};

/// The files of the recording core, which all mocks share.
pub(crate) static CORE: &[(&str, &str)] = &[
    ("mock_core.h", include_str!("../../runtime/mock_core.h")),
    ("mock_core.c", include_str!("../../runtime/mock_core.c")),
    ("mock_input.h", include_str!("../../runtime/mock_input.h")),
    ("mock_input.c", include_str!("../../runtime/mock_input.c")),
    ("mock_candidate.c", include_str!("../../runtime/mock_candidate.c")),
    ("mock_clock.c", include_str!("../../runtime/mock_clock.c")),
    ("mock_log.c", include_str!("../../runtime/mock_log.c")),
    ("mock_memory.c", include_str!("../../runtime/mock_memory.c")),
    ("mock_rows.c", include_str!("../../runtime/mock_rows.c")),
    ("mock_session.c", include_str!("../../runtime/mock_session.c")),
    ("mock_sql.c", include_str!("../../runtime/mock_sql.c")),
    ("mock_token.h", include_str!("../../runtime/mock_token.h")),
    ("mock_token.c", include_str!("../../runtime/mock_token.c")),
    ("mock_value.c", include_str!("../../runtime/mock_value.c")),
];
