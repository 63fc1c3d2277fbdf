// Package gormsharding runs gorm.io/sharding with the functions that package shard has for it, on the databases that it is used with. It holds
// tests alone, and is a module of its own so that who uses snowkey gets none of what gorm.io/sharding needs.
//
// What the comment of [github.com/snowkey-go/snowkey/shard.Algorithm] says of gorm.io/sharding is seen here, with its version in go.mod.
package gormsharding
