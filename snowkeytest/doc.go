// Package snowkeytest is for the tests of applications with package gormplugin: keys that are the same in each run, a plugin without SQL of its own,
// a clock that is set by hand, and a check that a model has its key.
//
//	db.Use(snowkeytest.Plugin())                                              // keys 1, 2, 3, …
//	db.Use(gormplugin.New(gormplugin.From(snowkeytest.Generator(t))))         // snowflakes of 2026
//	snowkeytest.RequireKey(t, &order)
//
// What it makes is for databases of one test: two plugins, or two runs on one database, make the same keys.
package snowkeytest
