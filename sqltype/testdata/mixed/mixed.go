// Package mixed mixes up keys. The compiler must refuse the lines that end in "refused", and no other.
package mixed

import (
	"database/sql"

	"github.com/snowkey-go/snowkey/sqltype"
)

type User struct {
	ID     sqltype.Key[User]
	Boss   *sqltype.Key[User]
	Mentor sql.Null[sqltype.Key[User]]
}

type Order struct {
	ID     sqltype.Key[Order]
	UserID sqltype.Key[User]
}

func find(sqltype.Key[User]) {}

func findAll(...sqltype.Key[User]) {}

func mix(user User, order Order, id sqltype.ID, n int64) {
	find(user.ID)
	find(order.UserID)
	find(order.ID) // refused
	find(id)       // refused
	find(n)        // refused
	find(12)
	find(sqltype.Key[User](order.ID))
	find(sqltype.Key[User](id))
	findAll(user.ID, order.UserID)
	findAll(user.ID, order.ID) // refused
	findAll([]sqltype.Key[User]{}...)
	findAll([]sqltype.Key[Order]{}...) // refused

	order.UserID = user.ID
	order.UserID = order.ID // refused
	order.ID = user.ID      // refused
	id = sqltype.ID(user.ID)
	id = user.ID // refused
	user.Boss = &order.UserID
	user.Boss = &order.ID // refused
	user.Mentor.V = order.UserID
	user.Mentor.V = order.ID                     // refused
	user.Mentor = sql.Null[sqltype.Key[Order]]{} // refused

	_ = user.ID == order.UserID
	_ = user.ID == order.ID // refused
	_ = user.ID == id       // refused
	_ = id
	_ = map[sqltype.Key[User]]Order{user.ID: order}
	_ = map[sqltype.Key[User]]Order{order.ID: order} // refused
	_ = sqltype.Number(user.ID) == sqltype.Number(order.ID)
	_ = sqltype.Number(id) == id // refused

	find16 := func(sqltype.UUIDKey[User]) {}
	find16(sqltype.UUIDKey[User]{})
	find16(sqltype.UUIDKey[Order]{}) // refused
	find16(sqltype.UUID{})           // refused
	find16([16]byte{1})
	find16(sqltype.UUIDKey[User](sqltype.UUIDKey[Order]{}))

	parsed, _ := sqltype.ParseKey[Order]("1")
	find(parsed) // refused
	order.ID = parsed
}
