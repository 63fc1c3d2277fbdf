package gormplugin_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/snowkey-go/snowkey/gormplugin"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/grant"
	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// dry is a source that makes no keys.
type dry struct{ idgen.Source[int64] }

func (dry) Next(context.Context) (int64, error) { return 0, errors.New("no keys today") }

type sourceless struct {
	ID int64 `gorm:"snowkey:nobody"`
}

// A create whose rows get no keys is counted once, by its model or table, up to a hundred of them; others are not.
func TestFillErrors(t *testing.T) {
	for _, hooks := range []bool{false, true} {
		db := openDatabase(t, dbtest.SQLite(t).DSN)
		options := []gormplugin.Option{gormplugin.From[int64](dry{})}
		if hooks {
			options = append(options, gormplugin.BeforeHooks())
		}
		for i := range 102 {
			options = append(options, gormplugin.Table(fmt.Sprint("t", i), "id"))
		}
		plugin := gormplugin.New(options...)
		do(t, db.Use(plugin))
		do(t, db.AutoMigrate(&inJSONID{}))
		create(t, db, &inJSONID{ID: 7}) // which has its key
		if got := plugin.Stats().FillErrors; len(got) != 0 {
			t.Errorf("got %v before the first", got)
		}
		for _, row := range []any{&inJSONID{}, &[]inJSONID{{}, {ID: 8}}, &sourceless{}, &inJSONID{ID: 7}} { // the last one is in the table already
			if err := db.Create(row).Error; err == nil {
				t.Errorf("%+v was created", row)
			}
		}
		want := map[string]int64{"inJSONID": 2, "sourceless": 1}
		if got := plugin.Stats().FillErrors; !maps.Equal(got, want) {
			t.Errorf("hooks %t: got %v, want %v", hooks, got, want)
		}
		for i := range 102 {
			if err := db.Table(fmt.Sprint("t", i)).Create(map[string]any{"name": "x"}).Error; err == nil {
				t.Errorf("t%d was filled", i)
			}
		}
		if got := plugin.Stats().FillErrors; len(got) != 101 || got["t97"] != 1 || got[gormplugin.OtherModels] != 4 {
			t.Errorf("got %d models and %d of others: %v", len(got), got[gormplugin.OtherModels], got)
		}
	}
}

// The plugin's logger is the keeper's, unless Grants gives that one of its own.
func TestLoggerIsTheKeepers(t *testing.T) {
	for _, own := range []bool{false, true} {
		var plugins, keepers bytes.Buffer
		to := func(of *bytes.Buffer) *slog.Logger { return slog.New(slog.NewTextHandler(of, nil)) }
		lost := make(chan struct{})
		config := grant.Config{For: time.Hour, First: time.Hour, Every: 20 * time.Millisecond, StopOnLoss: true, Notify: func(s grant.State) {
			if len(s.Losses) > 0 && s.Failures == 1 {
				close(lost)
			}
		}}
		if own {
			config.Logger = to(&keepers)
		}
		db := openDatabase(t, dbtest.SQLite(t).DSN)
		plugin := gormplugin.New(gormplugin.Grants(config), gormplugin.Logger(to(&plugins)))
		do(t, db.Use(plugin))
		do(t, db.Session(&gorm.Session{}).Exec("DELETE FROM snowkey_nodes WHERE node >= 0").Error)
		<-lost
		_ = plugin.Close() // the loss again
		if strings.Contains(plugins.String(), "forgotten") == own || strings.Contains(keepers.String(), "forgotten") != own {
			t.Errorf("own %t: the plugin's logger has %q, the keeper's %q", own, plugins.String(), keepers.String())
		}
	}
}
