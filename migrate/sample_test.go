package migrate_test

import (
	"database/sql"
	"testing"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/snowkey-go/snowkey/gormplugin"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/grant"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/migrate"
	"github.com/snowkey-go/snowkey/migrate/check"
	"github.com/snowkey-go/snowkey/sqltype"
)

// sampleInspection knows the application's models, and what they do not say.
var sampleInspection = migrate.InspectOptions{
	Models:     oldModels(),
	References: []string{"audit_log.user_id=users.id", "events.data:$.user.id=users.id"},
}

func samplePlan(mode migrate.Mode) migrate.PlanOptions {
	o := migrate.PlanOptions{Mode: mode, Zone: "UTC"}
	if mode == migrate.Shadow {
		o.Tables = []string{"addresses", "categories", "payments", "tags"}
	}
	return o
}

// TestSample takes a whole schema through each mode, and then works with it through GORM and the plugin.
func TestSample(t *testing.T) {
	dbtest.Long(t)
	t.Parallel()
	for mode, names := range map[migrate.Mode][]string{
		migrate.Widen: nil, migrate.Rekey: nil, migrate.Shadow: {"postgres"}, // tables that no text, document or pair of owner and type refers to
	} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			forEach(t, func(t *testing.T, d *database) {
				d.sample(100)
				before := d.checksum()
				d.run(d.plan(sampleInspection, samplePlan(mode)))
				if after := d.checksum(); after != before {
					t.Errorf("the contents have changed: got %s, want %s", after, before)
				}
				if mode != migrate.Shadow { // which has not changed all keys
					d.use(mode)
				}
			}, names...)
		})
	}
}

// use works with the migrated shop, and sees that the tables are what the plugin wants.
func (d *database) use(mode migrate.Mode) {
	d.t.Helper()
	plugin := gormplugin.New(gormplugin.Grants(grant.Config{Generator: []idgen.Option{layout}}))
	db := d.gorm.Session(&gorm.Session{NewDB: true})
	if err := db.Use(plugin); err != nil {
		d.t.Fatal(err)
	}
	defer func() {
		if err := plugin.Close(); err != nil {
			d.t.Error(err)
		}
	}()
	var first User
	if err := db.Unscoped().Preload("Profile").Preload("Orders.Items.Product").Order("id").First(&first).Error; err != nil {
		d.t.Fatal(err)
	}
	if parts, err := layout.Decode(int64(first.ID)); mode != migrate.Widen && (err != nil || !parts.Time.Truncate(time.Second).Equal(first.CreatedAt.UTC())) {
		d.t.Errorf("the first user's id %d has the time %v (%v), want %v", first.ID, parts.Time, err, first.CreatedAt.UTC())
	}
	var product Product
	if err := db.Preload("Category.Parent").Preload("Categories").First(&product).Error; err != nil {
		d.t.Fatal(err)
	}
	made := User{
		Email: "new@example.com", Name: "new", Profile: &Profile{Bio: "none"},
		Orders: []Order{{Status: "open", Items: []OrderItem{{Line: 1, ProductID: product.ID, Quantity: 2}}}},
	}
	if err := db.Create(&made).Error; err != nil {
		d.t.Fatal(err)
	}
	var read User
	if err := db.Preload("Profile").Preload("Orders.Items").First(&read, made.ID).Error; err != nil {
		d.t.Fatal(err)
	}
	if read.Profile == nil || len(read.Orders) != 1 || len(read.Orders[0].Items) != 1 || read.Orders[0].Items[0].ProductID != product.ID {
		d.t.Errorf("got %+v, want all that was made", read)
	}
	// GORM makes no text of another type of integers in a foreign key, so those of comments are set.
	if err := db.Create(&Comment{OwnerID: made.ID.String(), OwnerType: "users", Body: "hello"}).Error; err != nil {
		d.t.Fatal(err)
	}
	child := Category{Name: "child", ParentID: sql.Null[sqltype.ID]{V: product.CategoryID.V, Valid: true}}
	if err := db.Create(&child).Error; err != nil {
		d.t.Fatal(err)
	}
	if err := db.Model(&product).Association("Categories").Append(&child); err != nil {
		d.t.Fatal(err)
	}
	findings, err := check.Models(d.t.Context(), db, plugin, models()...)
	if err != nil {
		d.t.Fatal(err)
	}
	for _, f := range findings {
		if d.kind != "sqlite" || f.Kind != check.AutoIncrement { // AUTOINCREMENT stays
			d.t.Errorf("check: %s", f)
		}
	}
}

// TestModels writes and reads a shop through both sets of models.
func TestModels(t *testing.T) {
	t.Parallel()
	forEach(t, func(t *testing.T, d *database) {
		d.sample(20)
		for _, model := range append(oldModels(), models()...) {
			var count int64
			if err := d.gorm.Model(model).Unscoped().Count(&count).Error; err != nil || count == 0 {
				t.Errorf("%T: counted %d rows, %v", model, count, err)
			}
			if err := d.gorm.Unscoped().Take(model).Error; err != nil {
				t.Errorf("%T: %v", model, err)
			}
		}
		var order OldOrder
		if err := d.gorm.Preload(clause.Associations).Order("id DESC").Take(&order).Error; err != nil || len(order.Items) == 0 {
			t.Errorf("got order %+v, %v", order, err)
		}
		var product OldProduct
		if err := d.gorm.Preload("Categories").Preload("Taggings").Take(&product, "name = ?", "product 2").Error; err != nil || len(product.Categories) != 2 || len(product.Taggings) != 1 {
			t.Errorf("got product %+v, %v", product, err)
		}
		user := OldUser{Email: "new@example.org", Name: "new", Addresses: []OldAddress{{Street: "new street"}}}
		if err := d.gorm.Create(&user).Error; err != nil || user.ID == 0 || user.Addresses[0].UserID != user.ID {
			t.Errorf("created %+v, %v", user, err)
		}
	})
}
