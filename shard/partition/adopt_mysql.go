package partition

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"slices"

	"github.com/snowkey-go/snowkey/internal/dialect"
)

// noneName is a partition without rows. MariaDB takes a table as the last partition of a table with partitions, which has to have another one before.
const noneName = "pnone"

func (s *subject) twinName() string { return s.at.Table + "_adopting" }

// partitions returns the names of a table's partitions, none when it has none or is not there.
func (s *subject) partitions(ctx context.Context, table string) (names []string, last bool, err error) {
	err = dialect.Each(ctx, s.conn, "SELECT PARTITION_NAME, PARTITION_DESCRIPTION = 'MAXVALUE' FROM information_schema.PARTITIONS WHERE PARTITION_NAME IS NOT NULL AND "+
		dialect.InCatalog(dialect.Place{Schema: s.at.Schema, Table: table}), nil, func(rows *sql.Rows) error {
		var name string
		var open sql.NullBool
		err := rows.Scan(&name, &open)
		names, last = append(names, name), last || open.Bool
		return err
	})
	return names, last, err
}

// renameTwin is planned where the server was killed between the two halves of the statement that divides. It reports whether that is so.
func (s *subject) renameTwin(ctx context.Context) (bool, error) {
	if s.Table != nil {
		return false, nil
	}
	twin, _, err := s.partitions(ctx, s.twinName())
	if err != nil || !slices.Contains(twin, firstName) {
		return false, err
	}
	s.step("give the divided table its name", "nobody: statements fail until then, as no table has the name", "RENAME TABLE "+s.quoted(s.twinName())+" TO "+s.quoted(s.at.Table))
	return true, nil
}

func (s *subject) mysql(ctx context.Context) error {
	for _, trigger := range s.Triggers {
		s.obstacle("the trigger %s would be lost; drop it, and create it again afterwards", trigger.Name)
	}
	if s.Engine != "InnoDB" || s.Versioned {
		s.obstacle("its engine is %s, system versioning: %t; want InnoDB without", s.Engine, s.Versioned)
	}
	server, err := s.names.Server(ctx)
	if err != nil {
		return err
	}
	if s.k.version != "" {
		server.Version = s.k.version
	}
	var major, minor int
	table, bound := s.quoted(s.at.Table), fmt.Sprintf("PARTITION %s VALUES LESS THAN (%d)", firstName, s.a.Bound)
	converts := false
	if _, err := fmt.Sscanf(server.Version, "MariaDB %d.%d", &major, &minor); err == nil && (major > 10 || major == 10 && minor >= 7) {
		galera, err := s.names.Texts(ctx, "SELECT 1 FROM information_schema.GLOBAL_VARIABLES WHERE VARIABLE_NAME = 'WSREP_ON' AND VARIABLE_VALUE = 'ON'")
		if err != nil {
			return err
		}
		converts = len(galera) == 0 // LOCK TABLES holds one node of a cluster alone
	}
	if !converts {
		s.step("divide the table", "INSERT, UPDATE and DELETE, while the server copies all rows; SELECT does not",
			fmt.Sprintf("ALTER TABLE %s PARTITION BY RANGE (%s) (%s, PARTITION %s VALUES LESS THAN MAXVALUE)", table, s.k.d.Quote(s.k.t.Key), bound, lastName))
		s.note("the rows are copied, as %s, or a cluster, cannot make a table a partition while others wait; MariaDB alone can from 10.7 on", server.Version)
		return nil
	}
	if err := s.leftTwin(ctx); err != nil || len(s.a.Obstacles) > 0 {
		return err
	}
	none := int64(math.MinInt64)
	for _, c := range s.Columns {
		if c.Name == s.k.t.Key && c.Unsigned {
			none = 0
		}
	}
	twin := s.quoted(s.twinName())
	s.step("make the table the first partition of an empty one of its kind, and rename that", "all statements at the table, while the server reads all rows; it copies none",
		"CREATE TABLE IF NOT EXISTS "+twin+" LIKE "+table, // it is there at a second attempt
		fmt.Sprintf("ALTER TABLE %s PARTITION BY RANGE (%s) (PARTITION %s VALUES LESS THAN (%d))", twin, s.k.d.Quote(s.k.t.Key), noneName, none),
		"LOCK TABLES "+table+" WRITE, "+twin+" WRITE",
		fmt.Sprintf("SELECT 1 FROM %s WHERE %s >= %d LIMIT 1", table, s.k.d.Quote(s.k.t.Key), s.a.Bound),
		// One statement, which the server does to its end when the client is gone. Others wait for the name meanwhile, also while no table has it.
		fmt.Sprintf("BEGIN NOT ATOMIC ALTER TABLE %s CONVERT TABLE %s TO %s; ALTER TABLE %[1]s RENAME TO %[2]s; END", twin, table, bound),
		"UNLOCK TABLES",
	)
	return nil
}

// leftTwin plans the end of a twin that an earlier run has left, unless it has no partition yet and can be used. Rows in it would be of a run that was ended between
// the halves, where somebody else has made a new table of the name since then.
func (s *subject) leftTwin(ctx context.Context) error {
	r, twin := reader{conn: s.conn, d: s.k.d, t: s.k.t}, s.quoted(s.twinName())
	left, err := r.one(ctx, "SELECT 1 FROM information_schema.TABLES WHERE "+dialect.InCatalog(dialect.Place{Schema: s.at.Schema, Table: s.twinName()}))
	if err != nil || !left.Valid {
		return err
	}
	rows, err := r.one(ctx, "SELECT 1 FROM "+twin+" LIMIT 1")
	if err != nil {
		return err
	}
	if rows.Valid {
		s.obstacle("there are a table %s and a table %s with rows: either the latter is another one of yours, or a run was ended half way and the former was made anew since then; "+
			"in that case RENAME TABLE %s TO %s, %s TO %s, and add the rows of the former to the latter",
			s.at.Table, s.twinName(), s.quoted(s.at.Table), s.quoted(s.at.Table+"_anew"), twin, s.quoted(s.at.Table))
		return nil
	}
	parts, _, err := s.partitions(ctx, s.twinName())
	if err != nil || !slices.Contains(parts, noneName) {
		return err
	}
	s.step("drop the empty table that an earlier run has left", "nobody", "LOCK TABLES "+twin+" WRITE", "SELECT 1 FROM "+twin+" LIMIT 1", "DROP TABLE "+twin, "UNLOCK TABLES")
	return nil
}

// mysqlDivided plans what is left where the first partition is there.
func (s *subject) mysqlDivided(ctx context.Context) error {
	parts, last, err := s.partitions(ctx, s.at.Table)
	if err != nil || !slices.Contains(parts, firstName) {
		return err
	}
	table := s.quoted(s.at.Table)
	if !last {
		s.step("make the last partition, for ids after the bound", "all statements at the table, for milliseconds", "ALTER TABLE "+table+" ADD PARTITION (PARTITION "+lastName+" VALUES LESS THAN MAXVALUE)")
	}
	if slices.Contains(parts, noneName) {
		s.step("drop the partition without rows", "all statements at the table, for milliseconds",
			"LOCK TABLES "+table+" WRITE", "SELECT 1 FROM "+table+" PARTITION ("+noneName+") LIMIT 1", "ALTER TABLE "+table+" DROP PARTITION "+noneName, "UNLOCK TABLES")
	}
	return nil
}
