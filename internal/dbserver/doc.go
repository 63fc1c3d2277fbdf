// Package dbserver starts private servers of MariaDB or MySQL and of PostgreSQL, for
// tests and for comparisons, and ends them again.
//
// # Servers
//
// [Start] makes a data folder and starts a server on it, which its owner may stop,
// kill, pause, resume and start again on the same data. Every server has its own data
// folder and its own Unix socket, and listens on no port; it runs as the user nobody
// when the program runs as root. Nothing that runs on the machine already is used or
// disturbed. Servers keep the settings that make commits durable (fsync,
// innodb_flush_log_at_trx_commit=1), unless their owner asks for others, so a killed
// server has its commits after the next start.
//
// The programs are looked for in PATH, then in the folders that distributions put
// them in: mariadbd or mysqld, mariadb-install-db, postgres and initdb. Where one is
// missing the error says what to install.
//
// [Connect] has the same for a server that runs already, as far as that goes: its
// version, and databases of one's own. What concerns tests alone, such as databases
// that a test has for itself, skipping and shared servers, is in package dbtest.
//
// # What a server does not outlive
//
// A private server never outlives the process that started it, however that ends: by
// itself, by a panic, by os.Exit, by a signal, or by SIGKILL. A guard process sees to
// it, one for each server: the program executed again, which [Guard], the first call of
// its main, recognises by an environment variable. The guard is the server's parent, and adopts whatever the
// server leaves behind, so it always knows the server's processes exactly. It takes
// commands from the process through a pipe. The kernel closes that pipe when the
// process is gone; the guard then kills the server's processes, removes its folder, and
// ends. Should the guard itself be killed, the kernel kills the server; only then its
// folder stays.
//
//	process ──commands──▶ guard ──parent of──▶ server ──▶ its children
//	        ◀──replies───
//
// Guard and server have sessions of their own. An interrupt from the terminal does not
// reach them, so a program that handles it still has its server while it ends its work.
//
// Private servers need Linux. Elsewhere [Start] says so, and [Connect] works.
package dbserver
