// Package snowkey is the root of a module that gives GORM applications primary keys without auto-increment. It holds no code: see
// idgen for the keys, sqltype for their type in models, gormplugin for the plugin, compare for measuring key strategies, and
// cmd/snowkey for the command.
package snowkey
