package ticket_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/ticket"
)

// BenchmarkBlocks has ids out of a warm buffer, with its refills from a real table, beside what it cannot be faster than: a mutex and a counter. "bound=none":
// no round trip limits it, but for waits-ppm, the calls in a million that did wait.
func BenchmarkBlocks(b *testing.B) {
	var mu sync.Mutex
	var counter int64
	b.Run("bound=none/of=mutex", func(b *testing.B) {
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				mu.Lock()
				counter++
				mu.Unlock()
			}
		})
	})
	for _, k := range blockKinds {
		d := k.database(b)
		config := ticket.BlockConfig{Config: ticket.Config{Timeout: blockPatience, ServerTimeout: blockPatience}, Reserve: time.Second, Rate: 50_000_000, MaxStep: 100_000_000}
		source := blocksSetUp(b, config, d)
		for _, n := range []int{1, 100} {
			b.Run(fmt.Sprintf("bound=none/of=%s/ids=%d", k.name, n), func(b *testing.B) {
				inTime(b, "Warm", source.Warm)
				before := source.Stats().Waits
				b.ReportAllocs()
				b.RunParallel(func(pb *testing.PB) {
					keys := make([]int64, n)
					for pb.Next() {
						if err := fillOrNext(context.Background(), source, keys); err != nil {
							b.Error(err)
							return
						}
					}
				})
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/id")
				b.ReportMetric(1e6*float64(source.Stats().Waits-before)/float64(b.N), "waits-ppm")
			})
		}
	}
}

// delayed listens on a socket, and passes on to a server what comes there. Each piece of the answers comes later by the delay.
func delayed(b *testing.B, server string, delay time.Duration) (address string) {
	b.Helper()
	address = filepath.Join(b.TempDir(), "delayed")
	listener, err := net.Listen("unix", address)
	if err != nil {
		b.Fatal(err)
	}
	var group sync.WaitGroup
	var mu sync.Mutex
	var open []net.Conn // guarded by mu
	keep := func(c net.Conn) {
		mu.Lock()
		defer mu.Unlock()
		open = append(open, c)
	}
	b.Cleanup(func() {
		_ = listener.Close()
		mu.Lock()
		for _, c := range open {
			_ = c.Close()
		}
		mu.Unlock()
		group.Wait()
	})
	group.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			keep(client)
			conn, err := net.Dial("unix", server)
			if err != nil {
				_ = client.Close()
				continue
			}
			keep(conn)
			group.Go(func() { _, _ = io.Copy(conn, client); _ = conn.Close() })
			group.Go(func() {
				defer client.Close()
				buffer := make([]byte, 64<<10)
				for {
					n, err := conn.Read(buffer)
					if err != nil {
						return
					}
					time.Sleep(delay) // of the network: a statement waits for an answer at a time
					if _, err := client.Write(buffer[:n]); err != nil {
						return
					}
				}
			})
		}
	})
	return address
}

// BenchmarkLatency takes 20,000 ids a second from a pair of servers of which one answers 200 ms late, and reports the longest call. A buffer hides the
// latency; what is left is the machine's. "rate=unknown" begins without a load, and with no more than what one allocation brings: it has to find out.
func BenchmarkLatency(b *testing.B) {
	const perSecond, delay = 20_000, 200 * time.Millisecond
	for _, rate := range []int64{perSecond, 0} {
		name := fmt.Sprint(rate)
		if rate == 0 {
			name = "unknown"
		}
		b.Run(fmt.Sprintf("bound=20000/rate=%s", name), func(b *testing.B) {
			near, far := dbtest.MySQL(b), dbtest.MySQL(b)
			parsed, err := mysql.ParseDSN(far.DriverDSN)
			if err != nil {
				b.Fatal(err)
			}
			if parsed.Net != "unix" {
				b.Skipf("the server is at %s, and has to be at a Unix socket for this", parsed.Net)
			}
			parsed.Addr = delayed(b, parsed.Addr, delay)
			slow := far
			slow.DriverDSN = parsed.FormatDSN()
			config := ticket.BlockConfig{Config: ticket.Config{Timeout: blockPatience, ServerTimeout: 20 * time.Second}, Rate: rate, Reserve: time.Second / 2}
			blocksSetUp(b, config, near, far)
			source := blocksOf(b, config, near, slow)
			inTime(b, "Warm", source.Warm)
			inState(b, source, 2, ticket.Closed)
			var longest time.Duration
			ids, begun := 0, time.Now()
			ticker := time.NewTicker(time.Millisecond)
			defer ticker.Stop()
			millisecond := func() {
				<-ticker.C
				for due := int(time.Since(begun).Seconds() * perSecond); ids < due; ids++ {
					start := time.Now()
					if _, err := source.Next(context.Background()); err != nil {
						b.Fatal(err)
					}
					longest = max(longest, time.Since(start))
				}
			}
			for rate > 0 && time.Since(begun) < 3*time.Second { // it was idle while the far server was probed
				millisecond()
			}
			before := source.Stats()
			longest, ids, begun = 0, 0, time.Now()
			for b.Loop() {
				millisecond()
			}
			after := source.Stats()
			b.ReportMetric(float64(longest.Microseconds())/1000, "max-ms")
			b.ReportMetric(float64(after.Waits-before.Waits), "waits")
			b.ReportMetric(float64(ids)/b.Elapsed().Seconds(), "ids/s")
			b.ReportMetric(float64(after.Servers[1].Draws-before.Servers[1].Draws), "far-draws")
			b.ReportMetric(float64(after.Latency.P99.Microseconds())/1000, "allocation-p99-ms")
		})
	}
}
