package dbtest

import "github.com/snowkey-go/snowkey/internal/dbserver"

// init runs before the main of any test program that uses this package.
func init() { dbserver.Guard() }
