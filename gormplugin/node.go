package gormplugin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/schema"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/grant"
)

// node is the node number that a plugin has acquired, and of which database.
type node struct {
	keeper *grant.Keeper  // nil with From
	mark   *schema.Schema // of mark in that database's configuration
}

// mark is a model whose schema GORM keeps in a configuration, so that a copy of the configuration is recognized.
type mark struct{ ID int }

func markOf(db *gorm.DB) (*schema.Schema, error) {
	stmt := &gorm.Statement{DB: db}
	err := stmt.Parse(&mark{})
	return stmt.Schema, err
}

// acquire makes a keeper in the database the source.
func (p *Plugin) acquire(db *gorm.DB) error {
	store := p.grantsIn
	if store == nil {
		in, err := p.store(db)
		if err != nil {
			return err
		}
		store = in
	}
	of, err := markOf(db)
	if err != nil {
		return err
	}
	config := p.config
	config.Logger = cmp.Or(config.Logger, p.logger)
	if len(p.generator) > 0 {
		if len(config.Generator) > 0 {
			return fmt.Errorf("%w: Generator beside a Generator of Grants; give one of the two", grant.ErrConfig)
		}
		config.Generator = p.generator
	}
	keeper, err := grant.Open(context.Background(), store, config)
	if err != nil {
		return acquireError(err)
	}
	p.node = node{keeper, of}
	if p.source, err = newSource(keeper); err == nil && db.Name() == "postgres" && keeper.Layout().Bits(idgen.Stream) > 0 {
		p.log().Warn("snowkey: the layout packs the pages of InnoDB; on PostgreSQL it makes the index of the key larger; take the layout snowkey there", "layout", keeper.Layout())
	}
	return err
}

// acquireError says what to do about the error with which no node number was acquired.
func acquireError(err error) error {
	err = fmt.Errorf("gormplugin: acquiring a node number: %w", err)
	var table *grant.TableError
	if !errors.Is(err, grant.ErrReadOnly) && !errors.As(err, &table) {
		return err
	}
	return fmt.Errorf("%w\nAn application that only reads, or makes its keys elsewhere, needs no node number: give it gormplugin.New(gormplugin.From(source))", err)
}

// store returns where node numbers are granted in a database: at the connection that gorm.Open was given, whichever others a plugin such as
// dbresolver has added.
func (p *Plugin) store(db *gorm.DB) (*grant.SQLStore, error) {
	d, err := grant.LookupDialect(db.Name())
	if err != nil {
		return nil, fmt.Errorf("%w: %w; give a source with From", ErrDatabase, err)
	}
	pool, err := db.DB()
	if err != nil {
		return nil, fmt.Errorf("%w: it has no *sql.DB: %w; give a source with From", ErrDatabase, err)
	}
	if _, within := db.Statement.ConnPool.(gorm.TxCommitter); within {
		if s := pool.Stats(); s.MaxOpenConnections > 0 && s.InUse >= s.MaxOpenConnections {
			return nil, fmt.Errorf("%w: the caller's transaction holds the only connection of the pool, and a node number takes another; call Use before Begin", ErrDatabase)
		}
	}
	return grant.SQL(pool, d, p.grants...), nil
}

// isCopy reports whether a database was opened with a copy of the configuration of the one that has the number, as dbresolver opens its sources
// and replicas: it takes nothing but their connections. They are asked nothing.
func (n *node) isCopy(db *gorm.DB) bool {
	of, err := markOf(db)
	return err == nil && of == n.mark
}

// refuseCopies fails what is created in a copy: not by dbresolver, which creates nothing there.
func refuseCopies(db *gorm.DB) error {
	return db.Callback().Create().Before("gorm:before_create").Register("snowkey:refuse", func(db *gorm.DB) {
		_ = db.AddError(fmt.Errorf("%w: it was opened with a copy of the configuration of another one, which has a node number; open it with a configuration and a plugin of its own",
			ErrDatabase))
	})
}

// requireSame fails unless a database is the one that granted the number. A copy of that database, such as a restored one, is another one.
func (p *Plugin) requireSame(db *gorm.DB) error {
	store, err := p.store(db)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	same, err := p.node.keeper.IsOf(ctx, store)
	switch {
	case errors.Is(err, grant.ErrClosed):
		return fmt.Errorf("%w: the plugin is closed; make another one: %w", ErrDatabase, err)
	case err != nil:
		return fmt.Errorf("%w: this plugin has a node number already, and this database does not say whether it is of this one: %w; make a plugin for each", ErrDatabase, err)
	case !same:
		return fmt.Errorf("%w: this plugin has a node number of another one already; make a plugin for each", ErrDatabase)
	}
	return nil
}
