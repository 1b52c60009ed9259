# shellcheck shell=bash
# apt.sh: Debian packages of any release, downloaded and unpacked into the cache
# beside the system, and run there with the C library of their own release.

KEYRING=${ROWLOCK_DEBIAN_KEYRING:-/usr/share/keyrings/debian-archive-keyring.gpg}

# sources PATTERN: the first address in this machine's apt sources that ends so
sources() {
	cat /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null | grep -v '^ *#' |
		grep -oE "https?://[^ ]+/$1/?( |\$)" | sed 's#/* *$##' | awk 'NR == 1'
}

# apt_suite SUITE: an apt state of our own for that release, refreshed once a run
apt_suite() {
	local state=$DIR/apt-$1 mirror=${ROWLOCK_DEBIAN_MIRROR:-} security
	[ ! -e "$state/ok" ] || return 0
	[ -n "$mirror" ] || mirror=$(sources debian) || true
	[ -n "$mirror" ] || die "no Debian mirror in this machine's apt sources: set ROWLOCK_DEBIAN_MIRROR"
	mkdir -p "$state/lists/partial" "$state/archives/partial"
	: >"$state/status"
	echo "deb [signed-by=$KEYRING] $mirror $1 main" >"$state/sources.list"
	security=$(sources debian-security) || true
	[ "$1" = sid ] || [ -z "$security" ] || echo "deb [signed-by=$KEYRING] $security $1-security main" >>"$state/sources.list"
	apt_config "$state" >"$state/apt.conf"
	apt "$1" -qq update
	: >"$state/ok"
	log "read the package lists of $1"
}

apt() { # SUITE ARGUMENT...
	local suite=$1
	shift
	APT_CONFIG=$DIR/apt-$suite/apt.conf apt-get "$@"
}

apt_config() { # STATE: prints it; nothing counts as installed
	cat <<-END
		Dir::State "$1";
		Dir::State::status "$1/status";
		Dir::State::lists "$1/lists";
		Dir::Cache "$1";
		Dir::Etc::sourcelist "$1/sources.list";
		Dir::Etc::sourceparts "/dev/null";
		Dir::Etc::preferences "/dev/null";
		Dir::Etc::preferencesparts "/dev/null";
		APT::Architectures { "$(dpkg --print-architecture)"; };
		APT::Install-Recommends "false";
		APT::Sandbox::User "root";
		APT::Update::Error-Mode "any";
		Acquire::Languages "none";
		Acquire::Retries "3";
		Acquire::Check-Valid-Until "false";
		Acquire::Check-Date "false";
		Acquire::IndexTargets::deb::DEP-11::DefaultEnabled "false";
		Acquire::IndexTargets::deb::DEP-11-icons::DefaultEnabled "false";
		Acquire::IndexTargets::deb::DEP-11-icons-small::DefaultEnabled "false";
		Acquire::IndexTargets::deb::DEP-11-icons-hidpi::DefaultEnabled "false";
	END
}

# What the closures of dependencies hold and the servers never load. Should one
# of these become necessary, the library check notices and all are taken.
SKIP='perl.*|libperl.*|.*-perl|systemd|libsystemd-shared|sysvinit-utils|procps|libproc2.*|gnupg.*|gpg.*|adduser|passwd|login.*|base-passwd|debconf|ucf|ssl-cert|openssl.*|netbase|locales|libc-l10n|libc-bin|libc-gconv.*|libllvm.*|libz3-.*|libnss3.*|libnspr4.*|libdb5.*|libmariadb3|mariadb-common|mysql-common|postgresql-common|postgresql-client-.*|lsb-base|coreutils|dpkg|tar'

# unpack SUITE NAME PACKAGE...: into $CACHE/NAME/root, unless it is there.
# NAME_check ROOT then tells whether all needed libraries are there.
unpack() {
	local suite=$1 name=$2 root=$CACHE/$2/root packages choice
	shift 2
	[ ! -e "$CACHE/$name/ok" ] || return 0
	apt_suite "$suite"
	packages=$(apt "$suite" install -y --no-install-recommends --print-uris "$@" |
		awk '$1 ~ /^.http/ {sub(/_.*/, "", $2); print $2}')
	[ -n "$packages" ] || die "$name: apt does not find $*"
	for choice in "$(grep -vxE "$SKIP" <<<"$packages")" "$packages"; do
		rm -rf "${CACHE:?}/$name"
		mkdir -p "$root" "$DIR/apt-$suite/debs"
		# shellcheck disable=SC2086 # a list of names
		(cd "$DIR/apt-$suite/debs" && rm -f -- *.deb && apt "$suite" -qq download $choice)
		extract "$root" "$DIR/apt-$suite"/debs/*.deb
		"${name}_check" "$root" && : >"$CACHE/$name/ok" && return 0
	done
	die "$name: libraries are missing in $root"
}

extract() { # ROOT DEB...
	local root=$1 deb
	shift
	for deb in "$@"; do
		basename "$deb" >>"$root/../packages"
		dpkg-deb --fsys-tarfile "$deb" | tar -x -C "$root" --exclude='./usr/share/doc' --exclude='./usr/share/man' \
			--exclude='./usr/share/locale' --exclude='./usr/share/lintian' --exclude='./usr/bin' --exclude='./usr/lib/*/gconv' \
			--exclude='./usr/lib/postgresql/*/lib/bitcode' --exclude='./usr/lib/postgresql/*/lib/llvmjit*'
	done
	log "unpacked $# packages: $(du -ksc "$@" | awk 'END {print int($1 / 1024)}') MB of .deb, $(du -sm "$root" | cut -f1) MB in $root"
}

version_of() { sed -n "s/^$2_\(.*%3a\)\{0,1\}\([^_]*\)_.*/\2/p" "$CACHE/$1/packages"; } # NAME PACKAGE

# loader ROOT: LOADER is a command prefix that runs a program of ROOT with the
# dynamic loader and libraries of ROOT, whatever the C library of this system
loader() {
	local linker dir path=
	linker=$(find "$1/lib" "$1/usr/lib" -name 'ld-linux-*.so.*' -type f 2>/dev/null | head -1) || true
	[ -n "$linker" ] || return 1
	for dir in "$1"/lib/*-linux-gnu* "$1"/usr/lib/*-linux-gnu* "$1"/usr/lib/postgresql/*/lib; do
		[ ! -d "$dir" ] || path=$path${path:+:}$dir
	done
	LOADER=("$linker" --library-path "$path")
}

libraries_found() { # ROOT FILE...
	local file missing
	loader "$1" || return 1
	shift
	for file in "$@"; do
		[ -e "$file" ] || { log "missing $file"; return 1; }
		missing=$("${LOADER[@]}" --list "$file" 2>&1 | grep -E 'not found|cannot open' || true)
		[ -z "$missing" ] || { log "$file: $missing"; return 1; }
	done
}
