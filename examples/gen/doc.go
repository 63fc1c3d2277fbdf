// Package gen is an example of the plugin beside gorm.io/gen: models with keys that the plugin fills, and queries made from them.
//
// It is a module of its own, since nothing else needs gorm.io/gen. After a change of package model, go generate makes package query anew.
package gen

//go:generate go run ./generate query
