package zkgrant

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/snowkey-go/snowkey/idgen/grant"
	"github.com/snowkey-go/snowkey/internal/dialect"
)

const (
	patience  = 10 * time.Second      // with a context that has no end
	leastWait = 20 * time.Millisecond // between attempts, on average
	mostWait  = 20 * leastWait
)

// client is what the store uses of a [zk.Conn].
type client interface {
	Children(path string) ([]string, *zk.Stat, error)
	Create(path string, data []byte, flags int32, acl []zk.ACL) (string, error)
	Get(path string) ([]byte, *zk.Stat, error)
	Multi(ops ...any) ([]zk.MultiResponse, error)
	Set(path string, data []byte, version int32) (*zk.Stat, error)
	Sync(path string) (string, error)
	Server() string
}

// limited returns a context that has an end.
func limited(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, has := ctx.Deadline(); has {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, patience)
}

// ask returns the answer to a request, and makes it again while there is none. Lost is the error of an attempt without an answer, which the server may have
// made. An attempt ends with the client's session timeout, and may outlast the context.
func ask[T any](ctx context.Context, request func() (T, error)) (value T, lost, err error) {
	for {
		value, err = dialect.Within(ctx, request)
		if err == nil || !passing(err) {
			return value, lost, err
		}
		if !errors.Is(err, zk.ErrNoServer) { // which was not sent
			lost = err
		}
		if pause(ctx, leastWait) != nil {
			return value, lost, err
		}
	}
}

// commit makes a transaction, and reports whether it was made: not where a node that it deletes is not there any more, or one that it makes is. It sends it again where there
// was no answer, which makes it once at most, since its nodes are its own.
func (s *Store) commit(ctx context.Context, ops ...any) (done bool, lost, err error) {
	_, lost, err = ask(ctx, func() ([]zk.MultiResponse, error) { return s.client.Multi(ops...) })
	if errors.Is(err, zk.ErrNoNode) || errors.Is(err, zk.ErrNodeExists) {
		return false, lost, nil
	}
	return err == nil, lost, err
}

// check is an operation that fails the transaction where a node is not there.
func (k keys) check(node string) any {
	return &zk.CheckVersionRequest{Path: k.folder + "/" + node, Version: -1}
}

func (k keys) remove(node string) any {
	return &zk.DeleteRequest{Path: k.folder + "/" + node, Version: -1}
}

func (s *Store) create(path string) any { return &zk.CreateRequest{Path: path, Acl: s.acl} }

// replace are the operations that give a node another name.
func (s *Store) replace(k keys, old, new string) []any {
	return []any{k.remove(old), s.create(k.folder + "/" + new)}
}

// unknown says of a change that is not to be seen, and of which an answer was lost, that it may have been made.
func unknown(lost error) error {
	if lost == nil {
		return nil
	}
	return fmt.Errorf("the change may have been made, and was changed again since: %w", lost)
}

// pause waits as long as said, give or take a half, and returns the error of the context when it ends.
func pause(ctx context.Context, wait time.Duration) error {
	return dialect.Sleep(ctx, wait/2+rand.N(wait))
}

// passing reports whether another attempt may succeed: there is no server or no session, or the connection ended before the answer came.
func passing(err error) bool {
	var network net.Error
	for _, known := range []error{zk.ErrConnectionClosed, zk.ErrNoServer, zk.ErrSessionExpired, zk.ErrSessionMoved, net.ErrClosed, io.EOF} {
		if errors.Is(err, known) {
			return true
		}
	}
	return errors.As(err, &network) && !errors.Is(err, context.DeadlineExceeded)
}

// explain says what was being done when the error came, and that the context had ended where it had.
func (s *Store) explain(ctx context.Context, err error, doing string, args ...any) error {
	if err == nil {
		return nil
	}
	if ended := ctx.Err(); ended != nil && !errors.Is(err, ended) {
		err = fmt.Errorf("%w: %w", ended, err)
	}
	switch {
	case passing(err), errors.Is(err, context.DeadlineExceeded):
		err = fmt.Errorf("no answer in time, last from %s: is it ZooKeeper, does it run, and is TLS on at both sides or at none? %w", cmp.Or(s.client.Server(), "no server"), err)
	case errors.Is(err, zk.ErrNoAuth):
		err = fmt.Errorf("%w: %w below %s; the account needs the permissions cdrw there, see zk.Conn.AddAuth and the nodes' ACL", grant.ErrReadOnly, err, s.prefix)
	case errors.Is(err, zk.ErrInvalidACL):
		err = fmt.Errorf("%w: WithACL; the scheme auth needs an account, see zk.Conn.AddAuth", err)
	case errors.Is(err, zk.ErrNotEmpty):
		err = fmt.Errorf("%w: %w; nodes below those of %s were made by hand", grant.ErrStore, err, s.prefix)
	}
	return fmt.Errorf("zkgrant: %s: %w", fmt.Sprintf(doing, args...), err)
}
