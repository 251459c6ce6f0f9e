#!/bin/sh
# Runs two programs of the driver on the database of servers/postgres.sh, one after the other, and
# prints what each of them achieves:
#
#   compare.sh PROXY DIR MICROSECONDS BEFORE AFTER [SETTING=VALUE ...]
#
# DIR is the directory of the server. The clients reach it through PROXY, which makes each round
# trip MICROSECONDS longer, as a network would. BEFORE and AFTER are the programs; the settings are
# those of the driver.
set -eu

if [ $# -lt 5 ]; then
    sed -n '5p' "$0" | sed 's/^#//' >&2
    exit 2
fi
proxy=$1
server=$2/socket/.s.PGSQL.5432
delay=$3
before=$4
after=$5
shift 5

[ -S "$server" ] || {
    echo "compare.sh: no server at $server; start it (make database)" >&2
    exit 1
}
directory=$(mktemp -d)
"$proxy" "$directory/.s.PGSQL.5432" "$server" "$delay" >/dev/null &
running=$!
trap 'kill "$running"; rm -rf "$directory"' EXIT
trap 'exit 1' HUP INT TERM
until [ -S "$directory/.s.PGSQL.5432" ]; do
    kill -0 "$running"
    sleep 0.1
done

# Prints one line about a program: its name, and the three numbers of the driver's report.
run() {
    name=$1
    program=$2
    shift 2
    report=$("$program" "host=$directory user=tpcc dbname=tpcc" "$@")
    for number in per_second mean_ms p95_ms; do
        value=$(printf '%s\n' "$report" | sed "s/.*\"$number\": \([0-9.]*\).*/\1/")
        set -- "$@" "$value"
    done
    shift $(($# - 3))
    printf '%-10s %12s %12s %12s\n' "$name" "$@"
}

printf '%-10s %12s %12s %12s\n' '' 'per second' 'mean, ms' '95 %, ms'
run original "$before" "$@"
run reordered "$after" "$@"
