#!/bin/sh
# Starts and stops a PostgreSQL server of its own in a directory, on a Unix socket only.
#
#   postgres.sh start DIR    creates the database cluster if DIR has none, starts the server,
#                            creates the database "tpcc" and prints the connection string
#   postgres.sh stop DIR     stops the server that was started in DIR
#
# DIR must be absent or empty, or made by this script. The server neither flushes the log at commit
# nor survives a crash of the machine, and looks for deadlocks after 100 ms instead of 1 s, so that
# short runs have some that end: it is for experiments only. PostgreSQL refuses to run as
# root; a call by root runs it as the user "postgres" (or $POSTGRES_USER). The environment variable
# PG_BIN names the directory of the server's programs if it is not where Debian has it; PG_OPTIONS
# holds further server options, as in "-c shared_buffers=1GB".
set -eu

usage() {
    sed -n '4,6p' "$0" | sed 's/^#//' >&2
    exit 2
}

die() {
    echo "postgres.sh: $*" >&2
    exit 1
}

[ $# -eq 2 ] || usage
action=$1
directory=$2

bin=${PG_BIN:-}
if [ -z "$bin" ]; then
    for candidate in /usr/lib/postgresql/*/bin; do
        [ -x "$candidate/initdb" ] && bin=$candidate
    done
fi
[ -n "$bin" ] && [ -x "$bin/initdb" ] ||
    die "no PostgreSQL server found; install it (apt-get install postgresql) or set PG_BIN"

owner=
[ "$(id -u)" -ne 0 ] || owner=${POSTGRES_USER:-postgres}

# Runs a program of the server as the user that owns the cluster.
as_owner() {
    if [ -n "$owner" ]; then
        (cd / && runuser -u "$owner" -- "$@")
    else
        "$@"
    fi
}

start() {
    mkdir -p "$directory"
    directory=$(cd "$directory" && pwd)
    socket=$directory/socket
    # The kernel limits the path of a socket to 107 bytes; the server adds its own name.
    [ ${#socket} -le 90 ] || die "the path $socket is too long for a socket; choose a shorter DIR"
    if [ ! -e "$directory/data" ]; then
        [ -z "$(ls -A "$directory")" ] || die "$directory is not empty and has no cluster"
        mkdir "$directory/data" "$directory/socket"
        chmod 700 "$directory/data"
        [ -z "$owner" ] || chown -R "$owner" "$directory"
        as_owner "$bin/initdb" --pgdata="$directory/data" --username=tpcc --auth=trust \
            --encoding=UTF8 --locale=C --no-sync >"$directory/initdb.log" 2>&1 ||
            die "initdb failed; see $directory/initdb.log"
    fi
    if as_owner "$bin/pg_ctl" -D "$directory/data" status >/dev/null 2>&1; then
        die "a server already runs in $directory"
    fi
    options="-c listen_addresses='' -c unix_socket_directories='$socket'"
    options="$options -c fsync=off -c synchronous_commit=off -c full_page_writes=off"
    options="$options -c deadlock_timeout=100ms"
    options="$options -c max_connections=300 -c shared_buffers=512MB -c max_wal_size=4GB"
    as_owner "$bin/pg_ctl" -D "$directory/data" -l "$directory/data/server.log" -w \
        -o "$options ${PG_OPTIONS:-}" start >"$directory/start.log" 2>&1 ||
        die "the server did not start; see $directory/start.log and $directory/data/server.log"
    exists=$(as_owner "$bin/psql" -h "$socket" -U tpcc -d postgres -Atc \
        "SELECT 1 FROM pg_database WHERE datname = 'tpcc'")
    [ -n "$exists" ] || as_owner "$bin/createdb" -h "$socket" -U tpcc tpcc
    echo "host=$socket user=tpcc dbname=tpcc"
}

stop() {
    [ -f "$directory/data/PG_VERSION" ] || die "$directory has no cluster of this script"
    directory=$(cd "$directory" && pwd)
    as_owner "$bin/pg_ctl" -D "$directory/data" -m fast -w stop >/dev/null 2>&1 ||
        die "no server runs in $directory"
}

case $action in
start) start ;;
stop) stop ;;
*) usage ;;
esac
