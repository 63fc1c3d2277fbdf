// Package dbtest gives a test a database of its own, on SQLite, on MySQL or
// MariaDB, and on PostgreSQL. Package dbserver starts the servers for that, and says
// what they are like and why none outlives the test process; here is which test has
// which server, when a test is skipped, and what becomes of a test's database.
//
// # Servers
//
// [MySQL] and [Postgres] make a database on a server that the test process starts
// when it first needs it and shares among its tests. [StartMySQL] and
// [StartPostgres] start a server for one test, with settings of its own, which the
// test may stop, kill, pause, resume and start again on the same data. A test that
// needs a server whose programs are missing is skipped with a sentence that says what
// to install.
// [StartGalera] starts a Galera cluster of MariaDB for one test, and [StartPatroni] one of
// PostgreSQL under Patroni, with an etcd.
//
// The data folders of most servers are copies of one that was made for the version of
// the programs, and that is kept in the user's cache, below snowkey/dbtest: of all of
// MariaDB's and MySQL's, and of the PostgreSQL server that is shared. The folder may be
// removed while no test is at work.
//
// # Accounts
//
// A database of MySQL or MariaDB has an account of its own, which is made and dropped
// with it. The account has all privileges on that database and on databases whose names
// begin with its name and an underscore, which a test may make beside it. It may grant
// them to others. Of the server's privileges it has those for settings, for other users
// and for definers, but none on tables. So information_schema.TABLES and its like show a
// test no table of another test's database, however many tests share the server. Tables
// of InnoDB's own, such as INNODB_SYS_TABLES, show all of them nevertheless.
//
// A test that needs more uses [Database.Admin]: to make databases with other names, or
// two databases that refer to each other, to read or change tables of the database
// mysql, to install plugins, to grant a privilege on *.*, or to compare definitions of
// two databases with their definers in them.
//
// # Environment
//
//   - SNOWKEY_TEST_MYSQL and SNOWKEY_TEST_POSTGRES name a running server to use in
//     place of the shared one: a DSN of github.com/go-sql-driver/mysql, with or
//     without "mysql:" before it (a user called mysql needs it), and a postgres://
//     URL. Its user must be allowed to create databases. A user of MySQL should also be
//     allowed to create users and to grant them privileges: who is not is used by the
//     tests in place of the databases' own accounts. [StartMySQL] and [StartPostgres]
//     start a private server nevertheless.
//   - SNOWKEY_TEST_REQUIRE lists kinds, "mysql,postgres", whose absence makes a test
//     fail where it would be skipped. With mysql come the plugins that tests ask
//     MariaDB's server for, see [RequirePlugin]. The word galera is for [StartGalera]. The word patroni
//     is for [StartPatroni]. The words redis, etcd, zookeeper, chromium and promtool are for the tests that start these programs themselves.
//   - SNOWKEY_TEST_ZOOKEEPER names the folder with the jars of ZooKeeper, where it is not the one
//     that install.sh fills.
package dbtest
