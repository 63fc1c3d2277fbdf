package idgen

import "context"

// Source is anything that makes keys. Snowflake generators and ticket servers are a Source[int64], UUIDs a Source[[16]byte].
//
// A source is safe for concurrent use and never returns a key twice. It returns early, with an error that wraps the context's, when
// it would have to wait longer than the context lasts.
type Source[K any] interface {
	// Next returns one new key.
	Next(ctx context.Context) (K, error)
	// Fill sets every element of keys to a new key, all or none: after an error the elements hold nothing of use, and the keys that
	// were taken for them are never given to anybody.
	Fill(ctx context.Context, keys []K) error
}
