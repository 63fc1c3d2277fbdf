package catalog

import (
	"cmp"
	"context"
	"strings"

	"github.com/snowkey-go/snowkey/internal/dialect"
)

func (s mysqlSource) complete(ctx context.Context, tables []*Table) error {
	return inTurn(ctx, tables, s.readCreates, s.readTriggers, s.readUsers)
}

func (s mysqlSource) sizes(ctx context.Context, tables []*Table) error {
	var rows, bytes, next int64
	return s.EachOf(ctx, tables, `SELECT TABLE_NAME, COALESCE(TABLE_ROWS, -1), COALESCE(DATA_LENGTH + INDEX_LENGTH, -1), LEAST(COALESCE(AUTO_INCREMENT, 0), 9223372036854775807)
		FROM information_schema.TABLES WHERE TABLE_SCHEMA = ? AND TABLE_NAME IN (?)`, []any{&rows, &bytes, &next}, func(t *Table) error {
		t.Rows, t.Bytes, t.Next = rows, bytes, next
		return nil
	})
}

func (s mysqlSource) next(ctx context.Context, t *Table, key *Column) error {
	allowed, err := s.Texts(ctx, "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ? AND TABLE_TYPE = 'SEQUENCE'",
		key.Sequence.Schema, key.Sequence.Name)
	if err != nil || len(allowed) == 0 {
		return err
	}
	// A right to write the table is not one to read its sequence, and then the number stays unknown.
	err = s.Each(ctx, "SELECT next_not_cached_value FROM "+s.Quoted(key.Sequence), nil, []any{&t.Next}, nil)
	if ctx.Err() == nil && dialect.MySQL.Class(err) == dialect.Denied {
		return nil
	}
	return cmp.Or(ctx.Err(), err)
}

func (s mysqlSource) readTriggers(ctx context.Context, tables []*Table) error {
	made := map[*Table][]mysqlMaking{}
	var found Trigger
	var m mysqlMaking
	err := s.EachOf(ctx, tables, `SELECT EVENT_OBJECT_TABLE, TRIGGER_NAME, CONCAT(ACTION_TIMING, ' ', EVENT_MANIPULATION), SQL_MODE, CHARACTER_SET_CLIENT, COLLATION_CONNECTION, COALESCE(DEFINER, ''),
			CONCAT(VERSION(), @@version_comment) LIKE '%mariadb%', COALESCE(DEFINER = CURRENT_USER(), FALSE), EXISTS
				(SELECT 1 FROM information_schema.USER_PRIVILEGES WHERE REPLACE(GRANTEE, '''', '') = CURRENT_USER() AND (PRIVILEGE_TYPE = 'SET USER' OR PRIVILEGE_TYPE = 'SUPER' AND VERSION() LIKE '10.%'))
		FROM information_schema.TRIGGERS
		WHERE EVENT_OBJECT_SCHEMA = ? AND EVENT_OBJECT_TABLE IN (?) ORDER BY EVENT_OBJECT_TABLE, ACTION_TIMING, EVENT_MANIPULATION, ACTION_ORDER`,
		[]any{&found.Name, &found.Timing, &m.mode, &m.client, &m.collation, &m.definer, &m.mariadb, &m.own, &m.may}, func(t *Table) error {
			t.Triggers, made[t] = append(t.Triggers, found), append(made[t], m)
			return nil
		})
	if err != nil {
		return err
	}
	for _, t := range tables {
		for i := range t.Triggers {
			g, m := &t.Triggers[i], made[t][i]
			if m.definer == "" { // the user has no right to triggers
				continue
			}
			if g.Definition, err = s.show(ctx, "TRIGGER", Name{Schema: t.Full.Schema, Name: g.Name}); err != nil {
				return err
			}
			if !m.own {
				g.Definer = m.definer
				if g.Account, err = s.account(ctx, m.definer); err != nil {
					return err
				}
			}
			m.may = m.may || m.own
			g.Guard, g.Unguarded = s.guard(t, i, m)
		}
	}
	return nil
}

// account says what is known of a definer's account, see [Trigger]. The host of an account is a pattern, and one without a name is for everybody.
func (s mysqlSource) account(ctx context.Context, definer string) (string, error) {
	user, host := definer, "" // of a role
	if at := strings.LastIndexByte(definer, '@'); at >= 0 {
		user, host = definer[:at], definer[at+1:]
	}
	found, err := s.Texts(ctx, "SELECT User FROM mysql.user WHERE User IN (?, '') AND ? LIKE Host LIMIT 1", user, host)
	switch {
	case err != nil && dialect.MySQL.Class(err) == dialect.Denied:
		return "hidden", nil
	case err == nil && len(found) == 0:
		return "gone", nil
	}
	return "", err
}

// show returns the statement that makes something, empty where the user may not see it. It stands in the one column whose name begins so.
func (s mysqlSource) show(ctx context.Context, kind string, of Name) (definition string, err error) {
	rows, err := s.DB.QueryContext(ctx, "SHOW CREATE "+kind+" "+s.Quoted(of))
	if err != nil {
		return "", err
	}
	defer func() { _ = rows.Close() }() // Err says what fails
	columns, err := rows.Columns()
	if err != nil {
		return "", err
	}
	values := make([]any, len(columns))
	for i, column := range columns {
		values[i] = new(any)
		if strings.HasPrefix(column, "Create ") || column == "SQL Original Statement" {
			values[i] = new(*string)
		}
	}
	for rows.Next() {
		if err := rows.Scan(values...); err != nil {
			return "", err
		}
	}
	for _, value := range values {
		if found, ok := value.(**string); ok && *found != nil {
			definition = **found
		}
	}
	return definition, rows.Err()
}
