//go:build linux

package zkgrant_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/snowkey-go/snowkey/idgen/grant"
	"github.com/snowkey-go/snowkey/idgen/grant/zkgrant"
	"github.com/snowkey-go/snowkey/internal/testprocess"
)

// TestAccount has an account use all methods on nodes that are its own, and others refused with an error that says what is missing.
func TestAccount(t *testing.T) {
	s, prefix := sharedServer(t)
	app, nobody := asApp(t, s), connect(t, nil, s)
	store := zkgrant.New(app, zkgrant.WithPrefix(prefix), zkgrant.WithACL(zk.AuthACL(zk.PermAll)...))
	prepare(t, store)
	swapped, err := store.Swap(t.Context(), "default", none(1), grant.Row{Number: 1, Holder: "a", Until: 5})
	recorded := store.Record(t.Context(), "default", grant.Loss{Number: 1})
	moved, moveErr := store.Move(t.Context(), "default", "default~1", "a", "b", 5)
	l, listErr := store.List(t.Context(), "default~1", 0, 9)
	losses, lossErr := store.Losses(t.Context(), "default~1")
	spaces, spaceErr := store.Spaces(t.Context())
	if err := errors.Join(err, recorded, moveErr, listErr, lossErr, spaceErr); err != nil || !swapped || !moved || len(l.Rows) != 1 || len(losses) != 1 || len(spaces) != 1 {
		t.Errorf("got %v, swapped %t, moved %t, %+v, the losses %+v and the spaces %+v", err, swapped, moved, l, losses, spaces)
	}
	acl, _, err := app.GetACL(prefix + "/default")
	if err != nil || len(acl) != 1 || acl[0].Scheme != "digest" {
		t.Errorf("got the ACL %+v, %v, want one of the account alone", acl, err)
	}
	stranger := zkgrant.New(nobody, zkgrant.WithPrefix(prefix))
	_, prepared := stranger.Prepare(t.Context(), "default", "a")
	_, another := stranger.Prepare(t.Context(), "another", "a")
	_, listed := stranger.List(t.Context(), "default~1", 0, 9)
	_, swapErr := stranger.Swap(t.Context(), "default~1", grant.Row{Number: 1, Holder: "a", Until: 5}, grant.Row{Number: 1, Holder: "b", Until: 6})
	for i, err := range []error{prepared, another, listed, swapErr} {
		if !errors.Is(err, grant.ErrReadOnly) || !errors.Is(err, zk.ErrNoAuth) || !strings.Contains(err.Error(), prefix) {
			t.Errorf("call %d without an account: got the error %v, want ErrReadOnly, ErrNoAuth and the prefix", i, err)
		}
	}
	_, err = zkgrant.New(nobody, zkgrant.WithPrefix(prefix+"-auth"), zkgrant.WithACL(zk.AuthACL(zk.PermAll)...)).Prepare(t.Context(), "default", "a")
	if !errors.Is(err, zk.ErrInvalidACL) || !strings.Contains(err.Error(), "AddAuth") {
		t.Errorf("an ACL of an account that is none: got the error %v, want ErrInvalidACL", err)
	}
}

// TestDamage has what was changed by hand refused.
func TestDamage(t *testing.T) {
	s, prefix := sharedServer(t)
	conn := connect(t, nil, s)
	store := zkgrant.New(conn, zkgrant.WithPrefix(prefix))
	find := func(space, begin string) string {
		t.Helper()
		nodes, _, err := conn.Children(prefix + "/" + space)
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(nodes, func(n string) bool { return strings.HasPrefix(n, begin) })
		if i < 0 {
			t.Fatalf("no node %s in %q", begin, nodes)
		}
		return nodes[i]
	}
	remove := func(space, begin string) {
		t.Helper()
		if err := conn.Delete(prefix+"/"+space+"/"+find(space, begin), -1); err != nil {
			t.Fatal(err)
		}
	}
	row := grant.Row{Number: 1, Holder: "a", Until: 1}
	for name, damage := range map[string]struct{ remove, add string }{
		"no-revision":   {"revision,", ""},
		"no-mark":       {"mark,", ""},
		"bad-mark":      {"mark,", "mark,ID,x,1,C"},
		"negative-mark": {"mark,", "mark,ID,-1,1,C"},
		"two-marks":     {"", "mark,ID,2,1,C"},
		"two-revisions": {"", "revision,C"},
		"two-spaces":    {"", "space,ID2,0,,a"},
		"bad-space":     {"space,", "space,ID,0"},
		"bad-row":       {"node,", "node,ID,1,1,0,C"},
		"long-row":      {"node,", "node,ID,1,1,0,C,a,b"},
		"bad-escape":    {"node,", "node,ID,1,1,0,C,%zz"},
		"same-row":      {"", "node,ID,1,2,0,C,b"},
		"bad-loss":      {"", "loss,ID,1,1,0"},
	} {
		if _, err := store.Prepare(t.Context(), name, "a"); err != nil {
			t.Fatal(err)
		}
		if ok, err := store.Swap(t.Context(), name, none(1), row); err != nil || !ok {
			t.Fatal(ok, err)
		}
		l, err := store.List(t.Context(), name, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		if damage.remove != "" {
			remove(name, damage.remove)
		}
		if damage.add != "" {
			if _, err := conn.Create(prefix+"/"+name+"/"+strings.Replace(damage.add, ",ID,", ","+l.ID+",", 1), nil, 0, zk.WorldACL(zk.PermAll)); err != nil {
				t.Fatal(err)
			}
		}
		_, listed := store.List(t.Context(), name, 0, 1)
		_, swapped := store.Swap(t.Context(), name, row, grant.Row{Number: 1, Holder: "b", Until: 2})
		_, prepared := store.Prepare(t.Context(), name, "a")
		for _, err := range []error{listed, swapped, prepared, store.Record(t.Context(), name, grant.Loss{})} {
			if !errors.Is(err, grant.ErrStore) || !strings.Contains(err.Error(), prefix+"/"+name) {
				t.Errorf("%s: got the error %v, want ErrStore and the folder", name, err)
			}
		}
	}
	// A node below a row keeps the row from being replaced.
	if _, err := store.Prepare(t.Context(), "below", "a"); err != nil {
		t.Fatal(err)
	}
	if ok, err := store.Swap(t.Context(), "below", none(1), row); err != nil || !ok {
		t.Fatal(ok, err)
	}
	if _, err := conn.Create(prefix+"/below/"+find("below", "node,")+"/x", nil, 0, zk.WorldACL(zk.PermAll)); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Swap(t.Context(), "below", row, grant.Row{Number: 1, Holder: "a", Until: 2}); !errors.Is(err, grant.ErrStore) {
		t.Errorf("a node below a row: got the error %v, want ErrStore", err)
	}
	// A row that is gone is not added again before its mark, also before anybody has prepared the space anew.
	first := grant.Row{Number: 1, Holder: "a", From: 5, Until: 10}
	if _, err := store.Prepare(t.Context(), "gone", "a"); err != nil {
		t.Fatal(err)
	}
	for _, add := range []struct {
		row  grant.Row
		want bool
	}{{first, true}, {first, false}, {grant.Row{Number: 2, Holder: "b", From: 9, Until: 10}, false}, {grant.Row{Number: 2, Holder: "b", From: 10, Until: 11}, true}} {
		if ok, err := store.Swap(t.Context(), "gone", none(add.row.Number), add.row); err != nil || ok != add.want {
			t.Errorf("adding %+v: got %t, %v, want %t", add.row, ok, err, add.want)
		}
		if add.want && add.row == first {
			remove("gone", "node,")
		}
	}
	if l, err := store.List(t.Context(), "gone", 0, 9); err != nil || l.Gone != 1 {
		t.Errorf("got %+v, %v, want a row gone", l, err)
	}
	for range 2 {
		if _, err := store.Prepare(t.Context(), "gone", "a"); err != nil {
			t.Fatal(err)
		}
		if l, err := store.List(t.Context(), "gone", 0, 9); err != nil || l.Gone != 0 || l.Absent != 11 || len(l.Rows) != 1 {
			t.Errorf("prepared anew: got %+v, %v, want numbers without a row held until 11", l, err)
		}
		remove("gone", "node,") // gone for a second time, with the same mark
		if ok, err := store.Swap(t.Context(), "gone", none(3), grant.Row{Number: 3, Holder: "c", From: 11, Until: 11}); err != nil || !ok {
			t.Errorf("adding a row from the mark on: got %t, %v", ok, err)
		}
	}
	if spaces, err := store.Spaces(t.Context()); !errors.Is(err, grant.ErrStore) {
		t.Errorf("Spaces: got %+v, %v, want ErrStore", spaces, err)
	}
}

// TestOldLossesGo has nodes of the last losses, and no more.
func TestOldLossesGo(t *testing.T) {
	testprocess.Long(t)
	s, prefix := sharedServer(t)
	conn := connect(t, nil, s)
	store := zkgrant.New(conn, zkgrant.WithPrefix(prefix))
	prepare(t, store)
	const most = grant.MostLosses
	for n := range int64(most + 3) {
		if err := store.Record(t.Context(), "default", grant.Loss{Number: n}); err != nil {
			t.Fatal(err)
		}
	}
	nodes, _, err := conn.Children(prefix + "/default")
	if n := len(slices.DeleteFunc(nodes, func(n string) bool { return !strings.HasPrefix(n, "loss,") })); err != nil || n != most {
		t.Errorf("got %d nodes of losses, %v, want %d", n, err, most)
	}
	if losses, err := store.Losses(t.Context(), "default"); err != nil || len(losses) != most || losses[0].Number != 3 || losses[most-1].Number != most+2 {
		t.Errorf("got %d losses, %v, want the last %d", len(losses), err, most)
	}
}

// TestSpaces lists the spaces, as they are stored after a change of the layout, and nothing beside.
func TestSpaces(t *testing.T) {
	s, prefix := sharedServer(t)
	conn := connect(t, nil, s)
	store := zkgrant.New(conn, zkgrant.WithPrefix(prefix))
	if got, err := store.Spaces(t.Context()); err != nil || len(got) > 0 {
		t.Errorf("got %+v, %v, want none", got, err)
	}
	layouts := map[string]string{".": "y", "a": "snowflake epoch=2020-01-01T00:00:00Z unit=1ms time=41 node=10 sequence=12", "a.b": "x,/%"}
	for name, layout := range layouts {
		if _, err := store.Prepare(t.Context(), name, layout); err != nil {
			t.Fatal(err)
		}
	}
	for _, foreign := range []string{"/of others", "/a/of others", "/empty"} {
		if _, err := conn.Create(prefix+foreign, nil, 0, zk.WorldACL(zk.PermAll)); err != nil {
			t.Fatal(err)
		}
	}
	got, err := store.Spaces(t.Context())
	if err != nil || len(got) != 3 {
		t.Fatalf("got %+v, %v, want three", got, err)
	}
	for i, name := range []string{".", "a", "a.b"} {
		if got[i].Name != name || got[i].StoredAs != name || got[i].Layout != layouts[name] || got[i].ID == "" {
			t.Errorf("got %+v, want %s with %q", got[i], name, layouts[name])
		}
	}
	prepare(t, store)
	if _, err := store.Prepare(t.Context(), "empty", "a"); !errors.Is(err, grant.ErrStore) {
		t.Errorf("a folder without a revision: got the error %v, want ErrStore", err)
	}
}

// TestNotValid has what cannot work refused before anything is asked.
func TestNotValid(t *testing.T) {
	conn, _, err := zk.Connect([]string{"127.0.0.1:1"}, session, zk.WithLogger(noLog{}))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for want, store := range map[string]*zkgrant.Store{
		"the connection is nil": zkgrant.New(nil),
		`the prefix ""`:         zkgrant.New(conn, zkgrant.WithPrefix("")),
		`the prefix "/"`:        zkgrant.New(conn, zkgrant.WithPrefix("/")),
		`the prefix "/a/"`:      zkgrant.New(conn, zkgrant.WithPrefix("/a/")),
		`the prefix "a"`:        zkgrant.New(conn, zkgrant.WithPrefix("a")),
		`the prefix "/a/../b"`:  zkgrant.New(conn, zkgrant.WithPrefix("/a/../b")),
		"nobody may use":        zkgrant.New(conn, zkgrant.WithACL()),
	} {
		_, prepared := store.Prepare(t.Context(), "default", "a")
		_, listed := store.List(t.Context(), "default", 0, 1)
		_, spaces := store.Spaces(t.Context())
		_ = store.Place() // works without a connection
		for _, err := range []error{prepared, listed, spaces, store.Record(t.Context(), "default", grant.Loss{})} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got the error %v, want %q", err, want)
			}
		}
	}
	store := zkgrant.New(conn)
	if _, err := store.Move(t.Context(), "default", "other~1", "a", "b", 1); err == nil || !strings.Contains(err.Error(), "the other name is not default") {
		t.Errorf("Move to another name: got the error %v", err)
	}
	if _, err := store.Prepare(t.Context(), "a/b", "a"); err == nil || !strings.Contains(err.Error(), "the space is not") {
		t.Errorf("a space with a slash: got the error %v", err)
	}
}
