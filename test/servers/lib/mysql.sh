# shellcheck shell=bash
# mysql.sh: MySQL of Debian sid, and what it shares with MariaDB.

# One user with every privilege. No password: the server listens on 127.0.0.1
# and holds nothing.
MYSQL_ACCOUNT="CREATE USER rowlock@'%';
GRANT ALL ON *.* TO rowlock@'%' WITH GRANT OPTION;
CREATE DATABASE rowlock;"

# mysql_command ROOT PROGRAM DATA: fills COMMAND with what both products take
mysql_command() {
	loader "$1"
	COMMAND=("${AS[@]}" "${LOADER[@]}" "$1/usr/sbin/$2" --no-defaults "--basedir=$1/usr"
		"--lc-messages-dir=$1/usr/share/mysql" "--character-sets-dir=$1/usr/share/mysql/charsets"
		"--plugin-dir=$1/usr/lib/mysql/plugin" "--datadir=$3" "--tmpdir=$DIR"
		--innodb-buffer-pool-size=256M --max-connections=250 --max-allowed-packet=64M --skip-name-resolve)
	[ "${ROWLOCK_SERVERS_DURABLE:-0}" = 1 ] || COMMAND+=(--innodb-flush-log-at-trx-commit=0 --innodb-doublewrite=OFF --innodb-flush-method=nosync)
}

# mysql_launch NAME: COMMAND on a free port of 127.0.0.1
mysql_launch() {
	local port
	port=$(free_port)
	launch "$1" "${COMMAND[@]}" --bind-address=127.0.0.1 "--port=$port" "--socket=$DIR/$1/socket" "--pid-file=$DIR/$1/pid"
	await "$1" logged "$1" "ready for connections"
	await "$1" listens "$port"
	ready "$1" "rowlock@tcp(127.0.0.1:$port)/rowlock?parseTime=true" "$(grep -om1 "Version: '[^']*'" "$DIR/$1/log")"
}

start_mysql() {
	locked apt unpack sid mysql mysql-server-core
	locked mysql template mysql "$(version_of mysql mysql-server-core)" make_mysql
	mysqld_command "$DIR/mysql/data"
	COMMAND+=(--innodb-redo-log-capacity=256M) # grows with use, unlike the data folder's
	mysql_launch mysql
}

mysqld_command() { # DATA
	mysql_command "$CACHE/mysql/root" mysqld "$1"
	COMMAND+=(--innodb-redo-log-capacity=32M --mysqlx=OFF --skip-log-bin --performance-schema=OFF --secure-file-priv=NULL)
}

mysql_check() { libraries_found "$1" "$1/usr/sbin/mysqld"; }

make_mysql() { # DATA
	mysqld_command "$1"
	echo "$MYSQL_ACCOUNT" >"$DIR/mysql/account.sql"
	"${COMMAND[@]}" --initialize-insecure "--init-file=$DIR/mysql/account.sql"
}
