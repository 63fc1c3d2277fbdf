package reshard

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/snowkey-go/snowkey/internal/catalog"
	"github.com/snowkey-go/snowkey/internal/dialect"
)

// row is one that is read.
type row struct {
	id     int64
	values []any
}

// copy copies the rows of a step in the order of their ids, up to the greatest there was: later ones are noted.
func (m *mover) copy(ctx context.Context, step *Step, state *stepRow) error {
	source, s := m.at(step.Table, step.From)
	key := s.catalog.Quote(source.table.Key)
	if state.State != stateCopy {
		upto, err := s.number(ctx, fmt.Sprintf("SELECT MAX(%s) FROM %s", key, source.quoted))
		if err != nil {
			return err
		}
		state.State, state.Upto, state.Cursor, state.Rows = stateCopy, upto, -1, 0
		if err := m.journal.save(ctx); err != nil {
			return err
		}
	}
	condition, err := source.condition(s.dialect, m.plan.Next, "", step.moved())
	if err != nil {
		return err
	}
	for {
		rows, err := m.rows(ctx, source, s, fmt.Sprintf("%s > %d AND %[1]s <= %[3]d AND %[4]s", key, state.Cursor, state.Upto, condition), m.options.Batch)
		if err != nil || len(rows) == 0 {
			return err
		}
		ids := make([]int64, len(rows))
		for i, r := range rows {
			ids[i] = r.id
		}
		if err := m.put(ctx, step, ids, rows); err != nil {
			return err
		}
		state.Cursor, state.Rows = ids[len(ids)-1], state.Rows+int64(len(rows))
		if err := m.journal.save(ctx); err != nil {
			return err
		}
		m.tell(step, stateCopy, state.Rows, 0)
		if err := sleep(ctx, m.options.Throttle); err != nil {
			return err
		}
	}
}

// rows reads rows in the order of their ids.
func (m *mover) rows(ctx context.Context, p *place, s *session, where string, limit int) (found []row, err error) {
	key := s.catalog.Quote(p.table.Key)
	query := fmt.Sprintf("SELECT r.%s, %s FROM %s AS r WHERE %s ORDER BY r.%[1]s LIMIT %[5]d", key, expressions(s.catalog, p.columns), p.quoted, where, limit)
	err = s.each(ctx, query, func(scan func(...any) error) error {
		r := row{values: make([]any, len(p.columns))}
		into := []any{&r.id}
		for i := range r.values {
			into = append(into, &r.values[i])
		}
		if err := scan(into...); err != nil {
			return err
		}
		for i, v := range r.values {
			if r.values[i], err = canonical(s.dialect, p.columns[i], v); err != nil {
				return err
			}
		}
		found = append(found, r)
		return nil
	})
	return found, err
}

// put makes the rows of some ids, which are in their order, at the targets of a step what they are at the source: those of rows, and no others.
func (m *mover) put(ctx context.Context, step *Step, ids []int64, rows []row) error {
	byTarget, err := m.byTarget(step, ids)
	if err != nil {
		return err
	}
	for shard, list := range byTarget { // which are in their order too
		theirs := slices.DeleteFunc(slices.Clone(rows), func(r row) bool {
			_, found := slices.BinarySearch(list, r.id)
			return !found
		})
		if err := m.putInto(ctx, step, shard, list, theirs); err != nil {
			return err
		}
	}
	return nil
}

// byTarget returns ids by the shards that they go to.
func (m *mover) byTarget(step *Step, ids []int64) (map[string][]int64, error) {
	byTarget := map[string][]int64{}
	for _, id := range ids {
		bucket, legacy, err := m.plan.Next.Bucket(id)
		if err != nil || legacy {
			return nil, fmt.Errorf("%w: the row %d of %s in the shard %s: no id of the map: %w", ErrPlan, id, step.Table, step.From, err)
		}
		at, err := m.plan.Next.OfBucket(bucket)
		if err != nil {
			return nil, err
		}
		shard := m.plan.Next.Shard(at).Name
		if !slices.Contains(step.To[shard], bucket) {
			return nil, fmt.Errorf("%w: the row %d of %s is of bucket %d, which does not leave the shard %s", ErrPlan, id, step.Table, bucket, step.From)
		}
		byTarget[shard] = append(byTarget[shard], id)
	}
	return byTarget, nil
}

// putInto does so at one target, in one transaction.
func (m *mover) putInto(ctx context.Context, step *Step, shard string, ids []int64, rows []row) error {
	source, _ := m.at(step.Table, step.From)
	target, s := m.at(step.Table, shard)
	return m.write(ctx, target, s, m.closed(step.Table, shard), func() error {
		if err := s.execute(ctx, fmt.Sprintf("DELETE FROM %s WHERE %s IN (%s)", target.quoted, s.catalog.Quote(target.table.Key), numbers(ids))); err != nil {
			return err
		}
		columns := make([]string, len(source.columns))
		for i, c := range source.columns {
			columns[i] = c.Name
		}
		for chunk := range slices.Chunk(rows, max(1, 20000/len(columns))) {
			if err := m.makeRoom(ctx, step, shard, chunk); err != nil {
				return err
			}
			if err := insert(ctx, s, target.quoted, columns, chunk); err != nil {
				return err
			}
		}
		return nil
	})
}

// insert adds rows.
func insert(ctx context.Context, s *session, table string, columns []string, rows []row) error {
	var b strings.Builder
	verb := "INSERT"
	if s.dialect == dialect.SQLite {
		verb = "INSERT OR ABORT" // whatever a constraint's ON CONFLICT says: REPLACE would delete rows that stay
	}
	fmt.Fprintf(&b, "%s INTO %s (%s)", verb, table, s.quote(columns...))
	if s.dialect == dialect.Postgres {
		b.WriteString(" OVERRIDING SYSTEM VALUE") // of GENERATED ALWAYS; of others it changes nothing
	}
	b.WriteString(" VALUES ")
	var args []any
	for i, r := range rows {
		if i > 0 {
			b.WriteString(", ")
		}
		bind(&b, s.dialect, &args, r.values)
	}
	_, err := s.conn.ExecContext(ctx, b.String(), args...)
	return s.failed(err, "copying rows into "+table)
}

// bind appends parameters in parentheses.
func bind(b *strings.Builder, d dialect.Dialect, args *[]any, values []any) {
	for i, v := range values {
		b.WriteString(map[bool]string{true: "(", false: ", "}[i == 0])
		*args = append(*args, v)
		if d == dialect.Postgres {
			b.WriteString("$" + strconv.Itoa(len(*args)))
			continue
		}
		b.WriteByte('?')
	}
	b.WriteByte(')')
}

// makeRoom deletes rows of the target that have a value of a unique index that one of the rows has now. They are old: at the source, where the index is as
// well, they have it no longer, so they are noted and come again. Rows that are the target's own stay, and the INSERT fails. A row in the way that is not
// noted would be lost: an index whose collation is another than its column's has two values for different that the column has for the same.
func (m *mover) makeRoom(ctx context.Context, step *Step, shard string, rows []row) error {
	source, _ := m.at(step.Table, step.From)
	target, s := m.at(step.Table, shard)
	condition, err := target.condition(s.dialect, m.plan.Next, "", step.To[shard])
	if err != nil {
		return err
	}
	key := s.catalog.Quote(target.table.Key)
	for _, index := range target.there.Indexes {
		places := source.columnPlaces(index.Columns)
		if !index.Unique || index.Primary || index.Where != "" || places == nil || len(index.Columns) == 1 && index.Columns[0] == target.table.Key {
			continue
		}
		where, args := having(s, index.Columns, places, rows)
		if len(args) == 0 {
			continue
		}
		var ids []int64
		err := s.each(ctx, fmt.Sprintf("SELECT %s FROM %s WHERE %s AND (%s)", key, target.quoted, condition, where), func(scan func(...any) error) error {
			var id int64
			err := scan(&id)
			ids = append(ids, id)
			return err
		}, args...)
		if err != nil {
			return err
		}
		if len(ids) == 0 {
			continue
		}
		noted, err := m.noted(ctx, step, ids)
		if err != nil {
			return err
		}
		for _, id := range ids {
			if !noted[id] {
				return fmt.Errorf("%w: row %d of %s has a value of the unique index %q that another row comes with, and was not written: abort the plan, and make a new one", ErrMismatch, id, target, index.Name)
			}
		}
		if err := s.execute(ctx, fmt.Sprintf("DELETE FROM %s WHERE %s IN (%s)", target.quoted, key, numbers(ids))); err != nil {
			return err
		}
	}
	return nil
}

// having returns the condition that a row has the values of one of some rows in columns, which are at places of these, and its arguments: none when all of
// them have a NULL, for these are never the same.
func having(s *session, columns []string, places []int, rows []row) (string, []any) {
	var b strings.Builder
	var args []any
	for _, r := range rows {
		values := make([]any, len(places))
		for i, p := range places {
			values[i] = r.values[p]
		}
		if slices.Contains(values, nil) {
			continue
		}
		if len(args) > 0 {
			b.WriteString(" OR ")
		}
		for i, v := range values {
			if i > 0 {
				b.WriteString(" AND ")
			}
			args = append(args, v)
			mark := "?"
			if s.dialect == dialect.Postgres {
				mark = "$" + strconv.Itoa(len(args))
			}
			fmt.Fprintf(&b, "%s = %s", s.catalog.Quote(columns[i]), mark)
		}
	}
	return b.String(), args
}

// columnPlaces returns where columns are, nil when one is not there.
func (p *place) columnPlaces(names []string) []int {
	var places []int
	for _, name := range names {
		i := slices.IndexFunc(p.columns, func(c *catalog.Column) bool { return c.Name == name })
		if i < 0 {
			return nil
		}
		places = append(places, i)
	}
	return places
}

// numbers returns numbers as SQL has them.
func numbers(ids []int64) string {
	texts := make([]string, len(ids))
	for i, id := range ids {
		texts[i] = strconv.FormatInt(id, 10)
	}
	return strings.Join(texts, ", ")
}
