# shellcheck shell=bash
# launch.sh: running programs as the unprivileged user, and waiting for them.

# set_unprivileged: AS is the command prefix for everything a server does:
# its user, with a clean environment. It execs, so the pid stays the same.
set_unprivileged() {
	AS=(env -i PATH=/usr/bin:/bin LC_ALL=C TZ=UTC "HOME=$DIR")
	[ "$(id -u)" != 0 ] || AS=(setpriv "--reuid=$RUN_UID" "--regid=$RUN_UID" --clear-groups "${AS[@]}")
}
own() { [ "$(id -u)" != 0 ] || chown -R "$RUN_UID:$RUN_UID" "$@"; }

# free_port: prints a port that nothing listens on, below the ephemeral range
# and reserved among the jobs of this run
free_port() {
	local port
	while :; do
		port=$((20000 + (RANDOM * 32768 + RANDOM) % 12000))
		if ! listens $port && mkdir "$DIR/.port-$port" 2>/dev/null; then
			echo $port
			return
		fi
	done
}
listens() { (: <"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# launch NAME COMMAND...: in the background in a session of its own, output in
# NAME/log. The pid is noted before the session begins: while it is not noted,
# the process still belongs to the job's group and ends with it.
launch() {
	local name=$1 tries=0
	shift
	# shellcheck disable=SC2016 # expanded by the inner shell
	(cd "$DIR/$name" && exec bash -c 'echo $$ >"$1" && shift && exec setsid "$@"' launch "$DIR/pid/$name" "$@") \
		>"$DIR/$name/log" 2>&1 </dev/null &
	until [ -s "$DIR/pid/$name" ]; do
		[ $((tries += 1)) -lt 500 ] || die "$name: not launched"
		sleep 0.01
	done
}

# await NAME COMMAND...: until the command succeeds, for a minute, as long as
# the server lives
await() {
	local name=$1 tries=0
	shift
	until "$@"; do
		if ! kill -0 "$(cat "$DIR/pid/$name")" 2>/dev/null || [ $((tries += 1)) -ge 1200 ]; then
			tail -20 "$DIR/$name/log" >&2
			die "$name: not up, the end of its log is above"
		fi
		sleep 0.05
	done
}
logged() { grep -q -e "$2" "$DIR/$1/log"; }

# ready NAME DSN VERSION: the last step of each start
ready() {
	echo "$2" >"$DIR/dsn/$1"
	log "$1: up, $3"
}

# template NAME VERSION MAKER: NAME/data becomes a copy of a ready-made data
# folder. MAKER fills the folder it is given, once per version and script.
template() {
	local kept
	kept=$CACHE/data-$1-$2-$RUN_UID-$(cksum <"$LIB/$1.sh" | tr ' ' -)
	mkdir -p "$DIR/$1"
	if [ ! -e "$kept/ok" ]; then
		rm -rf "$CACHE/data-$1-"*
		mkdir "$kept"
		own "$kept" "$DIR/$1"
		"$3" "$kept/data" >"$kept/log" 2>&1 || { tail -5 "$kept/log" >&2; die "$1: cannot make a data folder"; }
		: >"$kept/ok"
		log "$1: made a data folder, $(du -sm "$kept/data" | cut -f1) MB"
	fi
	cp -a --reflink=auto "$kept/data" "$DIR/$1/data"
	own "$DIR/$1"
}

# locked NAME COMMAND...: one process at a time does it in this cache
locked() {
	local lock=$CACHE/.lock-$1
	shift
	(
		flock 9
		"$@"
	) 9>"$lock"
}
