// Package apis has tests that take keys through what stands between an application and its users: validator, BSON, protobuf, gqlgen, and the schema of an OpenAPI
// document. Each is an example to copy; docs/ids-in-apis.md explains them. They are in a module of their own, so that package sqltype needs none of these.
package apis
