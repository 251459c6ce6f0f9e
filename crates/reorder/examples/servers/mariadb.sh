#!/bin/sh
# Starts and stops a MariaDB server of its own in a directory, on a Unix socket only.
#
#   mariadb.sh start DIR    creates the data directory if DIR has none, starts the server, creates
#                           the database "tpcc" and its user, and prints the path of the socket
#   mariadb.sh stop DIR     stops the server that was started in DIR
#
# DIR must be absent or empty, or made by this script. The server does not flush the log at commit,
# and its users have no passwords: it is for experiments only. A call by root runs it as the user
# "mysql" (or $MARIADB_USER). The environment variable MARIADB_OPTIONS holds further server options,
# as in "--innodb-buffer-pool-size=1G".
set -eu

usage() {
    sed -n '4,6p' "$0" | sed 's/^#//' >&2
    exit 2
}

die() {
    echo "mariadb.sh: $*" >&2
    exit 1
}

[ $# -eq 2 ] || usage
action=$1
directory=$2

PATH=$PATH:/usr/sbin
for program in mariadbd mariadb-install-db mariadb-admin mariadb; do
    command -v "$program" >/dev/null ||
        die "$program not found; install MariaDB (apt-get install mariadb-server)"
done

owner=
[ "$(id -u)" -ne 0 ] || owner=${MARIADB_USER:-mysql}

# Runs a program of the server as the user that owns the data directory.
as_owner() {
    if [ -n "$owner" ]; then
        (cd / && runuser -u "$owner" -- "$@")
    else
        "$@"
    fi
}

running() {
    [ -S "$socket" ] &&
        as_owner mariadb-admin --no-defaults -S "$socket" -u root ping >/dev/null 2>&1
}

start() {
    mkdir -p "$directory"
    directory=$(cd "$directory" && pwd)
    socket=$directory/socket
    # The kernel limits the path of a socket to 107 bytes.
    [ ${#socket} -le 107 ] || die "the path $socket is too long for a socket; choose a shorter DIR"
    if [ ! -e "$directory/data" ]; then
        [ -z "$(ls -A "$directory")" ] || die "$directory is not empty and has no data directory"
        mkdir "$directory/data"
        chmod 700 "$directory/data"
        [ -z "$owner" ] || chown -R "$owner" "$directory"
        as_owner mariadb-install-db --no-defaults --datadir="$directory/data" \
            --auth-root-authentication-method=normal --skip-test-db \
            >"$directory/install.log" 2>&1 ||
            die "mariadb-install-db failed; see $directory/install.log"
    fi
    ! running || die "a server already runs in $directory"
    trap '' HUP
    # The redirections stand within the parentheses, so that the server keeps no file of the caller
    # open: a caller may read this script's output through a pipe.
    (
        exec >"$directory/server.log" 2>&1 </dev/null
        as_owner mariadbd --no-defaults --datadir="$directory/data" --socket="$socket" \
            --pid-file="$directory/data/server.pid" --skip-networking --skip-log-bin \
            --innodb-flush-log-at-trx-commit=0 --innodb-buffer-pool-size=512M \
            --innodb-log-file-size=512M --max-connections=300 --thread-cache-size=100 \
            ${MARIADB_OPTIONS:-}
    ) &
    server=$!
    waited=0
    until running; do
        kill -0 "$server" 2>/dev/null && [ "$waited" -lt 300 ] ||
            die "the server did not start; see $directory/server.log"
        sleep 0.2
        waited=$((waited + 1))
    done
    as_owner mariadb --no-defaults -S "$socket" -u root -e "
        CREATE DATABASE IF NOT EXISTS tpcc CHARACTER SET latin1;
        CREATE USER IF NOT EXISTS tpcc@localhost;
        GRANT ALL ON tpcc.* TO tpcc@localhost;"
    echo "$socket"
}

stop() {
    [ -d "$directory/data/mysql" ] || die "$directory has no data directory of this script"
    directory=$(cd "$directory" && pwd)
    socket=$directory/socket
    running || die "no server runs in $directory"
    as_owner mariadb-admin --no-defaults -S "$socket" -u root shutdown
    while [ -e "$directory/data/server.pid" ]; do
        sleep 0.1
    done
}

case $action in
start) start ;;
stop) stop ;;
*) usage ;;
esac
