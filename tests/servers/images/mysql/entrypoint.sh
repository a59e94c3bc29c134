#!/usr/bin/env bash
# Honours the official image's variables: MYSQL_ROOT_PASSWORD, MYSQL_ALLOW_EMPTY_PASSWORD,
# MYSQL_RANDOM_ROOT_PASSWORD, MYSQL_ROOT_HOST, MYSQL_DATABASE, MYSQL_USER, MYSQL_PASSWORD, their _FILE forms,
# MYSQL_INITDB_SKIP_TZINFO, and /docker-entrypoint-initdb.d.
set -euo pipefail

from_file() { # VAR: take its value from VAR_FILE where that is set
    local file="$1_FILE"
    if [ -n "${!file:-}" ]; then export "$1=$(<"${!file}")"; fi
}
quoted() { printf "'%s'" "$(printf '%s' "$1" | sed "s/\\\\/\\\\\\\\/g; s/'/''/g")"; }

if [ "${1:0:1}" = - ]; then set -- mysqld "$@"; fi
if [ "$1" != mysqld ]; then exec "$@"; fi

data=/var/lib/mysql
socket=/run/mysqld/mysqld.sock
common=(--datadir="$data" --socket="$socket" --pid-file=/run/mysqld/mysqld.pid)

if [ "$(id -u)" = 0 ]; then
    chown -R mysql:mysql "$data" /run/mysqld
    exec setpriv --reuid=mysql --regid=mysql --init-groups -- "$0" "$@"
fi

if [ ! -d "$data/mysql" ]; then
    for name in MYSQL_ROOT_PASSWORD MYSQL_ROOT_HOST MYSQL_DATABASE MYSQL_USER MYSQL_PASSWORD; do from_file "$name"; done
    if [ -z "${MYSQL_ROOT_PASSWORD:-}${MYSQL_ALLOW_EMPTY_PASSWORD:-}${MYSQL_RANDOM_ROOT_PASSWORD:-}" ]; then
        echo "Error: set MYSQL_ROOT_PASSWORD, MYSQL_ALLOW_EMPTY_PASSWORD or MYSQL_RANDOM_ROOT_PASSWORD" >&2
        exit 1
    fi
    if [ -n "${MYSQL_RANDOM_ROOT_PASSWORD:-}" ]; then
        MYSQL_ROOT_PASSWORD=$(openssl rand -base64 24)
        echo "GENERATED ROOT PASSWORD: $MYSQL_ROOT_PASSWORD"
    fi
    "$@" "${common[@]}" --initialize-insecure
    "$@" "${common[@]}" --skip-networking &
    server=$!
    for _ in $(seq 120); do
        if mysqladmin --no-defaults -uroot -S "$socket" ping >/dev/null 2>&1; then break; fi
        kill -0 "$server"
        sleep 0.25
    done
    client=(mysql --no-defaults -uroot -S "$socket" --default-character-set=utf8mb4)
    if [ -z "${MYSQL_INITDB_SKIP_TZINFO:-}" ]; then
        mysql_tzinfo_to_sql /usr/share/zoneinfo 2>/dev/null | "${client[@]}" --database=mysql
    fi
    {
        root_host=${MYSQL_ROOT_HOST:-%}
        password=$(quoted "${MYSQL_ROOT_PASSWORD:-}")
        if [ "$root_host" != localhost ]; then
            echo "CREATE USER root@$(quoted "$root_host") IDENTIFIED BY $password;"
            echo "GRANT ALL ON *.* TO root@$(quoted "$root_host") WITH GRANT OPTION;"
        fi
        if [ -n "${MYSQL_DATABASE:-}" ]; then echo "CREATE DATABASE IF NOT EXISTS \`$MYSQL_DATABASE\`;"; fi
        if [ -n "${MYSQL_USER:-}" ] && [ -n "${MYSQL_PASSWORD:-}" ]; then
            echo "CREATE USER $(quoted "$MYSQL_USER")@'%' IDENTIFIED BY $(quoted "$MYSQL_PASSWORD");"
            if [ -n "${MYSQL_DATABASE:-}" ]; then
                echo "GRANT ALL ON \`${MYSQL_DATABASE//_/\\_}\`.* TO $(quoted "$MYSQL_USER")@'%';"
            fi
        fi
        for file in /docker-entrypoint-initdb.d/*.sql; do
            if [ -f "$file" ]; then
                if [ -n "${MYSQL_DATABASE:-}" ]; then echo "USE \`$MYSQL_DATABASE\`;"; fi
                cat "$file"
            fi
        done
        echo "ALTER USER root@localhost IDENTIFIED BY $password;"
    } | "${client[@]}"
    MYSQL_PWD=${MYSQL_ROOT_PASSWORD:-} mysqladmin --no-defaults -uroot -S "$socket" shutdown
    wait "$server"
    echo 'MySQL init process done. Ready for start up.'
fi
exec "$@" "${common[@]}"
