# shellcheck shell=bash
# docker.sh: the same servers from a Docker engine, for machines without apt.

# use_docker: asked for, or the only way, and the engine answers
use_docker() {
	[ "${ROWLOCK_SERVERS_DOCKER:-0}" = 1 ] || ! command -v apt-get >/dev/null || return 1
	docker info >/dev/null 2>&1 || die "no Docker engine answers"
}

start_container() { # NAME
	local image=mysql:8.4
	case $1 in
	postgres)
		container postgres 5432 -e POSTGRES_HOST_AUTH_METHOD=trust postgres:15 \
			-c max_connections=200 -c fsync=off -c full_page_writes=off -c synchronous_commit=off
		ready postgres "postgres://postgres@127.0.0.1:$PORT/postgres?sslmode=disable" postgres:15
		;;
	mysql | mariadb)
		[ "$1" = mysql ] || image=mariadb:10.11
		container "$1" 3306 -e "${1^^}_ALLOW_EMPTY_ROOT_PASSWORD=1" -e "${1^^}_DATABASE=rowlock" "$image" \
			--max-connections=250 --max-allowed-packet=64M --innodb-flush-log-at-trx-commit=0
		ready "$1" "root@tcp(127.0.0.1:$PORT)/rowlock?parseTime=true" "$image"
		;;
	mongo)
		container mongo 27017 mongo:7
		ready mongo "mongodb://127.0.0.1:$PORT/" mongo:7
		;;
	*) die "$1: not offered with Docker; give $(variable "$1")" ;;
	esac
}

# container NAME PORT ARGUMENT...: runs it and waits until it answers on PORT of
# its own network address, which the images' set-up phase does not; PORT becomes
# the port on 127.0.0.1
container() {
	local name=$1 inner=$2 id tries=0
	shift 2
	id=$(docker run -d --cidfile "$DIR/container/$name" -p "127.0.0.1::$inner" "$@")
	until docker exec "$id" bash -c "exec 3<>/dev/tcp/\$(hostname -i | cut -d' ' -f1)/$inner" 2>/dev/null; do
		if [ $((tries += 1)) -ge 600 ] || [ "$(docker inspect "$id" -f '{{.State.Running}}')" != true ]; then
			docker logs --tail 20 "$id" >&2
			die "$name: not up"
		fi
		sleep 0.2
	done
	PORT=$(docker port "$id" "$inner" | awk -F: 'NR == 1 {print $NF}')
}
