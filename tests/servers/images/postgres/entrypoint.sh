#!/usr/bin/env bash
# Honours the official image's variables: POSTGRES_PASSWORD, POSTGRES_USER, POSTGRES_DB, their _FILE forms,
# POSTGRES_INITDB_ARGS, POSTGRES_HOST_AUTH_METHOD, PGDATA, and /docker-entrypoint-initdb.d.
set -euo pipefail

from_file() { # VAR: take its value from VAR_FILE where that is set
    local file="$1_FILE"
    if [ -n "${!file:-}" ]; then export "$1=$(<"${!file}")"; fi
}

if [ "${1:0:1}" = - ]; then set -- postgres "$@"; fi
if [ "$1" != postgres ]; then exec "$@"; fi

if [ "$(id -u)" = 0 ]; then
    mkdir -p "$PGDATA"
    chown -R postgres:postgres "$PGDATA" /run/postgresql
    chmod 700 "$PGDATA"
    exec setpriv --reuid=postgres --regid=postgres --init-groups -- "$0" "$@"
fi

if [ ! -s "$PGDATA/PG_VERSION" ]; then
    from_file POSTGRES_PASSWORD; from_file POSTGRES_USER; from_file POSTGRES_DB
    user=${POSTGRES_USER:-postgres}
    database=${POSTGRES_DB:-$user}
    method=${POSTGRES_HOST_AUTH_METHOD:-scram-sha-256}
    if [ -z "${POSTGRES_PASSWORD:-}" ] && [ "$method" != trust ]; then
        echo "Error: set POSTGRES_PASSWORD (or POSTGRES_HOST_AUTH_METHOD=trust)" >&2
        exit 1
    fi
    # UTF8 by name: an image without a locale would otherwise become SQL_ASCII.
    # shellcheck disable=SC2086
    initdb -E UTF8 --username="$user" --pwfile=<(printf '%s\n' "${POSTGRES_PASSWORD:-}") \
        --auth-local=trust --auth-host="$method" ${POSTGRES_INITDB_ARGS:-}
    printf '\nhost all all all %s\n' "$method" >> "$PGDATA/pg_hba.conf"
    pg_ctl -D "$PGDATA" -o "-c listen_addresses=''" -w start
    if [ "$database" != postgres ]; then
        psql -v ON_ERROR_STOP=1 -U "$user" -d postgres --set=db="$database" <<<'CREATE DATABASE :"db";'
    fi
    for file in /docker-entrypoint-initdb.d/*; do
        case "$file" in
            *.sh) . "$file" ;;
            *.sql) psql -v ON_ERROR_STOP=1 -U "$user" -d "$database" -f "$file" ;;
        esac
    done
    pg_ctl -D "$PGDATA" -m fast -w stop
    echo 'PostgreSQL init process complete; ready for start up.'
fi
exec "$@" -c listen_addresses='*'
