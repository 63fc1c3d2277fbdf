package plan

import (
	"fmt"
	"strings"

	"github.com/snowkey-go/snowkey/idgen"
)

// minting is what makes ids in PostgreSQL, for the rows of one key that old writers add: before the swap, in the trigger, the map's entry,
// and after the swap, as the default, the id.
type minting struct {
	function string // as statements have it, without arguments
	sequence string
	defining []string
	dropping []string
}

// mint returns how ids of a table's key are made. An id's time is that given, its node the plan's, and its sequence number that of a
// sequence of the database. Two ids are the same only when the sequence comes round within a tick, or the clock goes back: then the
// map's or the key's uniqueness refuses the second one, and the trigger takes another.
func (b *shadowBuilder) mint(t *moving) minting {
	layout := b.options.Layout
	node := b.plan.Node & layout.Max(idgen.Node) << layout.Shift(idgen.Node)
	node |= b.plan.Node >> layout.Bits(idgen.Node) & layout.Max(idgen.Datacenter) << layout.Shift(idgen.Datacenter)
	m := minting{function: b.beside(t, t.made("mint")), sequence: b.beside(t, t.made("seq"))}
	m.defining = []string{
		"CREATE SEQUENCE " + m.sequence,
		fmt.Sprintf(`CREATE FUNCTION %s(at timestamptz, spread bigint) RETURNS bigint LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $snowkey$
	SELECT ((((extract(epoch FROM at) * 1000000)::bigint - (%d)) * 1000 / %d + (s.n >> %d) %% spread) << %d) | ((s.n & %d) << %d) | %d
	FROM (SELECT nextval(%s) AS n) s
$snowkey$`, m.function, layout.Epoch().UnixMicro(), layout.Unit().Nanoseconds(), layout.Bits(idgen.Sequence), layout.Shift(idgen.Time),
			layout.Max(idgen.Sequence), layout.Shift(idgen.Sequence), node, b.literal(m.sequence)+"::regclass"),
	}
	m.dropping = []string{fmt.Sprintf("DROP FUNCTION IF EXISTS %s(timestamptz, bigint)", m.function), "DROP SEQUENCE IF EXISTS " + m.sequence}
	return m
}

// beside returns a name in a table's schema as statements have it.
func (b *shadowBuilder) beside(t *moving, name string) string {
	full := t.of.Full
	full.Name = name
	return b.catalog.Quoted(full)
}

// now is what default ids are made of.
func (m minting) now() string { return m.function + "(clock_timestamp(), 1)" }

// keeping returns the body of the function that keeps a table's second columns. When it is settled all rows that were there have theirs, and
// a transaction that still sees the map as it was before is told to try again.
func (b *shadowBuilder) keeping(t *moving, settled bool) string {
	var body strings.Builder
	body.WriteString("DECLARE v bigint; skip bigint := 1;\nBEGIN\n")
	for _, m := range t.columns {
		if m.own {
			b.keepKey(&body, t, m)
			continue
		}
		b.keepReference(&body, m, settled)
	}
	body.WriteString("\tRETURN NEW;\nEND\n")
	return body.String()
}

// keepKey writes how a row gets the second column of its key. Where many old rows have the new row's time, the ids that come next are theirs: each
// id in vain skips twice as many as the one before. The skip has a limit, so that it comes to all ids of a time where few are left.
func (b *shadowBuilder) keepKey(body *strings.Builder, t *moving, m *moved) {
	first, second, ids := "NEW."+b.quote(m.column.Name), "NEW."+b.quote(m.second), b.mapped(m.key)
	mint, spread := b.minted(t, m)
	sequence, limit := b.literal(b.mint(t).sequence)+"::regclass", spread<<b.options.Layout.Bits(idgen.Sequence)>>3|1
	fmt.Fprintf(body, `	IF TG_OP = 'UPDATE' AND %s IS DISTINCT FROM OLD.%s THEN
		RAISE EXCEPTION 'snowkey: the key of a row cannot be changed while its table is migrated' USING ERRCODE = 'object_not_in_prerequisite_state';
	ELSIF TG_OP = 'INSERT' THEN
		IF %s >= %d THEN
			%s := %s;
		ELSE
			SELECT m.new_id INTO v FROM %s m WHERE m.old_id = %s;
			IF v IS NULL AND NOT EXISTS (SELECT FROM %s r WHERE r.%s = %s) THEN
				LOOP
					INSERT INTO %s AS m (old_id, new_id) VALUES (%s, %s) ON CONFLICT DO NOTHING RETURNING m.new_id INTO v;
					EXIT WHEN v IS NOT NULL;
					SELECT m.new_id INTO v FROM %s m WHERE m.old_id = %s;
					EXIT WHEN v IS NOT NULL;
					PERFORM setval(%s, nextval(%s) + skip);
					skip := least(2 * skip + 1, %d);
				END LOOP;
			END IF;
			%s := v;
		END IF;
	END IF;
`, first, b.quote(m.column.Name), first, m.key.Below, second, first, ids, first, b.whole(t), b.quote(m.column.Name), first,
		ids, first, mint, ids, first, sequence, sequence, limit, second)
}

// parentColumn returns the column that a key's Through refers to.
func (b *shadowBuilder) parentColumn(k *Key) string {
	for _, r := range b.plan.References {
		if r.Table == k.Table && r.Column == k.Through && r.To == k.Parent && r.ToColumn != "" {
			return r.ToColumn
		}
	}
	for _, other := range b.plan.Keys {
		if other.Table == k.Parent {
			return other.Column
		}
	}
	return ""
}

// minted returns the expression for the new id of a row that is being added: with its time, or that of the row that it belongs to, where that
// is the layout's and not to come. The ids of one time are spread over so many ticks.
func (b *shadowBuilder) minted(t *moving, m *moved) (expression string, spread int64) {
	at, spread := "clock_timestamp()", int64(1)
	layout := b.options.Layout
	if k := m.key; k.Created != "" {
		column := b.quote(k.Created)
		at = "NEW." + column
		if k.Through != "" {
			at = "q." + column
		}
		if k.Zone != "" {
			at = fmt.Sprintf("(%s AT TIME ZONE %s)", at, b.literal(k.Zone))
		}
		spread = max(1, int64(k.Unit/layout.Unit()))
		// Not before ids are above the old ones, and infinity is neither.
		at = fmt.Sprintf("CASE WHEN %s > to_timestamp(%d) AND %s <= clock_timestamp() THEN %s ELSE clock_timestamp() END", at, b.firstSecond(m.key.Below), at, at)
		if k.Through != "" { // a row whose parent is not there yet, where the reference is checked at the end, has no other time
			at = fmt.Sprintf("COALESCE((SELECT %s FROM %s q WHERE q.%s = NEW.%s), clock_timestamp())", at, b.catalog.Quoted(b.tables[k.Parent].Full), b.quote(b.parentColumn(k)), b.quote(k.Through))
		}
	} else if k.Instant != nil {
		at, spread = fmt.Sprintf("timestamptz %s", b.literal(k.Instant.UTC().Format("2006-01-02 15:04:05.999999Z07:00"))), 1<<20
	}
	return fmt.Sprintf("%s(%s, %d)", b.mint(t).function, at, spread), spread
}

// firstSecond returns the Unix time, in seconds, from which on ids are not below a number.
func (b *shadowBuilder) firstSecond(below int64) int64 {
	parts, err := b.options.Layout.Decode(below)
	if err != nil {
		return b.options.Layout.Epoch().Unix() + 1
	}
	return parts.Time.Unix() + 2
}

func (b *shadowBuilder) keepReference(body *strings.Builder, m *moved, settled bool) {
	first, second := "NEW."+b.quote(m.column.Name), "NEW."+b.quote(m.second)
	fmt.Fprintf(body, `	IF TG_OP = 'INSERT' OR %s IS DISTINCT FROM OLD.%s THEN
		%s := %s;
`, first, b.quote(m.column.Name), second, b.follows(m, first))
	if m.strict && settled {
		parent := b.tables[m.key.Table]
		fmt.Fprintf(body, `		IF %s IS NULL AND %s IS NOT NULL THEN
			IF EXISTS (SELECT FROM %s r WHERE r.%s = %s) THEN
				RAISE EXCEPTION 'snowkey: the transaction is older than the map of ids, begin it again' USING ERRCODE = 'serialization_failure';
			END IF;
			%s := %s; -- no row has it, and the foreign key refuses it
		END IF;
`, second, first, b.catalog.Quoted(parent.Full), b.quote(m.key.Column), first, second, first)
	}
	body.WriteString("\tEND IF;\n")
}

// keeper returns the statements that make the function and triggers of a table, and those that drop them. The triggers are the last of
// their table by name, so that they see what others have made of a row.
func (b *shadowBuilder) keeper(t *moving) (making, dropping []string) {
	function, table := b.beside(t, t.made("keep")), b.whole(t)
	insert, update := b.quote("zzz_"+t.made("i")), b.quote("zzz_"+t.made("u"))
	var changed []string
	for _, m := range t.columns {
		changed = append(changed, fmt.Sprintf("OLD.%s IS DISTINCT FROM NEW.%s", b.quote(m.column.Name), b.quote(m.column.Name)))
	}
	making = []string{
		b.function(t, "CREATE FUNCTION", false),
		fmt.Sprintf("CREATE TRIGGER %s BEFORE INSERT ON %s FOR EACH ROW EXECUTE FUNCTION %s()", insert, table, function),
		fmt.Sprintf("CREATE TRIGGER %s BEFORE UPDATE ON %s FOR EACH ROW WHEN (%s) EXECUTE FUNCTION %s()", update, table, strings.Join(changed, " OR "), function),
	}
	dropping = []string{
		fmt.Sprintf("DROP TRIGGER IF EXISTS %s ON %s", insert, table),
		fmt.Sprintf("DROP TRIGGER IF EXISTS %s ON %s", update, table),
		fmt.Sprintf("DROP FUNCTION IF EXISTS %s()", function),
	}
	return making, dropping
}

// function returns the statement that makes a table's function, which has the rights of who runs the plan: writers need none on maps.
func (b *shadowBuilder) function(t *moving, create string, settled bool) string {
	return fmt.Sprintf("%s %s() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $snowkey$\n%s$snowkey$",
		create, b.beside(t, t.made("keep")), b.keeping(t, settled))
}
