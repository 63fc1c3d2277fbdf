package gormplugin

import (
	"errors"
	"fmt"

	"github.com/snowkey-go/snowkey/idgen/grant"
)

// acquireError says what to do about the error with which no node number was acquired.
func acquireError(err error) error {
	err = fmt.Errorf("gormplugin: acquiring a node number: %w", err)
	var table *grant.TableError
	if !errors.Is(err, grant.ErrReadOnly) && !errors.As(err, &table) {
		return err
	}
	return fmt.Errorf("%w\nAn application that only reads, or makes its keys elsewhere, needs no node number: give it gormplugin.New(gormplugin.From(source))", err)
}
