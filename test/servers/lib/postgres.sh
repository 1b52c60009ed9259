# shellcheck shell=bash
# postgres.sh: the machine's PostgreSQL, else that of Debian bookworm.

start_postgres() {
	local port options
	find_postgres
	[ -n "$PG_BIN" ] || unpack_postgres
	locked postgres template postgres "$("$PG_BIN/postgres" -V | grep -oE '[0-9.]+' | head -1)" make_postgres
	options=(-c listen_addresses=127.0.0.1 -c "unix_socket_directories=$DIR/postgres" -c max_connections=200 -c shared_buffers=128MB)
	[ "${ROWLOCK_SERVERS_DURABLE:-0}" = 1 ] || options+=(-c fsync=off -c full_page_writes=off -c synchronous_commit=off)
	port=$(free_port)
	launch postgres "${AS[@]}" "$PG_BIN/postgres" -D "$DIR/postgres/data" -c "port=$port" "${options[@]}"
	await postgres logged postgres 'database system is ready to accept connections'
	ready postgres "postgres://postgres@127.0.0.1:$port/postgres?sslmode=disable" "$("$PG_BIN/postgres" -V)"
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
	INITDB=("${LOADER[0]}" --argv0 "$PG_BIN/initdb" "${LOADER[@]:1}" "$PG_BIN/initdb")
}

# postgres_check ROOT: initdb runs postgres itself, so a wrapper that calls the
# right loader takes its place
postgres_check() {
	local home=$1/usr/lib/postgresql/15
	libraries_found "$1" "$home/bin/postgres" "$home/bin/initdb" "$home/lib/plpgsql.so" "$home/lib/dict_snowball.so" || return 1
	mv "$home/bin/postgres" "$home/bin/postgres.bin"
	printf '#!/bin/sh\nexec %s --argv0 %s %s "$@"\n' "${LOADER[0]}" "$home/bin/postgres" "${LOADER[*]:1} $home/bin/postgres.bin" >"$home/bin/postgres"
	chmod 755 "$home/bin/postgres"
}

make_postgres() { # DATA
	"${AS[@]}" "${INITDB[@]}" -D "$1" -U postgres -A trust --locale=C --encoding=UTF8 -N --no-instructions
}
