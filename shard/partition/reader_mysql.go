package partition

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/snowkey-go/snowkey/internal/dialect"
)

func comparePart(a, b Part) int { return cmp.Compare(a.ToID, b.ToID) }
func compareDetached(a, b Detached) int {
	return cmp.Or(cmp.Compare(a.ToID, b.ToID), strings.Compare(a.Name, b.Name))
}

func (r reader) mysql(ctx context.Context, s *Status) error {
	last := int64(math.MinInt64)
	at := dialect.Place{Schema: s.Schema, Table: s.Name}
	err := dialect.Each(ctx, r.conn, `SELECT COALESCE(PARTITION_NAME, ''), COALESCE(PARTITION_METHOD, ''), COALESCE(PARTITION_EXPRESSION, ''), COALESCE(PARTITION_DESCRIPTION, ''), COALESCE(SUBPARTITION_NAME, ''), COALESCE(TABLE_ROWS, -1)
		FROM information_schema.PARTITIONS WHERE `+dialect.InCatalog(at)+` ORDER BY PARTITION_ORDINAL_POSITION`, nil, func(rows *sql.Rows) error {
		var name, method, expression, bound, sub string
		var count int64
		if err := rows.Scan(&name, &method, &expression, &bound, &sub, &count); err != nil {
			return err
		}
		switch {
		case name == "":
			return fmt.Errorf("%w: %s is a table without partitions", ErrNotPartitioned, s.Table)
		case method != "RANGE" && method != "RANGE COLUMNS" || !strings.EqualFold(strings.Trim(expression, "`"), r.t.Key) || sub != "":
			return fmt.Errorf("%w: %s is divided by %s (%s), with subpartitions: %t; want RANGE (%s) and no subpartitions", ErrNotPartitioned, s.Table, method, expression, sub != "", r.t.Key)
		case bound == "MAXVALUE":
			s.Default = &Default{Schema: s.Schema, Name: name, Unplaced: []Unplaced{}}
			return nil
		}
		end, err := wordOf(bound)
		s.Parts = append(s.Parts, Part{Schema: s.Schema, Name: name, Range: r.t.between(last, end), Rows: count})
		last = end
		return err
	})
	if err != nil {
		return fmt.Errorf("reading the partitions of %s: %w", s.Table, err)
	}
	if err := r.mysqlDetached(ctx, s); err != nil {
		return fmt.Errorf("reading the tables that were partitions of %s: %w", s.Table, err)
	}
	if r.t.Keep > 0 && r.t.Old != Drop {
		for i := range s.Parts[:min(len(s.Parts), r.t.Most)] {
			found, err := r.one(ctx, "SELECT 1 FROM "+r.table(*s)+" PARTITION ("+r.d.QuoteAny(s.Parts[i].Name)+") LIMIT 1")
			if err != nil {
				return fmt.Errorf("reading the partition %s: %w", s.Parts[i].Name, err)
			}
			s.Parts[i].empty = !found.Valid
		}
	}
	if s.Default != nil {
		s.Default.Unplaced, err = r.unplaced(ctx, r.table(*s)+" PARTITION ("+r.d.QuoteAny(s.Default.Name)+")")
		if err != nil {
			return fmt.Errorf("reading the rows of the last partition: %w", err)
		}
	}
	return nil
}

// mysqlDetached reads the marked tables, and those that a run was making when it was killed: with partitions yet, of a partition's name, and no mark.
func (r reader) mysqlDetached(ctx context.Context, s *Status) error {
	err := dialect.Each(ctx, r.conn, "SELECT TABLE_NAME, TABLE_COMMENT, CREATE_OPTIONS LIKE '%partitioned%' FROM information_schema.TABLES WHERE TABLE_SCHEMA = "+dialect.Literal(s.Schema)+
		" AND TABLE_TYPE = 'BASE TABLE' AND LEFT(TABLE_NAME, "+fmt.Sprint(len(s.Name)+2)+") = "+dialect.Literal(s.Name+"_p"), nil, func(rows *sql.Rows) error {
		var name, comment string
		var divided bool
		if err := rows.Scan(&name, &comment, &divided); err != nil {
			return err
		}
		s.Taken = append(s.Taken, name)
		if m, ok := readMark(comment, s.Table); ok && !divided {
			s.Detached = append(s.Detached, r.t.detached(s.Table, s.Schema, name, m))
		} else if divided {
			for _, part := range s.Parts {
				if name == s.Name+"_"+part.Name {
					s.Detached = append(s.Detached, r.t.detached(s.Table, s.Schema, name, mark{FromID: part.FromID, ToID: part.ToID}))
				}
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for i, d := range s.Detached {
		found, err := r.one(ctx, "SELECT 1 FROM "+r.d.QuotePlace(dialect.Place{Schema: d.Schema, Table: d.Name})+" LIMIT 1")
		if err != nil {
			return err
		}
		s.Detached[i].empty = !found.Valid
	}
	s.Detached = slices.DeleteFunc(s.Detached, func(d Detached) bool { return d.Then == "" && !d.empty })
	slices.SortFunc(s.Detached, compareDetached)
	return nil
}
