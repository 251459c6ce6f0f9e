//! The database interfaces that have a mock: its C files, and how a test program uses it.

/// A database interface with a mock.
#[derive(Debug)]
pub struct Interface {
    /// The name of the interface's model: `libpq`.
    pub name: &'static str,
    /// The header that programs include.
    pub(crate) header: &'static str,
    /// A program and its argument that print the directory of the header.
    pub(crate) locator: (&'static str, &'static str),
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
    /// The type of a pointer to a connection, as C programs write it.
    pub(crate) pointer: &'static str,
    /// A C expression that opens a connection.
    pub(crate) connect: &'static str,
    /// A C statement that begins a transaction on `connection`.
    pub(crate) begin: &'static str,
    /// The codes with which a query is made to fail; `LOST` ends the connection.
    pub(crate) codes: &'static [&'static str],
}

/// The interfaces that have a mock.
pub static INTERFACES: [&Interface; 1] = [&LIBPQ];

/// libpq, the interface of PostgreSQL.
pub static LIBPQ: Interface = Interface {
    name: "libpq",
    header: "libpq-fe.h",
    locator: ("pg_config", "--includedir"),
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
    pointer: "PGconn *",
    connect: "PQconnectdb(\"\")",
    begin: "PQclear(PQexec(connection, \"BEGIN\"));",
    codes: &["40001", "LOST", "23505", "57014", "40P01"],
};

/// The files of the recording core, which all mocks share.
pub(crate) static CORE: &[(&str, &str)] = &[
    ("mock_core.h", include_str!("../../runtime/mock_core.h")),
    ("mock_core.c", include_str!("../../runtime/mock_core.c")),
    ("mock_input.h", include_str!("../../runtime/mock_input.h")),
    ("mock_input.c", include_str!("../../runtime/mock_input.c")),
    ("mock_log.c", include_str!("../../runtime/mock_log.c")),
    ("mock_sql.c", include_str!("../../runtime/mock_sql.c")),
    ("mock_value.c", include_str!("../../runtime/mock_value.c")),
];
