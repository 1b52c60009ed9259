# shellcheck shell=bash
# pgbouncer.sh: PgBouncer of Debian bookworm, in transaction mode, in front of
# the run's PostgreSQL, for every database of it.

start_pgbouncer() {
	local port
	[ -s "$DIR/dsn/postgres" ] || die "pgbouncer: there is no postgres to stand in front of"
	locked apt unpack bookworm pgbouncer pgbouncer
	loader "$CACHE/pgbouncer/root"
	port=$(free_port)
	mkdir -p "$DIR/pgbouncer"
	configure_pgbouncer "$port" "$(cat "$DIR/dsn/postgres")"
	own "$DIR/pgbouncer"
	launch pgbouncer "${AS[@]}" "${LOADER[@]}" "$CACHE/pgbouncer/root/usr/sbin/pgbouncer" "$DIR/pgbouncer/pgbouncer.ini"
	await pgbouncer listens "$port"
	ready pgbouncer "postgres://postgres@127.0.0.1:$port/postgres?sslmode=disable" "$(version_of pgbouncer pgbouncer)"
}

pgbouncer_check() { libraries_found "$1" "$1/usr/sbin/pgbouncer"; }

# configure_pgbouncer PORT DSN: clients come as postgres without a password,
# and are led to the DSN's server as the DSN's user
configure_pgbouncer() {
	local pattern='^postgres(ql)?://([^:@/]+)(:([^@/]*))?@([^:/?]+)(:([0-9]+))?(/|$|\?)' server
	[[ $2 =~ $pattern ]] || die "pgbouncer: needs a DSN like postgres://user:password@host:port/database"
	server="host=${BASH_REMATCH[5]} port=${BASH_REMATCH[7]:-5432} user=${BASH_REMATCH[2]}"
	[ -z "${BASH_REMATCH[4]}" ] || server+=" password='$(percent_decoded "${BASH_REMATCH[4]}" | sed "s/'/''/g")'"
	cat >"$DIR/pgbouncer/pgbouncer.ini" <<-END
		[databases]
		* = $server
		[pgbouncer]
		listen_addr = 127.0.0.1
		listen_port = $1
		unix_socket_dir =
		auth_type = trust
		auth_file = $DIR/pgbouncer/users
		pool_mode = transaction
		default_pool_size = 20
		max_client_conn = 1000
		server_idle_timeout = 5
		autodb_idle_timeout = 30
		ignore_startup_parameters = extra_float_digits
		log_connections = 0
		log_disconnections = 0
		log_stats = 0
	END
	chmod 600 "$DIR/pgbouncer/pgbouncer.ini"
	echo '"postgres" ""' >"$DIR/pgbouncer/users"
}
percent_decoded() { printf '%b' "${1//%/\\x}"; }
