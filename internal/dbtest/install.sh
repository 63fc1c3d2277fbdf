#!/bin/sh
# install.sh installs the database servers that the tests start, where they are
# missing: the programs of MariaDB, PostgreSQL, Redis and etcd, with apt, as root or through sudo.
#
# It installs programs only. No database cluster is created, no server is started,
# and a server that runs on this machine is left alone: nothing that is installed
# already is upgraded on request, and nothing is removed. Where every program is
# found, or a server is given in SNOWKEY_TEST_MYSQL and SNOWKEY_TEST_POSTGRES, apt
# is not called at all. Of Redis and etcd the tests need the programs; they use no server that runs.
#
# etcd, Patroni, MariaDB's plugin Spider, what a Galera cluster takes and Prometheus's promtool come with them where apt has them, and so does
# ZooKeeper where java is found. They are no reason to fail: SNOWKEY_TEST_REQUIRE says which of them a test may not be skipped without.
set -eu

# The folders beside PATH are those of ../dbserver/program.go.
folders="/usr/sbin /usr/bin /usr/libexec /usr/local/bin /usr/local/sbin /usr/local/libexec /usr/local/mysql/bin /usr/local/pgsql/bin"

# found NAME tells whether the program exists in PATH or in one of the folders.
found() {
	command -v "$1" >/dev/null 2>&1 && return 0
	for folder in $folders /usr/lib/postgresql/*/bin; do
		[ -x "$folder/$1" ] && return 0
	done
	return 1
}

# MariaDB's folder maker is a shell script that calls my_print_defaults, which
# Debian keeps in a package of its own; MySQL's server makes its folder itself.
mysql_found() {
	if found mariadbd; then
		found mariadb-install-db && found my_print_defaults
	else
		found mysqld
	fi
}

postgres_found() {
	found postgres && found initdb
}

# Debian's package with Spider needs mariadb-server, which makes a cluster and starts
# it, and the packages of promtool and etcd start a server. The tests need one file of each package,
# so that is all that is installed. Only the server of the same version loads Spider.
install_extras() {
	server=$(command -v mariadbd 2>/dev/null) || server=/usr/sbin/mariadbd
	if [ -x "$server" ]; then
		plugins=$("$server" --no-defaults --help --verbose 2>/dev/null | awk '$1 == "plugin-dir" { print $2 }')
		[ -z "$plugins" ] || install_file "mariadb-plugin-spider=$(dpkg-query -W -f '${Version}' mariadb-server-core 2>/dev/null || true)" \
			usr/lib/mysql/plugin/ha_spider.so "${plugins%/}/ha_spider.so" 644
		install_galera
	fi
	found etcd || install_file etcd-server usr/bin/etcd /usr/local/bin/etcd 755
	found promtool || install_file prometheus usr/bin/promtool /usr/local/bin/promtool 755
	# Only long tests run Patroni.
	[ -z "${SNOWKEY_TEST_LONG:-}" ] || found patroni || install_patroni
	! found java || install_zookeeper
}

# Debian's package patroni enables a service. Its Python modules are all that is installed of it, beside packages with other modules.
install_patroni() {
	modules=/usr/local/lib/snowkey-tests/patroni unpacked=$(mktemp -d)
	# shellcheck disable=SC2086 # a list of packages
	if (as_root_apt install --no-install-recommends --no-remove --no-upgrade $patroni_packages || { as_root_apt update &&
		as_root_apt install --no-install-recommends --no-remove --no-upgrade $patroni_packages; }) >&2 &&
		(as_root="${as_root:+sudo -n}" && cd "$unpacked" && unpack patroni && $as_root install -d "$modules" &&
			$as_root cp -R files/usr/lib/python3/dist-packages/patroni "$modules" &&
			printf '#!/bin/sh\nPYTHONPATH=%s exec /usr/bin/python3 -m patroni "$@"\n' "$modules" >program &&
			$as_root install -m 755 program /usr/local/bin/patroni) >&2; then
		echo "/usr/local/bin/patroni installed, of the package patroni" >&2
	else
		echo "patroni is missing and could not be installed; the tests that need it will say so" >&2
	fi
	rm -rf "$unpacked"
}

patroni_packages="python3 python3-dateutil python3-dnspython python3-etcd python3-prettytable python3-psutil python3-psycopg2 python3-urllib3 python3-yaml"

# Debian's package zookeeper needs 45 others. A server runs with these jars: netty's are for TLS, slf4j-simple for its log.
install_zookeeper() {
	install_jars libzookeeper-java zookeeper zookeeper-jute
	install_jars libslf4j-java slf4j-api slf4j-simple
	install_jars libdropwizard-metrics-java metrics-core
	install_jars libsnappy-java snappy-java
	install_jars libnetty-java netty-transport-native-epoll netty-transport-native-unix-common netty-transport netty-buffer netty-codec netty-common netty-handler netty-resolver
}

# install_jars PACKAGE NAME... installs jars of a package, where the first of them is missing.
install_jars() {
	package=$1 folder=/usr/local/lib/snowkey-tests/zookeeper
	[ ! -e "$folder/$2.jar" ] || return 0
	shift
	unpacked=$(mktemp -d)
	if (as_root="${as_root:+sudo -n}" && cd "$unpacked" && unpack "$package" && $as_root install -d "$folder" &&
		for jar in "$@"; do $as_root install -m 644 "files/usr/share/java/$jar.jar" "$folder" || exit 1; done) >&2; then
		echo "$folder: $* installed, of the package $package" >&2
	else
		echo "$folder: $*, of the package $package, are missing and could not be installed; the tests that need ZooKeeper will say so" >&2
	fi
	rm -rf "$unpacked"
}

# A node of a Galera cluster needs the provider, and to join rsync with two scripts of mariadb-server.
install_galera() {
	install_file galera-4 usr/lib/galera/libgalera_smm.so /usr/lib/galera/libgalera_smm.so 644
	for script in wsrep_sst_rsync wsrep_sst_common; do
		found "$script" || install_file "mariadb-server=$(dpkg-query -W -f '${Version}' mariadb-server-core 2>/dev/null || true)" "usr/bin/$script" "/usr/local/bin/$script" 755
	done
	found rsync || as_root_apt install --no-install-recommends --no-remove --no-upgrade rsync >&2 ||
		echo "rsync is missing and could not be installed; the tests that need it will say so" >&2
}

# install_file PACKAGE FILE TARGET MODE installs one file of a package, where it is missing.
install_file() {
	[ ! -e "$3" ] || return 0
	unpacked=$(mktemp -d)
	if (as_root="${as_root:+sudo -n}" && cd "$unpacked" && from_package "$@") >&2; then
		echo "$3 installed, of the package ${1%%=*}" >&2
	else
		echo "$3, of the package ${1%%=*}, is missing and could not be installed; the tests that need it will say so" >&2
	fi
	rm -rf "$unpacked"
}

# unpack PACKAGE puts what is in a package into the folder files.
unpack() {
	{ apt-get -q download "$1" || { as_root_apt update && apt-get -q download "$1"; }; } && dpkg-deb -x ./*.deb files
}

from_package() {
	unpack "$1" &&
		$as_root install -D -m "$4" "files/$2" "$3"
}

as_root=""
[ "$(id -u)" = 0 ] || as_root="sudo"

# NEEDRESTART_SUSPEND keeps Ubuntu's needrestart from restarting services; the timeout
# is for an update that a fresh machine runs by itself.
as_root_apt() {
	$as_root env DEBIAN_FRONTEND=noninteractive NEEDRESTART_SUSPEND=1 \
		apt-get -q -y -o DPkg::Lock::Timeout=300 "$@"
}

missing=""
packages=""
if [ -z "${SNOWKEY_TEST_MYSQL:-}" ] && ! mysql_found; then
	missing="MariaDB"
	packages="mariadb-server-core mariadb-client-core"
fi
if [ -z "${SNOWKEY_TEST_POSTGRES:-}" ] && ! postgres_found; then
	missing="${missing:+$missing and }PostgreSQL"
	packages="${packages:+$packages }postgresql"
fi
if ! found redis-server; then
	missing="${missing:+$missing and }Redis"
	packages="${packages:+$packages }redis-tools"
fi
if [ -z "$missing" ]; then
	install_extras
	exit
fi

# stop REASON says what to do by hand, and ends the script.
stop() {
	cat >&2 <<MESSAGE
$missing not found, and $1.
Install the servers' programs by hand. Debian and Ubuntu name their packages:
    $packages
No service needs to run: the tests start servers of their own. Or name running
servers in SNOWKEY_TEST_MYSQL and SNOWKEY_TEST_POSTGRES; internal/dbtest/doc.go
describes both.
MESSAGE
	exit 1
}

command -v apt-get >/dev/null 2>&1 || stop "this machine has no apt-get to install it with"
[ -z "$as_root" ] || command -v sudo >/dev/null 2>&1 || stop "installing needs root or sudo"

install_packages() {
	as_root_apt install --no-install-recommends --no-remove --no-upgrade "$@"
}

echo "$missing not found: installing $packages" >&2
as_root_apt update

case " $packages " in
*" postgresql "*)
	# Debian's package makes a cluster and starts it, unless told not to before.
	# The file that says so is ours alone, and goes again however this ends.
	install_packages postgresql-common
	dropin=/etc/postgresql-common/createcluster.d/snowkey-tests.conf
	trap '$as_root rm -f "$dropin"' EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM
	trap 'exit 129' HUP
	$as_root mkdir -p "${dropin%/*}"
	echo "create_main_cluster = false" | $as_root tee "$dropin" >/dev/null
	;;
esac

# shellcheck disable=SC2086 # a list of packages
install_packages $packages

# Debian's package redis-server is a service and a link to a program of redis-tools,
# which serves when it is called by that name.
found redis-server || ! found redis-check-rdb || $as_root ln -s "$(command -v redis-check-rdb)" /usr/local/bin/redis-server

missing_still=""
[ -n "${SNOWKEY_TEST_MYSQL:-}" ] || mysql_found || missing_still="MariaDB"
[ -n "${SNOWKEY_TEST_POSTGRES:-}" ] || postgres_found || missing_still="${missing_still:+$missing_still and }PostgreSQL"
found redis-server || missing_still="${missing_still:+$missing_still and }Redis"
if [ -n "$missing_still" ]; then
	missing=$missing_still
	stop "apt-get installed $packages without it"
fi
install_extras
