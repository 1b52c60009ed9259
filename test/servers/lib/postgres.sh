# shellcheck shell=bash
# postgres.sh: the machine's PostgreSQL, else that of Debian bookworm.

start_postgres() {
	local port
	find_postgres
	[ -n "$PG_BIN" ] || unpack_postgres
	locked postgres template postgres "$("$PG_BIN/postgres" -V | grep -oE '[0-9.]+' | head -1)" make_postgres
	port=$(free_port)
	postgres_launch postgres "$port"
	ready postgres "postgres://postgres@127.0.0.1:$port/postgres?sslmode=disable" "$("$PG_BIN/postgres" -V)"
}

# postgres_launch NAME PORT: the server of PG_BIN on NAME/data
postgres_launch() {
	local options=(-c listen_addresses=127.0.0.1 -c "unix_socket_directories=$DIR/$1" -c max_connections=200 -c shared_buffers=128MB)
	[ "${ROWLOCK_SERVERS_DURABLE:-0}" = 1 ] || options+=(-c fsync=off -c full_page_writes=off -c synchronous_commit=off)
	launch "$1" "${AS[@]}" "$PG_BIN/postgres" -D "$DIR/$1/data" -c "port=$2" "${options[@]}"
	await "$1" logged "$1" 'database system is ready to accept connections'
}

# find_postgres: PG_BIN and INITDB, or an empty PG_BIN
find_postgres() {
	local dir
	PG_BIN=${ROWLOCK_PG_BIN:-}
	if [ -z "$PG_BIN" ] && [ "${ROWLOCK_SERVERS_UNPACK:-0}" != 1 ]; then
		for dir in /usr/lib/postgresql/*/bin; do # 9.6 sorts last, and is too old to be found
			[ ! -x "$dir/postgres" ] || [ ! -x "$dir/initdb" ] || PG_BIN=$dir
		done
	fi
	INITDB=("$PG_BIN/initdb")
}

unpack_postgres() {
	locked apt unpack bookworm postgres postgresql-15
	loader "$CACHE/postgres/root"
	PG_BIN=$CACHE/postgres/root/usr/lib/postgresql/15/bin
	unpacked_initdb
}
unpacked_initdb() { INITDB=("${LOADER[0]}" --argv0 "$PG_BIN/initdb" "${LOADER[@]:1}" "$PG_BIN/initdb"); }

postgres_check() { # ROOT
	local home=$1/usr/lib/postgresql/15
	libraries_found "$1" "$home/bin/postgres" "$home/bin/initdb" "$home/lib/plpgsql.so" "$home/lib/dict_snowball.so" || return 1
	wrap_postgres "$home/bin"
}

# wrap_postgres BIN: initdb runs postgres itself, so a wrapper that calls the
# right loader takes its place
wrap_postgres() {
	mv "$1/postgres" "$1/postgres.bin"
	printf '#!/bin/sh\nexec %s --argv0 %s %s "$@"\n' "${LOADER[0]}" "$1/postgres" "${LOADER[*]:1} $1/postgres.bin" >"$1/postgres"
	chmod 755 "$1/postgres"
}

make_postgres() { # DATA
	"${AS[@]}" "${INITDB[@]}" -D "$1" -U postgres -A trust --locale=C --encoding=UTF8 -N --no-instructions
}
