package shard

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
)

// Maker makes ids for buckets: an [idgen.Snowflake] with [idgen.WithShards], or the keeper of a grant that has one.
type Maker interface {
	Layout() idgen.Layout
	NextFor(ctx context.Context, bucket int64) (int64, error)
	FillFor(ctx context.Context, bucket int64, ids []int64) error
}

// Source makes the ids of rows with a sharding key, and checks ids that are set already. The GORM plugin fills fields with the tag
// `gorm:"snowkey:shard=UserID"` from it. Safe for concurrent use.
type Source struct {
	maker  Maker
	layout idgen.Layout
	field  field
	before int64
}

var _ idgen.Source[int64] = (*Source)(nil)

// Option is something that [NewSource] can be told.
type Option func(*Source) error

// WithBefore says that ids below a number are older than the sharding and carry no bucket: [Source.Check] takes any of them for any sharding key. As a
// rule it is one more than the greatest auto-increment. The error wraps [ErrID] for a number below 1, and for one above the ids that are made now,
// which would not be checked.
func WithBefore(id int64) Option {
	return func(s *Source) error {
		limit, err := s.layout.Compose(idgen.Parts{Time: time.Now()})
		if err != nil || id < 1 || id > limit {
			return errors.Join(fmt.Errorf("%w: ids before %d, want 1 to %d, the least that is made now", ErrID, id, limit), err)
		}
		s.before = id
		return nil
	}
}

// NewSource returns a source of the maker's ids. The maker remains the caller's, to be closed after the last row. The error wraps [ErrLayout] for a
// layout without a shard field.
func NewSource(maker Maker, options ...Option) (*Source, error) {
	if maker == nil {
		return nil, errors.New("shard: a source needs a maker of ids; give a generator with idgen.WithShards, or a keeper that has one")
	}
	s := &Source{maker: maker, layout: maker.Layout()}
	if s.field = fieldOf(s.layout); s.field.mask == 0 {
		return nil, errNoShard(s.layout)
	}
	for _, option := range options {
		if err := option(s); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// Layout returns the layout of the ids.
func (s *Source) Layout() idgen.Layout { return s.layout }

// Before returns the number that [WithBefore] has given, 0 without it.
func (s *Source) Before() int64 { return s.before }

// Next returns an id for a row without a sharding key: one of bucket 0, so that they ascend.
func (s *Source) Next(ctx context.Context) (int64, error) { return s.maker.NextFor(ctx, 0) }

// Fill is Next for several, all or none.
func (s *Source) Fill(ctx context.Context, ids []int64) error { return s.maker.FillFor(ctx, 0, ids) }

// FillFor sets ids to new ones of a bucket, all or none.
func (s *Source) FillFor(ctx context.Context, bucket int64, ids []int64) error {
	return s.maker.FillFor(ctx, bucket, ids)
}

// Bucket returns the bucket of a sharding key, as the function of that name does. The error wraps [ErrKey]. It allocates nothing but for a Valuer.
func (s *Source) Bucket(key any) (int64, error) {
	sum, err := Sum(key)
	return int64(sum & s.field.mask), err
}

// Check returns a [DisagreeError] unless an id has the bucket of a sharding key or is older than the sharding, see [WithBefore]. Other errors wrap
// [ErrKey], or [ErrID] for a number that the layout cannot make. It allocates nothing but for an error and a Valuer.
func (s *Source) Check(id int64, key any) error {
	bucket, err := s.Bucket(key)
	switch {
	case err != nil:
		return err
	case id >= 0 && id < s.before:
		return nil
	case id < 0 || uint64(id)>>s.field.bits > 0:
		return fmt.Errorf("%w: %d, those of %s are 0 to %d", ErrID, id, s.layout, uint64(1)<<s.field.bits-1)
	}
	if got := int64(uint64(id) >> s.field.shift & s.field.mask); got != bucket {
		return &DisagreeError{ID: id, Key: key, Bucket: got, KeyBucket: bucket}
	}
	return nil
}
