package zkgrant

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/snowkey-go/snowkey/internal/dialect"
)

// warnings are those of a store, by what they are about.
type warnings struct {
	servers string
	looked  bool   // for servers
	back    string // the transactions have gone back
}

func (s *Store) known() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.zxid
}

// notice takes note of the transaction of a write that was made when an earlier one was known. It is greater, unless ZooKeeper has forgotten some. Their rows are what
// keepers look at; this is for the operator.
func (s *Store) notice(before, zxid int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case zxid < before:
		s.warnings.back = fmt.Sprintf("ZooKeeper has forgotten changes: its zxid was 0x%x, and went back to 0x%x at %s; it was restored from an older copy, or does not keep what it acknowledges",
			before, zxid, time.Now().UTC().Format(time.RFC3339))
		s.zxid = zxid
	case zxid > s.zxid:
		s.zxid = zxid
	}
}

// examine looks at the servers once, and has a warning where one alone has the grants. An account may not be allowed to, and nothing depends on it.
func (s *Store) examine(ctx context.Context) {
	s.mu.Lock()
	looked := s.warnings.looked
	s.mu.Unlock()
	if looked {
		return
	}
	text, err := dialect.Within(ctx, func() ([]byte, error) {
		text, _, err := s.client.Get("/zookeeper/config")
		return text, err
	})
	if err != nil && err != zk.ErrNoNode && err != zk.ErrNoAuth {
		return // asks again at the next Prepare
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.warnings.looked = true
	if err == nil && strings.Count(string(text), ":participant") < 2 {
		s.warnings.servers = "ZooKeeper has one server that votes: when its disk is lost, so are the grants"
	}
}
