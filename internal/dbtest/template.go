package dbtest

import (
	"context"
	"os"
	"path/filepath"

	"github.com/snowkey-go/snowkey/internal/dbserver"
)

// startCopy is [dbserver.StartCopy] with templates in the user's cache. Nobody else
// writes there, and what a test run has made is there for the next one. A user who has
// no cache, or may not write there, has [dbserver.Start].
func startCopy(ctx context.Context, kind string, settings ...string) (*dbserver.Server, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return dbserver.Start(ctx, kind, settings...)
	}
	templates := filepath.Join(cache, "snowkey", "dbtest")
	if err := os.MkdirAll(templates, 0o700); err != nil {
		return dbserver.Start(ctx, kind, settings...)
	}
	return dbserver.StartCopy(ctx, templates, kind, settings...)
}
