package journal

import (
	"context"
	"fmt"
	"strings"

	"github.com/snowkey-go/snowkey/internal/dialect"
)

// Column alone is 1 of the one plan that is not done or undone, and NULL of others, so that its unique index lets no second one begin,
// whatever became of the locks. Column turns grows with each transaction: MySQL counts only rows that become different. Times are
// microseconds since 1970 in UTC, which no driver and no session's zone changes.
const (
	plansText = `CREATE TABLE IF NOT EXISTS snowkey_migrate (
    plan        varchar(64)  NOT NULL PRIMARY KEY,
    mode        varchar(16)  NOT NULL,
    state       varchar(16)  NOT NULL,
    alone       smallint     NULL UNIQUE,
    runner      varchar(255) NOT NULL,
    fingerprint varchar(255) NOT NULL,
    table_names %[1]s NOT NULL,
    plan_text   %[1]s NOT NULL,
    turns       bigint NOT NULL,
    started_us  bigint NOT NULL,
    changed_us  bigint NOT NULL
)%[2]s`
	stepsText = `CREATE TABLE IF NOT EXISTS snowkey_migrate_steps (
    plan         varchar(64) NOT NULL,
    step         int         NOT NULL,
    title        %[1]s NOT NULL,
    state        varchar(16) NOT NULL,
    upto         bigint NOT NULL,
    pass         int    NOT NULL,
    changed_rows bigint NOT NULL,
    found        %[1]s NOT NULL,
    started_us   bigint NOT NULL,
    changed_us   bigint NOT NULL,
    PRIMARY KEY (plan, step)
)%[2]s`
)

// exists are queries for how many of the journal's two tables there are.
var exists = map[dialect.Dialect]string{
	dialect.MySQL:    "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name IN ('snowkey_migrate', 'snowkey_migrate_steps')",
	dialect.Postgres: "SELECT COUNT(to_regclass('snowkey_migrate')) + COUNT(to_regclass('snowkey_migrate_steps'))",
	dialect.SQLite:   "SELECT COUNT(*) FROM sqlite_master WHERE type = 'table' AND name IN ('snowkey_migrate', 'snowkey_migrate_steps')",
}

// definitions returns the statements that make the journal's tables where there are none, in the current schema.
func definitions(d dialect.Dialect) []string {
	text, end := "text", ""
	if d == dialect.MySQL {
		text, end = "longtext", " ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"
	}
	return []string{fmt.Sprintf(plansText, text, end), fmt.Sprintf(stepsText, text, end)}
}

// Create makes the journal's tables where there are none. It is called outside of a transaction: MySQL commits.
func Create(ctx context.Context, c Conn, d dialect.Dialect) error {
	present, err := present(ctx, c, d)
	if err != nil || present {
		return err
	}
	for _, text := range definitions(d) {
		if _, err := c.ExecContext(ctx, text); err != nil {
			return fmt.Errorf("journal: making its tables: %w", err)
		}
	}
	return nil
}

// present reports whether the journal's tables are there.
func present(ctx context.Context, c Reader, d dialect.Dialect) (bool, error) {
	var n int
	if err := dialect.One(ctx, c, exists[d], nil, &n); err != nil {
		return false, fmt.Errorf("journal: looking for its tables: %w", err)
	}
	return n == 2, nil
}

// statement returns a text with @now as the dialect's clock, and its parameters as the dialect writes them.
func statement(d dialect.Dialect, text string) string {
	return d.Bind(strings.ReplaceAll(text, "@now", d.Clock()))
}
