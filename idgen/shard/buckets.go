package shard

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Buckets are numbers of buckets, ascending. Their text, which is also their form in JSON, is one that a person can read: "3", "0-15" for all between,
// "0-1008/16" for every 16th, with commas between such.
type Buckets []int64

// ParseBuckets reads what [Buckets.String] has written, and sorts it. The error wraps [ErrMap] for another text, a bucket above 65,535, the most that there
// can be, and one that is there twice.
func ParseBuckets(text string) (Buckets, error) {
	var buckets Buckets
	err := eachBucket(text, func(bucket uint64) error {
		if bucket >= 1<<maxMapBits {
			return fmt.Errorf("bucket %d, at most %d", bucket, 1<<maxMapBits-1)
		}
		buckets = append(buckets, int64(bucket))
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMap, err)
	}
	slices.Sort(buckets)
	for i, b := range buckets {
		if i > 0 && b == buckets[i-1] {
			return nil, fmt.Errorf("%w: bucket %d is there twice in %q", ErrMap, b, text)
		}
	}
	return buckets, nil
}

// MarshalText writes the text of String.
func (buckets Buckets) MarshalText() ([]byte, error) { return []byte(buckets.String()), nil }

// UnmarshalText reads it, as [ParseBuckets] does.
func (buckets *Buckets) UnmarshalText(text []byte) (err error) {
	*buckets, err = ParseBuckets(string(text))
	return err
}

// String writes the buckets.
func (buckets Buckets) String() string {
	var b strings.Builder
	for i := 0; i < len(buckets); {
		run := 1
		for ; i+run+1 < len(buckets) && buckets[i+run+1]-buckets[i+run] == buckets[i+1]-buckets[i]; run++ {
		}
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.FormatInt(buckets[i], 10))
		if run < 2 || i+run >= len(buckets) { // a pair is not worth a range
			i++
			continue
		}
		b.WriteString("-" + strconv.FormatInt(buckets[i+run], 10))
		if step := buckets[i+1] - buckets[i]; step > 1 {
			b.WriteString("/" + strconv.FormatInt(step, 10))
		}
		i += run + 1
	}
	return b.String()
}

// eachBucket calls a function for each bucket of a text, and ends with its error.
func eachBucket(text string, take func(bucket uint64) error) error {
	if text == "" {
		return nil
	}
	for part := range strings.SplitSeq(text, ",") {
		bounds, stepText, stepped := strings.Cut(part, "/")
		fromText, toText, ranged := strings.Cut(bounds, "-")
		step, to := uint64(1), uint64(0)
		from, err := parseBucket(fromText)
		if to = from; ranged && err == nil {
			to, err = parseBucket(toText)
		}
		if stepped && err == nil {
			step, err = parseBucket(stepText)
		}
		if err != nil || to < from || step == 0 || stepped && !ranged {
			return fmt.Errorf("%q is no list of buckets like 3,0-15,0-1008/16", part)
		}
		for b := from; b <= to; b += step {
			if err := take(b); err != nil {
				return err
			}
		}
	}
	return nil
}

// parseBucket reads one number, which is small enough that sums of two do not overflow.
func parseBucket(text string) (uint64, error) { return strconv.ParseUint(text, 10, 32) }
