// Package goose is an example of a migration of keys run by github.com/pressly/goose. The package is a module of its own, since nothing else needs goose.
package goose
