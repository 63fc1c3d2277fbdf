// Package gen is an example of the plugin beside gorm.io/gen: models with keys that the plugin fills, and queries made from them.
//
// It is a module of its own, since nothing else needs gorm.io/gen. Package query is not kept: go generate makes it from package model, before a build
// or a test.
package gen

//go:generate go run ./generate query
