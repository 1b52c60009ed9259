# shellcheck shell=bash
# mongo.sh: FerretDB, which speaks MongoDB's protocol as a stand-alone server,
# over the PostgreSQL of documentdb.sh. Version 1 of it will not do: its updates
# are not atomic.

FERRETDB=v2.7.0

start_mongo() {
	local port program=$CACHE/ferretdb-$FERRETDB/ferretdb
	locked ferretdb build_ferretdb
	start_documentdb # sets PORT
	port=$(free_port)
	mkdir -p "$DIR/mongo"
	own "$DIR/mongo"
	# shellcheck disable=SC2153 # PORT is start_documentdb's
	launch mongo "${AS[@]}" DO_NOT_TRACK=1 "$program" "--listen-addr=127.0.0.1:$port" \
		"--postgresql-url=postgres://postgres@127.0.0.1:$PORT/postgres" --no-auth --debug-addr=- \
		--telemetry=disable "--state-dir=$DIR/mongo" --log-level=error
	await mongo listens "$port"
	ready mongo "mongodb://127.0.0.1:$port/" "FerretDB $FERRETDB, DocumentDB $(version_of documentdb postgresql-18-documentdb)"
}

# build_ferretdb: outside any module, so that no go.mod matters, and without a C compiler
build_ferretdb() {
	local folder=$CACHE/ferretdb-$FERRETDB
	[ ! -x "$folder/ferretdb" ] || return 0
	mkdir -p "$folder" "$DIR/mongo"
	(cd "$DIR/mongo" && GOBIN=$folder GOFLAGS='' GOWORK=off CGO_ENABLED=0 nice -n 10 \
		go install -trimpath -ldflags=-s "github.com/FerretDB/FerretDB/v2/cmd/ferretdb@$FERRETDB") \
		>"$DIR/mongo/build" 2>&1 || { tail -5 "$DIR/mongo/build" >&2; die "mongo: cannot build FerretDB $FERRETDB"; }
	log "mongo: built FerretDB $FERRETDB"
}
