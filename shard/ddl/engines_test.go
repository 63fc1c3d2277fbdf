package ddl_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/snowkey-go/snowkey/gormplugin"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/grant"
	"github.com/snowkey-go/snowkey/migrate/check"
	"github.com/snowkey-go/snowkey/shard"
	"github.com/snowkey-go/snowkey/shard/ddl"
	"github.com/snowkey-go/snowkey/sqltype"
	"github.com/snowkey-go/snowkey/ticket"
)

type Order struct {
	ID     sqltype.ID `gorm:"snowkey:shard=UserID"`
	UserID int64
	Note   string
	Amount int64
	Items  []Item
}

type Item struct {
	ID      sqltype.ID `gorm:"snowkey:shard=UserID"`
	OrderID sqltype.ID
	UserID  int64
	Name    string
}

const (
	orderColumns = "id BIGINT NOT NULL, user_id BIGINT NOT NULL, note VARCHAR(100) NOT NULL, amount BIGINT NOT NULL"
	itemColumns  = "id BIGINT NOT NULL, order_id BIGINT NOT NULL, user_id BIGINT NOT NULL, name VARCHAR(100) NOT NULL"

	users     = 40
	perUser   = 10
	oldShards = 4
	newShards = 8
)

// engines are the forms that the suite runs, each with the layouts that the form is for.
var engines = []struct {
	engine  ddl.Engine
	presets []idgen.Preset
	named   []idgen.Preset // see fixture.named
}{
	{ddl.MySQL, []idgen.Preset{idgen.Scattered, idgen.Sharded}, []idgen.Preset{idgen.Sharded}},
	{ddl.Spider, []idgen.Preset{idgen.Scattered, idgen.Sharded}, []idgen.Preset{idgen.Sharded}},
	{ddl.PostgresRange, []idgen.Preset{idgen.Scattered}, nil},
	{ddl.PostgresHash, []idgen.Preset{idgen.Sharded}, []idgen.Preset{idgen.Sharded}},
	{ddl.PostgresList, []idgen.Preset{idgen.Sharded}, nil},
	{ddl.PostgresFDW, []idgen.Preset{idgen.Scattered, idgen.Sharded}, []idgen.Preset{idgen.Sharded}},
}

// TestEngines has GORM write and read tables that the engines divide.
func TestEngines(t *testing.T) {
	for _, e := range engines {
		t.Run(string(e.engine), func(t *testing.T) {
			fresh := starts[e.engine](t)
			for _, preset := range e.presets {
				t.Run(preset.Name(), func(t *testing.T) {
					f := fresh(t)
					f.engine, f.preset, f.named = e.engine, preset, slices.Contains(e.named, preset)
					newSuite(t, f).run(t)
				})
			}
		})
	}
}

// suite is what an engine has to do, in the order of run.
type suite struct {
	*fixture
	orders, items ddl.Table
	plugin        *gormplugin.Plugin
	created       []Order
}

func newSuite(t *testing.T, f *fixture, keys ...gormplugin.Option) *suite {
	s := &suite{fixture: f, orders: f.table("orders", orderColumns, oldShards), items: f.table("items", itemColumns, oldShards)}
	for _, table := range []ddl.Table{s.orders, s.items} { // of the same head
		script, err := table.Create(f.engine)
		if err != nil {
			t.Fatal(err)
		}
		f.apply(t, script)
	}
	if len(keys) == 0 {
		keys = []gormplugin.Option{gormplugin.Grants(grant.Config{Generator: []idgen.Option{f.preset, idgen.WithShards()}})}
	}
	s.plugin = gormplugin.New(keys...)
	if err := f.db.Use(s.plugin); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.plugin.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func (s *suite) run(t *testing.T) {
	for _, scenario := range []struct {
		name string
		run  func(*testing.T)
	}{
		{"create", s.create},
		{"find by id", s.findByID},
		{"find by sharding key", s.findByShardingKey},
		{"time range", s.timeRange},
		{"upsert", s.upsert},
		{"association", s.association},
		{"transaction", s.transaction},
		{"aggregate", s.aggregate},
		{"beside", s.beside},
		{"grow", s.grow},
		{"find by id after growth", s.findByID},
		{"find by sharding key after growth", s.findByShardingKey},
		{"association after growth", s.association},
		{"beside after growth", s.beside},
		{"a user who is too large", s.tooLarge},
		{"find by sharding key after that", s.findByShardingKey},
	} {
		if !t.Run(scenario.name, scenario.run) {
			return // what follows needs its rows
		}
	}
}

func (s *suite) bucket(t testing.TB, user int64) int64 { return bucketOf(t, s.preset.Layout, user) }

// of returns a statement for the rows of a user in a table, as doc.go says that the engine prunes it.
func (s *suite) of(t testing.TB, db *gorm.DB, table ddl.Table, user int64) *gorm.DB {
	t.Helper()
	if s.named {
		db = db.Table(from(t, table, s.engine, s.bucket(t, user)))
	}
	return db.Scopes(gormplugin.OfShardingKey(user))
}

// requireReads fails unless a statement reads one partition of each table, that of the bucket.
func (s *suite) requireReads(t *testing.T, bucket int64, query string, tables ...ddl.Table) {
	t.Helper()
	if s.blind {
		return
	}
	var want []string
	for _, table := range tables {
		want = append(want, place(t, table, s.engine, bucket))
	}
	slices.Sort(want)
	if got := s.reads(t, query); !slices.Equal(got, want) {
		t.Errorf("%s: reads %v, want %v", query, got, want)
	}
}

func (s *suite) create(t *testing.T) {
	for user := range int64(users) {
		for range perUser {
			s.created = append(s.created, Order{UserID: user + 1, Note: fmt.Sprintf("of %d", user+1), Amount: user})
		}
	}
	if err := s.db.CreateInBatches(&s.created, 90).Error; err != nil { // batches have rows of several users
		t.Fatal(err)
	}
	for _, o := range s.created {
		if got, want := bucketIn(t, s.preset.Layout, int64(o.ID)), s.bucket(t, o.UserID); got != want {
			t.Errorf("the order %d of user %d has bucket %d, want %d", o.ID, o.UserID, got, want)
		}
	}
	s.requirePlaces(t, s.orders)
	bad := s.created[0]
	bad.ID ^= 1 << 60 // with the bucket on top, another one
	if s.preset == idgen.Sharded {
		bad.ID = s.created[0].ID ^ 1
	}
	if err := s.db.Create(&bad).Error; err == nil || !strings.Contains(err.Error(), "disagree") {
		t.Errorf("an id of another bucket: got the error %v, want shard.ErrDisagree", err)
	}
}

// requirePlaces fails unless each partition has the rows of its buckets, and all partitions together have as many as the table.
func (s *suite) requirePlaces(t *testing.T, table ddl.Table) {
	t.Helper()
	if s.blind {
		return
	}
	total, seen := 0, map[string]bool{}
	for bucket := range s.preset.Max(idgen.Shard) + 1 {
		partition := from(t, table, s.engine, bucket)
		if seen[partition] {
			continue
		}
		seen[partition] = true
		for _, text := range rows(t, s.pool, "SELECT id FROM "+partition) {
			total++
			id, err := strconv.ParseInt(text, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			if want := from(t, table, s.engine, bucketIn(t, s.preset.Layout, id)); want != partition {
				t.Errorf("the row %d is in %s, want %s", id, partition, want)
			}
		}
	}
	// With the bucket on top, the buckets of a shard are before one that is alone and after it.
	want := table.Shards + len(table.Alone)
	if s.preset == idgen.Scattered {
		want += len(table.Alone)
	}
	if len(seen) != want {
		t.Errorf("%s has %d partitions, want %d", table.Name, len(seen), want)
	}
	if got := rows(t, s.pool, "SELECT COUNT(*) FROM "+table.Name)[0]; got != fmt.Sprint(total) || total == 0 {
		t.Errorf("%s has %s rows, and its partitions have %d", table.Name, got, total)
	}
}

func (s *suite) findByID(t *testing.T) {
	for _, i := range []int{0, len(s.created) / 2, len(s.created) - 1} {
		want := s.created[i]
		bucket := s.bucket(t, want.UserID)
		find := func(db *gorm.DB) *gorm.DB {
			if s.engine == ddl.PostgresList {
				condition, err := shard.Condition(s.preset.Layout, "id", bucketIn(t, s.preset.Layout, int64(want.ID)))
				if err != nil {
					t.Fatal(err)
				}
				db = db.Where(condition)
			}
			return db
		}
		var got Order
		if err := find(s.db).First(&got, want.ID).Error; err != nil || got.UserID != want.UserID || got.Note != want.Note {
			t.Errorf("got %+v and the error %v, want %+v", got, err, want)
		}
		s.requireReads(t, bucket, s.db.ToSQL(func(db *gorm.DB) *gorm.DB { return find(db).First(new(Order), want.ID) }), s.orders)
		s.requireReads(t, bucket, s.db.ToSQL(func(db *gorm.DB) *gorm.DB {
			return find(db).Find(new([]Order), []sqltype.ID{want.ID, s.created[i/perUser*perUser].ID})
		}), s.orders)
	}
}

func (s *suite) findByShardingKey(t *testing.T) {
	for _, user := range []int64{1, 7, users} {
		var got []Order
		if err := s.of(t, s.db, s.orders, user).Find(&got).Error; err != nil || len(got) != perUser {
			t.Errorf("got %d orders of %d and the error %v, want %d", len(got), user, err, perUser)
		}
		for _, o := range got {
			if o.UserID != user {
				t.Errorf("got %+v among those of %d", o, user)
			}
		}
		s.requireReads(t, s.bucket(t, user), s.db.ToSQL(func(db *gorm.DB) *gorm.DB { return s.of(t, db, s.orders, user).Find(new([]Order)) }), s.orders)
		if s.named {
			// A condition alone finds the rows too.
			scope := gormplugin.OfShardingKey(user)
			var count int64
			if err := s.db.Model(&Order{}).Scopes(scope).Count(&count).Error; err != nil || count != perUser {
				t.Errorf("counted %d and got the error %v, want %d", count, err, perUser)
			}
			if got := s.reads(t, s.db.ToSQL(func(db *gorm.DB) *gorm.DB { return db.Scopes(scope).Find(new([]Order)) })); len(got) != s.orders.Shards+len(s.orders.Alone) {
				t.Errorf("the condition alone reads %v; when it prunes, doc.go should say so", got)
			}
		}
	}
}

func (s *suite) timeRange(t *testing.T) {
	const user = 1001
	day := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	var old []Order
	for i := range 5 {
		id, err := s.preset.Compose(idgen.Parts{Time: day.AddDate(0, 0, i), Shard: s.bucket(t, user)})
		if err != nil {
			t.Fatal(err)
		}
		old = append(old, Order{ID: sqltype.ID(id), UserID: user, Note: "old"})
	}
	if err := s.db.Create(&old).Error; err != nil {
		t.Fatal(err)
	}
	s.created = append(s.created, old...)
	between := func(db *gorm.DB) *gorm.DB {
		if s.named {
			db = db.Table(from(t, s.orders, s.engine, s.bucket(t, user)))
		}
		return db.Scopes(gormplugin.OfShardingKeyBetween(int64(user), day.AddDate(0, 0, 1), day.AddDate(0, 0, 3))).Order("id")
	}
	var got []Order
	if err := between(s.db).Find(&got).Error; err != nil || len(got) != 2 || got[0].ID != old[1].ID || got[1].ID != old[2].ID {
		t.Errorf("got %v and the error %v, want the orders of two days", got, err)
	}
	s.requireReads(t, s.bucket(t, user), s.db.ToSQL(func(db *gorm.DB) *gorm.DB { return between(db).Find(new([]Order)) }), s.orders)
	if s.preset == idgen.Scattered {
		return // a time of all users is no range
	}
	var count int64
	if err := s.db.Model(&Order{}).Scopes(gormplugin.CreatedBetween(day, day.AddDate(0, 0, 3))).Count(&count).Error; err != nil || count != 3 {
		t.Errorf("counted %d of all users and got the error %v, want 3", count, err)
	}
}

func (s *suite) upsert(t *testing.T) {
	o := s.created[0]
	db := s.db
	switch s.engine {
	case ddl.PostgresList: // which has primary keys in its partitions alone
		db = db.Table(strings.Fields(from(t, s.orders, s.engine, s.bucket(t, o.UserID)))[0])
	case ddl.PostgresFDW:
		o.Note = "refused"
		if err := db.Clauses(clause.OnConflict{UpdateAll: true}).Create(&o).Error; err == nil || !strings.Contains(err.Error(), "ON CONFLICT") {
			t.Errorf("ON CONFLICT got the error %v; when it works, doc.go should say so", err)
		}
		o.Note = "twice"
		if err := db.Save(&o).Error; err != nil { // an UPDATE, for the row is there
			t.Fatal(err)
		}
	case ddl.Citus: // refuses an UPDATE that sets the sharding key
		if err := db.Model(&o).Where("user_id = ?", o.UserID).Update("note", "saved").Error; err != nil {
			t.Fatal(err)
		}
	default:
		o.Note = "saved"
		if err := db.Save(&o).Error; err != nil {
			t.Fatal(err)
		}
	}
	if s.engine != ddl.PostgresFDW {
		o.Note = "twice"
		fresh := Order{UserID: o.UserID, Note: "new", Amount: o.Amount}
		both, met := []Order{o, fresh}, []clause.Column{{Name: "id"}}
		if s.engine == ddl.Citus {
			met = append(met, clause.Column{Name: "user_id"}) // as in its primary key
		}
		if err := db.Clauses(clause.OnConflict{Columns: met, DoUpdates: clause.AssignmentColumns([]string{"note"})}).Create(&both).Error; err != nil {
			t.Fatal(err)
		}
		if both[1].ID == 0 || both[0].ID != o.ID {
			t.Errorf("got the ids %d and %d, want %d and a new one", both[0].ID, both[1].ID, o.ID)
		}
		if err := s.db.Delete(&both[1]).Error; err != nil {
			t.Fatal(err)
		}
	}
	s.created[0].Note = "twice"
	var notes []string
	if err := s.db.Model(&Order{}).Where("id = ?", o.ID).Pluck("note", &notes).Error; err != nil || !slices.Equal(notes, []string{"twice"}) {
		t.Errorf("got the notes %v and the error %v, want one that was changed", notes, err)
	}
	if err := s.db.Create(&Order{ID: o.ID, UserID: o.UserID}).Error; err == nil {
		t.Error("the id was inserted twice")
	}
}

func (s *suite) association(t *testing.T) {
	const user = 23
	o := Order{UserID: user, Note: "with items", Items: []Item{{UserID: user, Name: "a"}, {UserID: user, Name: "b"}}}
	err := s.db.Create(&o).Error // has items with ON CONFLICT (id)
	switch s.engine {
	case ddl.PostgresList, ddl.PostgresFDW, ddl.Citus:
		if err == nil || !strings.Contains(err.Error(), "ON CONFLICT") {
			t.Errorf("the order with items got the error %v; when it works, doc.go should say so", err)
		}
		if err = s.db.Omit(clause.Associations).Create(&o).Error; err == nil {
			for i := range o.Items {
				o.Items[i].OrderID = o.ID
			}
			err = s.db.Create(&o.Items).Error
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	bucket := s.bucket(t, user)
	if got := bucketIn(t, s.preset.Layout, int64(o.Items[0].ID)); got != bucket || o.Items[0].OrderID != o.ID {
		t.Errorf("the item %+v is not in bucket %d with its order %d", o.Items[0], bucket, o.ID)
	}
	var again Order
	if err := s.of(t, s.db, s.orders, user).Preload("Items", func(db *gorm.DB) *gorm.DB { return s.of(t, db, s.items, user) }).Take(&again, "id = ?", o.ID).Error; err != nil || len(again.Items) != 2 {
		t.Errorf("got %+v and the error %v, want two items", again, err)
	}
	s.requireReads(t, bucket, s.db.ToSQL(func(db *gorm.DB) *gorm.DB {
		return s.of(t, db, s.items, user).Where("order_id IN ?", []sqltype.ID{o.ID}).Find(new([]Item))
	}), s.items)

	items := "items"
	if s.named {
		items = from(t, s.items, s.engine, bucket)
	}
	condition, err := shard.Condition(s.preset.Layout, "items.id", bucket)
	if err != nil {
		t.Fatal(err)
	}
	joined := func(db *gorm.DB) *gorm.DB {
		return s.of(t, db, s.orders, user).Joins("JOIN "+items+" ON items.order_id = orders.id AND items.user_id = orders.user_id AND "+condition).
			Where("orders.id = ?", o.ID)
	}
	var names []string
	if err := joined(s.db.Model(&Order{})).Order("items.name").Pluck("items.name", &names).Error; err != nil || !slices.Equal(names, []string{"a", "b"}) {
		t.Errorf("got the items %v and the error %v, want a and b", names, err)
	}
	s.requireReads(t, bucket, s.db.ToSQL(func(db *gorm.DB) *gorm.DB {
		return joined(db.Model(&Order{})).Pluck("items.name", new([]string))
	}), s.orders, s.items)
	// The same with a scope for each table.
	scoped := func(db *gorm.DB) *gorm.DB {
		return s.of(t, db.Model(&Order{}), s.orders, user).Joins("JOIN (?) AS items ON items.order_id = orders.id", s.of(t, s.db.Model(&Item{}), s.items, user)).
			Where("orders.id = ?", o.ID)
	}
	names = nil
	if err := scoped(s.db).Order("items.name").Pluck("items.name", &names).Error; err != nil || !slices.Equal(names, []string{"a", "b"}) {
		t.Errorf("got the items %v of a subquery and the error %v, want a and b", names, err)
	}
	s.requireReads(t, bucket, s.db.ToSQL(func(db *gorm.DB) *gorm.DB { return scoped(db).Pluck("items.name", new([]string)) }), s.orders, s.items)
	if err := s.db.Where("order_id = ?", o.ID).Delete(&Item{}).Error; err != nil {
		t.Fatal(err)
	}
	if err := s.db.Delete(&o).Error; err != nil {
		t.Fatal(err)
	}
	// Some rows for the growth.
	kept := make([]Item, users)
	for i := range kept {
		kept[i] = Item{OrderID: s.created[i*perUser].ID, UserID: s.created[i*perUser].UserID, Name: "kept"}
	}
	if err := s.db.Create(&kept).Error; err != nil {
		t.Fatal(err)
	}
}

func (s *suite) transaction(t *testing.T) {
	broken := fmt.Errorf("broken")
	for _, end := range []error{broken, nil} {
		orders := []Order{{UserID: 5, Note: "tx"}, {UserID: 6, Note: "tx"}, {UserID: 7, Note: "tx"}, {UserID: 8, Note: "tx"}}
		err := s.db.Transaction(func(tx *gorm.DB) error {
			if err := tx.Create(&orders).Error; err != nil {
				return err
			}
			if err := tx.Create(&Item{OrderID: orders[0].ID, UserID: 5, Name: "tx"}).Error; err != nil {
				return err
			}
			return end
		})
		if err != end {
			t.Fatalf("got the error %v, want %v", err, end)
		}
		var count, items int64
		if err := s.db.Model(&Order{}).Where("note = 'tx'").Count(&count).Error; err != nil {
			t.Fatal(err)
		}
		if err := s.db.Model(&Item{}).Where("name = 'tx'").Count(&items).Error; err != nil {
			t.Fatal(err)
		}
		if want := map[bool]int64{true: 5, false: 0}[end == nil]; count+items != want {
			t.Errorf("after %v there are %d rows, want %d", end, count+items, want)
		}
	}
	if err := s.db.Where("note = 'tx'").Delete(&Order{}).Error; err != nil {
		t.Fatal(err)
	}
}

func (s *suite) aggregate(t *testing.T) {
	type sum struct{ UserID, Orders, Amount int64 }
	var got []sum
	if err := s.db.Model(&Order{}).Select("user_id, COUNT(*) AS orders, SUM(amount) AS amount").Where("user_id <= ?", users).Group("user_id").Order("user_id").Scan(&got).Error; err != nil {
		t.Fatal(err)
	}
	if len(got) != users {
		t.Fatalf("got %d users, want %d", len(got), users)
	}
	for i, g := range got {
		if want := (sum{int64(i + 1), perUser, int64(i) * perUser}); g != want {
			t.Errorf("got %+v, want %+v", g, want)
		}
	}
}

// beside has grants' table, a sequence of tickets and the check of the models in the same database.
func (s *suite) beside(t *testing.T) {
	if s.blind {
		t.Skip("TestGivenGrants has the grants")
	}
	if got := s.plugin.Keeper().State().Table; got == "" {
		t.Error("the node number is not granted by a table")
	}
	dialect := ticket.MySQL
	if s.isPostgres() {
		dialect = ticket.Postgres
	}
	tickets, err := ticket.Replace(ticket.Config{Sequence: "beside"}, ticket.Server{DB: s.pool, Dialect: dialect})
	if err != nil {
		t.Fatal(err)
	}
	defer tickets.Close()
	if err := tickets.Setup(t.Context()); err != nil {
		t.Fatal(err)
	}
	first, err := tickets.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if second, err := tickets.Next(t.Context()); err != nil || second <= first {
		t.Errorf("after the ticket %d got %d and the error %v", first, second, err)
	}
	findings, err := check.Models(t.Context(), s.db, s.plugin, &Order{}, &Item{})
	if err != nil {
		t.Fatal(err)
	}
	var got, want []string
	for _, f := range findings {
		got = append(got, f.Table+" "+f.Kind.String())
	}
	if s.engine == ddl.PostgresList || s.engine == ddl.PostgresFDW { // whose partitions have the primary keys
		want = []string{"orders no-primary-key", "items no-primary-key"}
	}
	if !slices.Equal(got, want) {
		t.Errorf("the check found %v, want %v", got, want)
	}
}
