package catalog

import (
	"context"
)

// postgresRules are the actions of foreign keys, as pg_constraint has them.
var postgresRules = map[string]string{"a": "NO ACTION", "r": "RESTRICT", "c": "CASCADE", "n": "SET NULL", "d": "SET DEFAULT"}

func (s postgresSource) references(ctx context.Context, tables []*Table) (found []*Reference, err error) {
	if len(tables) == 0 {
		return nil, nil
	}
	var read Reference
	var oid int64
	var column, to string
	last := int64(-1)
	// A foreign key may be of a partition, or point to one, whose columns have the names of the partitioned table's.
	err = s.eachIn(ctx, tables, "WITH "+postgresTree+`
			SELECT 0, f.oid::bigint, f.conname, cn.nspname, cc.relname, ca.attname, pn.nspname, pc.relname, pa.attname, coalesce(on_.schema, ''), coalesce(on_.name, ''),
				f.confdeltype::text, f.confupdtype::text, f.condeferrable, f.condeferred, f.convalidated, pg_catalog.pg_get_constraintdef(f.oid)
			FROM pg_catalog.pg_constraint f JOIN LATERAL unnest(f.conkey, f.confkey) WITH ORDINALITY AS k(child, parent, n) ON true
			JOIN pg_catalog.pg_class cc ON cc.oid = coalesce(pg_catalog.pg_partition_root(f.conrelid), f.conrelid)
			JOIN pg_catalog.pg_namespace cn ON cn.oid = cc.relnamespace
			LEFT JOIN LATERAL (SELECT n.nspname AS schema, p.relname AS name FROM pg_catalog.pg_class p JOIN pg_catalog.pg_namespace n ON n.oid = p.relnamespace
				WHERE p.oid = f.conrelid AND p.relispartition) on_ ON true
			JOIN pg_catalog.pg_attribute ca ON ca.attrelid = f.conrelid AND ca.attnum = k.child
			JOIN pg_catalog.pg_class pc ON pc.oid = coalesce(pg_catalog.pg_partition_root(f.confrelid), f.confrelid)
			JOIN pg_catalog.pg_namespace pn ON pn.oid = pc.relnamespace
			JOIN pg_catalog.pg_attribute pa ON pa.attrelid = f.confrelid AND pa.attnum = k.parent
			WHERE f.contype = 'f' AND f.conparentid = 0 AND (f.conrelid IN (SELECT oid FROM tree) OR f.confrelid IN (SELECT oid FROM tree))
			ORDER BY 4, 5, 10, 11, 3, 2, k.n`, nil,
		[]any{&oid, &read.Name, &read.Child.Schema, &read.Child.Name, &column, &read.Parent.Schema, &read.Parent.Name, &to, &read.Partition.Schema, &read.Partition.Name,
			&read.OnDelete, &read.OnUpdate, &read.Deferrable, &read.Deferred, &read.Valid, &read.Definition}, func(*Table) error {
			if r := read; oid != last {
				r.OnDelete, r.OnUpdate = postgresRules[r.OnDelete], postgresRules[r.OnUpdate]
				found = append(found, &r)
				last = oid
			}
			r := found[len(found)-1]
			r.Columns, r.To = append(r.Columns, column), append(r.To, to)
			return nil
		})
	if err != nil {
		return nil, err
	}
	sortReferences(found)
	return found, nil
}
