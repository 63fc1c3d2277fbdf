package migrate_test

import (
	"time"

	"gorm.io/gorm"
)

// oldModels returns the models of the application as it was, whose keys have the widths that came to mind.
func oldModels() []any {
	return []any{&OldUser{}, &OldProfile{}, &OldAddress{}, &OldCategory{}, &OldProduct{}, &OldOrder{}, &OldOrderItem{}, &OldPayment{}, &OldComment{}, &OldTag{}, &OldTagging{}, &OldEvent{}, &OldAuditLog{}}
}

// OldUser is a user.
type OldUser struct {
	ID        uint
	Email     string
	Name      string
	CreatedAt time.Time
	UpdatedAt time.Time
	DeletedAt gorm.DeletedAt
	Profile   *OldProfile  `gorm:"foreignKey:UserID"`
	Addresses []OldAddress `gorm:"foreignKey:UserID"`
	Orders    []OldOrder   `gorm:"foreignKey:UserID"`
	Comments  []OldComment `gorm:"polymorphic:Owner;polymorphicValue:users"`
	Written   []OldComment `gorm:"foreignKey:AuthorID"`
}

// OldProfile is what a user says of itself; its key is the user's.
type OldProfile struct {
	UserID    uint `gorm:"primaryKey;autoIncrement:false"`
	Bio       string
	CreatedAt time.Time
}

// OldAddress is where a user lives.
type OldAddress struct {
	ID        int32
	UserID    uint
	Street    string
	CreatedAt time.Time
}

// OldCategory is a kind of products.
type OldCategory struct {
	ID        int32
	ParentID  *int32
	Parent    *OldCategory `gorm:"foreignKey:ParentID"`
	Name      string
	CreatedAt time.Time
}

// OldProduct is a product.
type OldProduct struct {
	ID         uint
	CategoryID *int32
	Category   *OldCategory `gorm:"foreignKey:CategoryID"`
	SKU        string
	Name       string
	Price      float64
	CreatedAt  time.Time
	Categories []OldCategory `gorm:"many2many:product_categories;joinForeignKey:ProductID;joinReferences:CategoryID"`
	Comments   []OldComment  `gorm:"polymorphic:Owner;polymorphicValue:products"`
	Taggings   []OldTagging  `gorm:"polymorphic:Taggable;polymorphicValue:products"`
}

// OldOrder is an order.
type OldOrder struct {
	ID        int64
	UserID    uint
	AddressID *int32
	Address   *OldAddress `gorm:"foreignKey:AddressID"`
	Status    string
	Note      *string
	CreatedAt time.Time
	DeletedAt gorm.DeletedAt
	Items     []OldOrderItem `gorm:"foreignKey:OrderID"`
	Payments  []OldPayment   `gorm:"foreignKey:OrderID"`
	Taggings  []OldTagging   `gorm:"polymorphic:Taggable;polymorphicValue:orders"`
}

// OldOrderItem is a line of an order.
type OldOrderItem struct {
	OrderID   int64 `gorm:"primaryKey;autoIncrement:false"`
	Line      int   `gorm:"primaryKey;autoIncrement:false"`
	ProductID uint
	Product   *OldProduct `gorm:"foreignKey:ProductID"`
	Quantity  int
	CreatedAt time.Time
}

// OldPayment is a payment of an order.
type OldPayment struct {
	ID        int
	OrderID   int64
	Reference string
	Amount    float64
	CreatedAt time.Time
}

// OldComment is what a user has written about a product or another user.
type OldComment struct {
	ID        uint
	OwnerID   string
	OwnerType string
	AuthorID  *uint
	Body      string
	CreatedAt time.Time
}

// OldTag is a word that things are found by.
type OldTag struct {
	ID        uint32
	Name      string
	CreatedAt time.Time
	Taggings  []OldTagging `gorm:"foreignKey:TagID"`
}

// OldTagging is a tag of a product or an order.
type OldTagging struct {
	ID           int32
	TagID        uint32
	TaggableID   int64
	TaggableType string
	CreatedAt    time.Time
}

// OldEvent is something that happened; the user is in the document.
type OldEvent struct {
	ID        int64
	Data      string
	CreatedAt time.Time
}

// OldAuditLog is what a user did; nothing declares whose UserID it is.
type OldAuditLog struct {
	ID        int32
	UserID    uint
	Action    string
	CreatedAt time.Time
}

// The tables are those of the models without Old in their names.

// TableName returns users.
func (OldUser) TableName() string { return "users" }

// TableName returns profiles.
func (OldProfile) TableName() string { return "profiles" }

// TableName returns addresses.
func (OldAddress) TableName() string { return "addresses" }

// TableName returns categories.
func (OldCategory) TableName() string { return "categories" }

// TableName returns products.
func (OldProduct) TableName() string { return "products" }

// TableName returns orders.
func (OldOrder) TableName() string { return "orders" }

// TableName returns order_items.
func (OldOrderItem) TableName() string { return "order_items" }

// TableName returns payments.
func (OldPayment) TableName() string { return "payments" }

// TableName returns comments.
func (OldComment) TableName() string { return "comments" }

// TableName returns tags.
func (OldTag) TableName() string { return "tags" }

// TableName returns taggings.
func (OldTagging) TableName() string { return "taggings" }

// TableName returns events.
func (OldEvent) TableName() string { return "events" }

// TableName returns audit_log.
func (OldAuditLog) TableName() string { return "audit_log" }
