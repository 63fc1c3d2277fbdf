package mapping

import (
	"context"
	"database/sql"
	"time"

	"github.com/snowkey-go/snowkey/migrate/plan"
)

// Read reads one time as the text that a database gives.
func Read(p *plan.Plan, k plan.Key, text string) (at time.Time, what string, err error) {
	s, err := newNodeSlots(p, k)
	if err != nil {
		return time.Time{}, "", err
	}
	c := calendar{earliest: s.epoch / 1e9, now: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC).Unix()}
	if k.Zone != "" {
		c.zone = s.zone
	}
	m := c.text([]byte(text))
	return time.Unix(0, m.ns).UTC(), [...]string{"good", "null", "zero", "early", "future", "unreadable"}[m.state], nil
}

// Sorted returns numbers in the order that a sorter with room for so many gives.
func Sorted(ctx context.Context, most int, firsts, ids []int64) (sorted [][2]int64, files int, err error) {
	s := newSorter()
	s.most = most
	for i := range ids {
		if err := s.add(entry{slotRange{firsts[i], firsts[i] + 9}, ids[i]}); err != nil {
			return nil, 0, err
		}
	}
	files = len(s.files)
	err = s.each(ctx, func(e entry) error {
		sorted = append(sorted, [2]int64{e.slotRange.last - 9, e.id})
		return nil
	})
	if closed := s.close(); err == nil {
		err = closed
	}
	return sorted, files, err
}

// FillAll fills a map, in transactions of one batch.
func FillAll(ctx context.Context, db *sql.DB, p *plan.Plan, k plan.Key, rows int) (mapped int64, err error) {
	f, err := NewFiller(ctx, db, p, k)
	if err != nil {
		return 0, err
	}
	for after, done := int64(before), false; ; {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return mapped, err
		}
		var n int64
		if after, n, done, err = f.Fill(ctx, tx, after, rows); err != nil {
			_ = tx.Rollback() // the first error is returned
			return mapped, err
		}
		if err := tx.Commit(); err != nil || done {
			return mapped, err
		}
		mapped += n
	}
}

// ReadAll reads times with one calendar, each as the text of UTC, empty when it cannot be read.
func ReadAll(p *plan.Plan, k plan.Key, texts []string) []string {
	s, err := newNodeSlots(p, k)
	if err != nil {
		return nil
	}
	c := calendar{zone: s.zone, earliest: s.epoch / 1e9, now: 1 << 40}
	list := make([]string, len(texts))
	for i, text := range texts {
		if m := c.text([]byte(text)); m.state == good {
			list[i] = time.Unix(0, m.ns).UTC().Format("2006-01-02 15:04:05")
		}
	}
	return list
}
