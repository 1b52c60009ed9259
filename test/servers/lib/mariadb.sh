# shellcheck shell=bash
# mariadb.sh: MariaDB of Debian bookworm.

start_mariadb() {
	locked apt unpack bookworm mariadb mariadb-server-core
	locked mariadb template mariadb "$(version_of mariadb mariadb-server-core)" make_mariadb
	mariadbd_command "$DIR/mariadb/data"
	COMMAND+=(--innodb-log-file-size=256M)
	mysql_launch mariadb
}

mariadbd_command() { # DATA
	mysql_command "$CACHE/mariadb/root" mariadbd "$1"
	COMMAND+=(--innodb-log-file-size=32M --character-set-server=utf8mb4 --collation-server=utf8mb4_general_ci)
}

mariadb_check() { libraries_found "$1" "$1/usr/sbin/mariadbd"; }

# make_mariadb DATA: what mariadb-install-db does, which needs more packages
make_mariadb() {
	local scripts=$CACHE/mariadb/root/usr/share/mysql
	mariadbd_command "$1"
	mkdir -p "$1"
	own "$1"
	{
		printf '%s\n' 'CREATE DATABASE IF NOT EXISTS mysql;' 'USE mysql;' 'SET @auth_root_socket = NULL;' # one statement a line
		cat "$scripts"/{mysql_system_tables,mysql_performance_tables,mysql_system_tables_data,maria_add_gis_sp_bootstrap,mysql_sys_schema}.sql
		echo 'FLUSH PRIVILEGES;'
		echo "$MYSQL_ACCOUNT"
	} | "${COMMAND[@]}" --bootstrap --log-warnings=0 --enforce-storage-engine= --net-buffer-length=16K
}
