package strategy

import (
	"math/rand/v2"
	"time"
)

// Order is what the rows of all tables hold beside their keys.
type Order struct {
	CustomerID int64     `gorm:"index"`
	Status     string    `gorm:"size:16"`
	Total      int64     // cents
	CreatedAt  time.Time // set by the maker of the order
}

// Orders makes the same orders for each seed. It is not safe for concurrent use.
type Orders struct {
	random *rand.Rand
	at     time.Time
}

// NewOrders begins with the first order.
func NewOrders(seed uint64) *Orders {
	return &Orders{random: rand.New(rand.NewPCG(seed, 1)), at: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
}

// Make returns the next n orders.
func (o *Orders) Make(n int) []Order {
	rows := make([]Order, n)
	for i := range rows {
		o.at = o.at.Add(time.Duration(o.random.Int64N(int64(time.Second)))).Truncate(time.Millisecond)
		rows[i] = Order{
			CustomerID: o.random.Int64N(50_000),
			Status:     [...]string{"open", "paid", "shipped", "returned"}[o.random.IntN(4)],
			Total:      o.random.Int64N(500_00),
			CreatedAt:  o.at,
		}
	}
	return rows
}
