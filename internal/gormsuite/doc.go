// Package gormsuite is a test alone, which runs GORM's own tests with the plugin on their connections, on SQLite, MariaDB or MySQL, and PostgreSQL.
//
//	make gorm-suite GORM=<folder of a checkout of go-gorm/gorm>
//
// GORM's tests are no part of its module, so they come from a checkout, and without one the test is skipped. They run in a temporary copy of it, against this tree and on
// private servers. There are two ways to use the plugin, the modes: AllKeys alone leaves the columns that AutoMigrate makes auto-increment;
// with Prepare the columns of the models that all tests share are plain. The plugin is on all connections that tests open with
// OpenTestConnection. The few others connect to nothing, or compare the SQL of a pool of their own.
//
// The file expected.txt lists the tests that fail, with the reason. Any other failure fails the test, and so does a test on the
// list that does not fail.
package gormsuite
