package uid_test

import (
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/uid"
	"github.com/snowkey-go/snowkey/idgen"
)

var sink [16]byte

func BenchmarkNext(b *testing.B) {
	b.Run("floor", func(b *testing.B) {
		for b.Loop() {
			_ = time.Now()
		}
	})
	for name, s := range map[string]idgen.Source[[16]byte]{"v4": uid.V4(), "v7": uid.V7(), "ulid": uid.ULID()} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				sink, _ = s.Next(b.Context())
			}
		})
		keys := make([][16]byte, 1000)
		b.Run(name+"/fill", func(b *testing.B) {
			for b.Loop() {
				_ = s.Fill(b.Context(), keys)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/key")
		})
	}
}
