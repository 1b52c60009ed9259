# shellcheck shell=bash
# common.sh: what is wanted, the cache and run folders, one job per server.
export LC_ALL=C TZ=UTC
unset APT_CONFIG

ALL=(postgres mysql mariadb mongo pgbouncer)
RUN_UID=$(id -u)
CACHE=${ROWLOCK_SERVERS_CACHE:-$HOME/.cache/rowlock-servers}
if [ "$RUN_UID" = 0 ]; then # servers refuse to run as root
	RUN_UID=65534
	CACHE=${ROWLOCK_SERVERS_CACHE:-/var/cache/rowlock-servers}
fi
STARTED=${EPOCHREALTIME/[.,]/}
declare -A JOB=()
FAILED=()

log() { printf '%6d ms  %s\n' $(((${EPOCHREALTIME/[.,]/} - STARTED) / 1000)) "$*" >&2; }
die() {
	log "FAILED: $*"
	exit 1
}

# wanted NAME...: fills WANT; a pooler wants its server
wanted() {
	local name
	WANT=("$@")
	[ $# -gt 0 ] || WANT=("${ALL[@]}")
	for name in "${WANT[@]}"; do
		case " ${ALL[*]} " in *" $name "*) ;; *) die "unknown server '$name': there are ${ALL[*]}" ;; esac
	done
	! wants pgbouncer || wants postgres || given pgbouncer >/dev/null || WANT=(postgres "${WANT[@]}")
}
wants() { case " ${WANT[*]} " in *" $1 "*) return 0 ;; esac; return 1; }

variable() { echo "ROWLOCK_${1^^}_DSN"; }

# given NAME: prints the DSN of the environment, fails if there is none
given() {
	local variable
	variable=$(variable "$1")
	[ -n "${!variable:-}" ] && echo "${!variable}"
}

open_cache() {
	mkdir -p "$CACHE"
	CACHE=$(cd "$CACHE" && pwd -P)
}

# open_run: a new run folder, which belongs to the servers' user
open_run() {
	DIR=$(mktemp -d "${TMPDIR:-/tmp}/rowlock-servers.XXXXXX")
	DIR=$(cd "$DIR" && pwd -P)
	mkdir "$DIR/dsn" "$DIR/pid" "$DIR/container"
	: >"$DIR/.rowlock-servers"
	own "$DIR"
	set_unprivileged
	"${AS[@]}" test -x "$CACHE" -a -x "$DIR" && return
	rm -rf "$DIR"
	die "uid $RUN_UID cannot reach $CACHE or $DIR: choose another ROWLOCK_SERVERS_CACHE or TMPDIR"
}

# begin NAME: starts it as a background job in a process group of its own, so
# that an interrupted run can end the job with all its children
begin() {
	[ -z "${JOB[$1]:-}" ] || return 0
	set -m
	provide "$1" </dev/null >&2 &
	set +m
	JOB[$1]=$!
}

# provide NAME: leaves its DSN in dsn/NAME
provide() {
	local dsn
	if dsn=$(given "$1"); then
		echo "$dsn" >"$DIR/dsn/$1"
		log "$1: given by $(variable "$1")"
	elif use_docker; then
		start_container "$1"
	else
		"start_$1"
	fi
}

# complete NAME: waits for its job and notes a failure
complete() {
	local job=${JOB[$1]}
	[ "$job" != ended ] || return 0
	if wait "$job"; then
		JOB[$1]=ended
		return
	fi
	JOB[$1]=ended
	case " ${ROWLOCK_SERVERS_OPTIONAL:-} " in
	*" $1 "*) log "WARNING: no $1" ;;
	*) FAILED+=("$1") ;;
	esac
}

# report: prints the assignments, or fails when a wanted server is missing
report() {
	local name
	[ ${#FAILED[@]} = 0 ] || die "${FAILED[*]}"
	{
		printf 'export ROWLOCK_SERVERS_DIR=%q\n' "$DIR"
		for name in "${ALL[@]}"; do
			[ ! -s "$DIR/dsn/$name" ] || printf 'export %s=%q\n' "$(variable "$name")" "$(cat "$DIR/dsn/$name")"
		done
	} | tee "$DIR/env"
	[ -n "${ROWLOCK_MSSQL_DSN:-}" ] || log "SQL Server: ROWLOCK_MSSQL_DSN IS NOT GIVEN, ITS TESTS WILL BE SKIPPED"
	log "ready in $DIR"
}

# finish STATUS: the exit trap; after a failure nothing stays behind
finish() {
	local name
	trap - EXIT INT TERM HUP
	rm -rf "$DIR"/apt-*
	[ "$1" != 0 ] || exit 0
	{
		for name in "${!JOB[@]}"; do
			[ "${JOB[$name]}" = ended ] || kill -KILL -- "-${JOB[$name]}" || true
		done
		wait
	} 2>/dev/null
	"$LIB/../down" "$DIR" >&2 || true
	exit "$1"
}
