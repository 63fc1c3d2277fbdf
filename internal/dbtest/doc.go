// Package dbtest gives a test a database of its own, on SQLite, on MySQL or
// MariaDB, and on PostgreSQL, and starts the servers for that itself.
//
// # Servers
//
// [MySQL] and [Postgres] make a database on a server that the test process starts
// when it first needs it and shares among its tests. [StartMySQL] and
// [StartPostgres] start a server for one test, with settings of its own, which the
// test may stop, kill, pause, resume and start again on the same data. Every server
// has its own data folder and its own Unix socket, and listens on no port; it runs
// as the user nobody when the tests run as root. Nothing that runs on the machine
// already is used or disturbed. Servers keep the settings that make commits durable
// (fsync, innodb_flush_log_at_trx_commit=1), so a killed server has its commits
// after the next start.
//
// The programs are looked for in PATH, then in the folders that distributions put
// them in: mariadbd or mysqld, mariadb-install-db, postgres and initdb. A test that
// needs a missing one is skipped with a sentence that says what to install.
//
// # Environment
//
//   - SNOWKEY_TEST_MYSQL and SNOWKEY_TEST_POSTGRES name a running server to use in
//     place of the shared one: a DSN of github.com/go-sql-driver/mysql, with or
//     without "mysql:" before it (a user called mysql needs it), and a postgres://
//     URL. Its user must be allowed to create databases. [StartMySQL] and
//     [StartPostgres] start a private server nevertheless.
//   - SNOWKEY_TEST_REQUIRE lists kinds, "mysql,postgres", whose absence makes a test
//     fail where it would be skipped.
//
// # What a server does not outlive
//
// A private server never outlives the test process, however that ends: by itself, by
// a panic, by os.Exit, or by SIGKILL. A guard process sees to it, one for each
// server: the test binary executed again, which the init function of this package
// recognises by an environment variable. The guard is the server's parent, and
// adopts whatever the server leaves behind, so it always knows the server's
// processes exactly. It takes commands from the test process through a pipe. The
// kernel closes that pipe when the test process is gone; the guard then kills the
// server's processes, removes its folder, and ends. Should the guard itself be
// killed, the kernel kills the server; only then its folder stays.
//
//	test process ──commands──▶ guard ──parent of──▶ server ──▶ its children
//	             ◀──replies───
//
// Private servers need Linux. Elsewhere the environment has to name a server.
package dbtest
