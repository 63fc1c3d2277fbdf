package migrate_test

import (
	"database/sql"
	"time"

	"gorm.io/gorm"

	"github.com/snowkey-go/snowkey/sqltype"
)

// models returns the models of the application as it is after the migration.
func models() []any {
	return []any{&User{}, &Profile{}, &Address{}, &Category{}, &Product{}, &Order{}, &OrderItem{}, &Payment{}, &Comment{}, &Tag{}, &Tagging{}, &Event{}, &AuditLog{}}
}

// User is a user.
type User struct {
	ID        sqltype.ID
	Email     string
	Name      string
	CreatedAt time.Time
	UpdatedAt time.Time
	DeletedAt gorm.DeletedAt
	Profile   *Profile
	Addresses []Address
	Orders    []Order
	Comments  []Comment `gorm:"polymorphic:Owner;polymorphicValue:users"`
	Written   []Comment `gorm:"foreignKey:AuthorID"`
}

// Profile is what a user says of itself; its key is the user's.
type Profile struct {
	UserID    sqltype.ID `gorm:"primaryKey;autoIncrement:false"`
	Bio       string
	CreatedAt time.Time
}

// Address is where a user lives.
type Address struct {
	ID        sqltype.ID
	UserID    sqltype.ID
	Street    string
	CreatedAt time.Time
}

// Category is a kind of products.
type Category struct {
	ID        sqltype.ID
	ParentID  sql.Null[sqltype.ID]
	Parent    *Category
	Name      string
	CreatedAt time.Time
}

// Product is a product.
type Product struct {
	ID         sqltype.ID
	CategoryID sql.Null[sqltype.ID]
	Category   *Category
	SKU        string
	Name       string
	Price      float64
	CreatedAt  time.Time
	Categories []Category `gorm:"many2many:product_categories"`
	Comments   []Comment  `gorm:"polymorphic:Owner;polymorphicValue:products"`
	Taggings   []Tagging  `gorm:"polymorphic:Taggable;polymorphicValue:products"`
}

// Order is an order.
type Order struct {
	ID        sqltype.ID
	UserID    sqltype.ID
	AddressID sql.Null[sqltype.ID]
	Address   *Address
	Status    string
	Note      *string
	CreatedAt time.Time
	DeletedAt gorm.DeletedAt
	Items     []OrderItem
	Payments  []Payment
	Taggings  []Tagging `gorm:"polymorphic:Taggable;polymorphicValue:orders"`
}

// OrderItem is a line of an order.
type OrderItem struct {
	OrderID   sqltype.ID `gorm:"primaryKey;autoIncrement:false"`
	Line      int        `gorm:"primaryKey;autoIncrement:false"`
	ProductID sqltype.ID
	Product   *Product
	Quantity  int
	CreatedAt time.Time
}

// Payment is a payment of an order.
type Payment struct {
	ID        sqltype.ID
	OrderID   sqltype.ID
	Reference string
	Amount    float64
	CreatedAt time.Time
}

// Comment is what a user has written about a product or another user.
type Comment struct {
	ID        sqltype.ID
	OwnerID   string
	OwnerType string
	AuthorID  sql.Null[sqltype.ID]
	Body      string
	CreatedAt time.Time
}

// Tag is a word that things are found by.
type Tag struct {
	ID        sqltype.ID
	Name      string
	CreatedAt time.Time
	Taggings  []Tagging
}

// Tagging is a tag of a product or an order.
type Tagging struct {
	ID           sqltype.ID
	TagID        sqltype.ID
	TaggableID   sqltype.ID
	TaggableType string
	CreatedAt    time.Time
}

// Event is something that happened; the user is in the document.
type Event struct {
	ID        sqltype.ID
	Data      string
	CreatedAt time.Time
}

// AuditLog is what a user did; nothing declares whose UserID it is.
type AuditLog struct {
	ID        sqltype.ID
	UserID    sqltype.ID
	Action    string
	CreatedAt time.Time
}

// TableName returns audit_log.
func (AuditLog) TableName() string { return "audit_log" }
