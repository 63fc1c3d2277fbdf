package main

import (
	"time"

	"gorm.io/gorm"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/sqltype"
)

// Customer places orders. Each model has a key type of its own, so that a key of one does not fit another.
type Customer struct {
	ID    sqltype.Key[Customer] `json:"id"`
	Email string                `json:"email" gorm:"size:255;uniqueIndex"`
	Name  string                `json:"name"`
}

// Order has lines. It has no column of the time it was made at: its key begins with that.
type Order struct {
	ID         sqltype.Key[Order]    `json:"id"`
	CustomerID sqltype.Key[Customer] `json:"customer_id" gorm:"index"`
	Customer   *Customer             `json:"customer,omitempty"`
	Lines      []Line                `json:"lines"`
	CreatedAt  time.Time             `json:"created_at" gorm:"-"`
}

// Line is one item of an order.
type Line struct {
	ID       sqltype.Key[Line]  `json:"id"`
	OrderID  sqltype.Key[Order] `json:"-" gorm:"index"`
	Item     string             `json:"item"`
	Quantity int                `json:"quantity"`
}

// AfterCreate reads the time of the order from its key.
func (o *Order) AfterCreate(*gorm.DB) error { return o.readTime() }

// AfterFind reads the time of the order from its key.
func (o *Order) AfterFind(*gorm.DB) error { return o.readTime() }

func (o *Order) readTime() error {
	parts, err := idgen.Snowkey.Decode(o.ID.Int64())
	o.CreatedAt = parts.Time
	return err
}
