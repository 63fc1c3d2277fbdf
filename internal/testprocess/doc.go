// Package testprocess starts programs for tests, such as servers of which package dbserver knows nothing. A program ends with the test that has started it, and
// with the test process, however that ends.
package testprocess
