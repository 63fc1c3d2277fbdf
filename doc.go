// Package snowkey is the root of a module that gives GORM applications primary keys without auto-increment. It holds no code.
//
// An application imports gormplugin, which fills in keys, and sqltype, which has their types. idgen has the generator and its layouts, idgen/grant
// the node numbers, uid, ticket and shard other kinds of keys, migrate the way from auto-increment. README.md and docs have a page a task.
package snowkey
