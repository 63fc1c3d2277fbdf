package mapping

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/snowkey-go/snowkey/internal/dialect"
	"github.com/snowkey-go/snowkey/internal/table"
)

// statement is one with numbers in it. PostgreSQL has them as parameters, so that the driver's cache of statements sees few texts; others have them in the
// text, which saves MySQL's drivers a round trip and has no limit of their number.
type statement struct {
	dialect dialect.Dialect
	args    []any
}

// number returns what stands for a number in the text.
func (s *statement) number(n int64) string {
	if s.dialect != dialect.Postgres {
		return strconv.FormatInt(n, 10)
	}
	s.args = append(s.args, n)
	return "$" + strconv.Itoa(len(s.args)) + "::bigint"
}

// numbers returns what stands for an array of numbers, on PostgreSQL.
func (s *statement) numbers(list []int64) string {
	s.args = append(s.args, table.Array(list))
	return "$" + strconv.Itoa(len(s.args)) + "::bigint[]"
}

// each calls a function for each row of a query.
func each(ctx context.Context, db dialect.Queryer, query string, args []any, row func(*sql.Rows) error) error {
	if err := dialect.Each(ctx, db, query, args, row); err != nil {
		return fmt.Errorf("mapping: %s: %w", short(query), err)
	}
	return nil
}

// ids returns the numbers that a query gives, one a row.
func ids(ctx context.Context, db dialect.Queryer, query string, args []any) (found []int64, err error) {
	err = each(ctx, db, query, args, func(rows *sql.Rows) error {
		found = append(found, 0)
		return rows.Scan(&found[len(found)-1])
	})
	return found, err
}

// short cuts a statement to what an error can show of it.
func short(query string) string {
	const most = 300
	if len(query) <= most {
		return query
	}
	return strings.ToValidUTF8(query[:most], "") + " …"
}

// greatest returns the greatest new id of a map in each of many ranges of ids, 0 where there is none.
func greatest(ctx context.Context, db dialect.Queryer, d dialect.Dialect, maps string, from, until []int64) ([]int64, error) {
	const most = 400 // SQLite takes up to 500 SELECTs in one
	found := make([]int64, len(from))
	for start := 0; start < len(from); start += most {
		end := min(start+most, len(from))
		s := statement{dialect: d}
		var parts []string
		for i := start; i < end && d != dialect.Postgres; i++ {
			parts = append(parts, fmt.Sprintf("SELECT %d AS n, MAX(new_id) AS g FROM %s WHERE new_id BETWEEN %d AND %d", i-start+1, maps, from[i], until[i]))
		}
		text := strings.Join(parts, " UNION ALL ")
		if d == dialect.Postgres {
			text = "SELECT u.n, (SELECT MAX(m.new_id) FROM " + maps + " m WHERE m.new_id BETWEEN u.a AND u.b) FROM unnest(" +
				s.numbers(from[start:end]) + ", " + s.numbers(until[start:end]) + ") WITH ORDINALITY u(a, b, n)"
		}
		err := each(ctx, db, text, s.args, func(rows *sql.Rows) error {
			var n int64
			var id sql.NullInt64
			if err := rows.Scan(&n, &id); err != nil {
				return err
			}
			found[start+int(n)-1] = id.Int64
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

// insert writes pairs of ids to a map, and returns how many. Of a shared one, which PostgreSQL alone has, it leaves out those of which another transaction has
// written an id meanwhile; to look for these costs a third of its time.
func insert(ctx context.Context, tx Tx, d dialect.Dialect, maps string, old, new []int64, shared bool) (written int64, err error) {
	const rows = 2000 // 84 kB at most, far below MySQL's packet of 1 MB or more; more rows in one were no faster
	for len(old) > 0 {
		n := min(rows, len(old))
		if d == dialect.Postgres {
			n = min(10*rows, len(old))
		}
		text, args := insertion(d, maps, old[:n], new[:n], shared)
		result, err := tx.ExecContext(ctx, text, args...)
		if err != nil {
			return written, fmt.Errorf("mapping: %s: %w", short(text), err)
		}
		rows, err := result.RowsAffected()
		if err != nil {
			return written, fmt.Errorf("mapping: %s: %w", short(text), err)
		}
		written += rows
		old, new = old[n:], new[n:]
	}
	return written, nil
}

func insertion(d dialect.Dialect, maps string, old, new []int64, shared bool) (string, []any) {
	head := "INSERT INTO " + maps + " (old_id, new_id) "
	if d == dialect.Postgres {
		s := statement{dialect: d}
		text := head + "SELECT * FROM unnest(" + s.numbers(old) + ", " + s.numbers(new) + ")"
		if shared {
			text += " ON CONFLICT DO NOTHING"
		}
		return text, s.args
	}
	text := make([]byte, 0, len(head)+7+42*len(old))
	text = append(append(text, head...), "VALUES "...)
	for i := range old {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(text, '(')
		text = strconv.AppendInt(text, old[i], 10)
		text = append(text, ',')
		text = strconv.AppendInt(text, new[i], 10)
		text = append(text, ')')
	}
	return string(text), nil
}

// before is the cursor before all rows but one with the least number of all, which no table has.
const before = math.MinInt64
