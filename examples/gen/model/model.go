// Package model has the models of the example.
package model

import "github.com/snowkey-go/snowkey/gormplugin"

// Author has a key of package sqltype.
type Author struct {
	gormplugin.Model
	Email string `gorm:"uniqueIndex"`
	Name  string
	Books []Book
}

// Book has a key of Go's own type, which the option AllKeys fills.
type Book struct {
	ID       int64
	AuthorID int64
	Title    string
}
