# shellcheck shell=bash
# documentdb.sh: PostgreSQL with the DocumentDB extension of Debian sid, which
# holds what the server of mongo.sh is given.

# What the extension's closure brings for raster maps and fonts, none of it loaded.
DOCUMENTDB_SKIP='postgresql-[0-9]+-rum|proj-data|fonts-.*|fontconfig.*|libfontconfig.*|libfreetype.*|libpng.*|libgdal.*|gdal-.*|libpoppler.*|libsfcgal.*|libboost.*|libspatialite.*|libarmadillo.*|libarpack.*|libsuperlu.*|libblas.*|liblapack.*|libgfortran.*|libhdf.*|libnetcdf.*|libcfitsio.*|libheif.*|libde265.*|libdav1d.*|libaom.*|libsvtav1.*|librav1e.*|libgav1.*|libyuv.*|libavif.*|libjxl.*|libhwy.*|libabsl.*|libxerces.*|libodbc.*|libfyba.*|libfreexl.*|libgeotiff.*|librttopo.*|libmuparser.*|libminizip.*|libqhull.*|libopenjp2.*|libarchive13.*|libgpgme.*|libassuan.*|libksba.*|dirmngr|pinentry.*'

# start_documentdb: PORT becomes the port it listens on
start_documentdb() {
	# shellcheck disable=SC2034 # unpack reads it
	local SKIP="$SKIP|$DOCUMENTDB_SKIP"
	locked apt unpack sid documentdb postgresql-18-documentdb tzdata
	documentdb_programs
	locked documentdb template documentdb "$(version_of documentdb postgresql-18-documentdb)" make_documentdb
	PORT=$(free_port)
	postgres_launch documentdb "$PORT"
}

# documentdb_programs: PG_BIN and INITDB, as find_postgres sets them
documentdb_programs() {
	PG_BIN=$(echo "$CACHE"/documentdb/root/usr/lib/postgresql/*/bin)
	loader "$CACHE/documentdb/root"
	unpacked_initdb
}

documentdb_check() { # ROOT
	local home share
	home=$(echo "$1"/usr/lib/postgresql/*)
	share=$(echo "$1"/usr/share/postgresql/*/extension)
	libraries_found "$1" "$home"/bin/{postgres,initdb} "$home"/lib/pg_documentdb*.so \
		"$home"/lib/{pg_cron,vector,postgis-3,tsm_system_rows,plpgsql,dict_snowball}.so || return 1
	ln -sf postgis-3.control "$share/postgis.control" # as its package's set-up would
	wrap_postgres "$home/bin"
}

# make_documentdb DATA: the extension is made in single-user mode, which ends
# well whatever happened, so it is asked for what should be there
make_documentdb() {
	local single=("${AS[@]}" "$PG_BIN/postgres" --single -D "$1" postgres)
	make_postgres "$1"
	# Without background workers pg_cron goes to the port that it was made with.
	"${AS[@]}" tee -a "$1/postgresql.conf" >/dev/null <<-END
		shared_preload_libraries = 'pg_cron,pg_documentdb_core,pg_documentdb'
		cron.database_name = 'postgres'
		cron.use_background_workers = on
		cron.log_run = off
		cron.log_statement = off
		max_worker_processes = 32
		deadlock_timeout = 20ms
		jit = off
	END
	echo 'CREATE EXTENSION documentdb CASCADE' | "${single[@]}"
	echo "SELECT 'version=' || extversion FROM pg_extension WHERE extname = 'documentdb'" | "${single[@]}" | grep 'version='
}
