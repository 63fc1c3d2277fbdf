//go:build linux

package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// layoutOfMany has 65,536 keys a millisecond, so that the layout bounds nothing. That of snowkey has 4,096.
const layoutOfMany = "time=41@1ms,node=6,sequence=16;epoch=2025-01-01T00:00:00Z"

// measured are requests that are sent as they stand, many at a time.
type measured struct {
	name    string
	socket  string // redis or http
	request string
	keys    int // of an answer
}

var (
	ping       = measured{"redis-floor", "redis", "*1\r\n$4\r\nPING\r\n", 1}
	next       = measured{"redis-key", "redis", "*1\r\n$4\r\nNEXT\r\n", 1}
	nextBatch  = measured{"redis-batch", "redis", "*2\r\n$4\r\nNEXT\r\n$4\r\n1000\r\n", 1000}
	live       = measured{"http-floor", "http", "GET /live HTTP/1.1\r\nHost: x\r\n\r\n", 1}
	getKey     = measured{"http-key", "http", "GET /id HTTP/1.1\r\nHost: x\r\n\r\n", 1}
	getBatch   = measured{"http-batch", "http", "GET /id?n=1000 HTTP/1.1\r\nHost: x\r\nAccept: application/octet-stream\r\n\r\n", 1000}
	getAsLines = measured{"http-lines", "http", "GET /id?n=1000 HTTP/1.1\r\nHost: x\r\n\r\n", 1000}
)

// connection sends a number of requests at once, and takes the answers, whose bytes are always as many.
type connection struct {
	net.Conn
	requests []byte
	answers  int64
}

func (m measured) connect(b *testing.B, folder string, pipeline int) *connection {
	b.Helper()
	conn, err := net.Dial("unix", folder+"/"+m.socket)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = conn.Close() })
	c := &connection{Conn: conn, requests: []byte(strings.Repeat(m.request, pipeline))}
	if _, err := conn.Write(c.requests); err != nil {
		b.Fatal(err)
	}
	_ = conn.SetReadDeadline(time.Now().Add(300 * time.Millisecond))
	if c.answers, err = io.Copy(io.Discard, conn); !errors.Is(err, os.ErrDeadlineExceeded) || c.answers == 0 {
		b.Fatalf("got %d bytes, %v", c.answers, err)
	}
	_ = conn.SetReadDeadline(time.Time{})
	return c
}

// exchange sends the requests and takes all answers.
func (c *connection) exchange(room []byte) error {
	if _, err := c.Write(c.requests); err != nil {
		return err
	}
	for left := c.answers; left > 0; {
		n, err := c.Read(room)
		if err != nil {
			return err
		}
		left -= int64(n)
	}
	return nil
}

// connectAll connects many, at the same time.
func (m measured) connectAll(b *testing.B, folder string, n, pipeline int) []*connection {
	b.Helper()
	all := make([]*connection, n)
	var group sync.WaitGroup
	for i := range all {
		group.Go(func() { all[i] = m.connect(b, folder, pipeline) })
	}
	group.Wait()
	return all
}

// BenchmarkServe measures how many keys a second a service gives, which is a process of its own on the same machine, and beside it the floor: PING and /live, by
// the same clients, in turns of a fifth of a second.
func BenchmarkServe(b *testing.B) {
	for _, tt := range []struct {
		layout                string
		connections, pipeline int
		all                   []measured
	}{
		{"many", 64, 16, []measured{ping, next}},
		{"many", 64, 1, []measured{ping, next, live, getKey}},
		{"many", 64, 16, []measured{live, getKey}},
		{"many", 8, 4, []measured{live, getBatch, getAsLines, nextBatch}},
		{"snowkey", 8, 4, []measured{live, getBatch, nextBatch}},
	} {
		b.Run(fmt.Sprintf("layout=%s/connections=%d/pipeline=%d/%s", tt.layout, tt.connections, tt.pipeline, tt.all[1].name), func(b *testing.B) {
			folder := socketFolder(b)
			layout := tt.layout
			if layout == "many" {
				layout = layoutOfMany
			}
			serveAt(b, folder, "--node", "1", "--layout", layout)
			connected := make([][]*connection, len(tt.all))
			for i, m := range tt.all {
				connected[i] = m.connectAll(b, folder, tt.connections, tt.pipeline)
			}
			keys, took := make([]float64, len(tt.all)), make([]time.Duration, len(tt.all))
			for b.Loop() {
				for i, m := range tt.all {
					begin := time.Now()
					var mu sync.Mutex
					var group sync.WaitGroup
					for _, c := range connected[i] {
						group.Go(func() {
							done, room := 0, make([]byte, 64<<10)
							for ; time.Since(begin) < 200*time.Millisecond; done++ {
								if err := c.exchange(room); err != nil {
									b.Error(err)
									return
								}
							}
							mu.Lock()
							defer mu.Unlock()
							keys[i] += float64(done * tt.pipeline * m.keys)
						})
					}
					group.Wait()
					took[i] += time.Since(begin)
				}
			}
			b.ReportMetric(0, "ns/op")
			for i, m := range tt.all {
				b.ReportMetric(keys[i]/took[i].Seconds(), m.name+"/s")
			}
		})
	}
}

// BenchmarkServeLatency measures how long single keys take at 10,000 a second over 64 connections, from the time when each was due, and PING beside it.
func BenchmarkServeLatency(b *testing.B) {
	const rate, connections = 10_000, 64
	folder := socketFolder(b)
	serveAt(b, folder, "--node", "1")
	all := []measured{ping, next, getKey}
	connected := make([][]*connection, len(all))
	for i, m := range all {
		connected[i] = m.connectAll(b, folder, connections, 1)
	}
	latencies := make([][]time.Duration, len(all))
	for b.Loop() {
		for i := range all {
			begin := time.Now()
			var mu sync.Mutex
			var group sync.WaitGroup
			for j, c := range connected[i] {
				group.Go(func() {
					var own []time.Duration
					room := make([]byte, 4096)
					for n := j; n < rate; n += connections {
						due := begin.Add(time.Duration(n) * time.Second / rate)
						time.Sleep(time.Until(due))
						if err := c.exchange(room); err != nil {
							b.Error(err)
							return
						}
						own = append(own, time.Since(due))
					}
					mu.Lock()
					defer mu.Unlock()
					latencies[i] = append(latencies[i], own...)
				})
			}
			group.Wait()
		}
	}
	b.ReportMetric(0, "ns/op")
	for i, m := range all {
		slices.Sort(latencies[i])
		for name, part := range map[string]int{"p50": 50, "p99": 99} {
			b.ReportMetric(float64(latencies[i][len(latencies[i])*part/100].Microseconds()), m.name+"-"+name+"-µs")
		}
	}
}
