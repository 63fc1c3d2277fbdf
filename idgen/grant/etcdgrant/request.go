package etcdgrant

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/snowkey-go/snowkey/idgen/grant"
	"github.com/snowkey-go/snowkey/internal/dialect"
)

const (
	patience   = 10 * time.Second      // with a context that has no end
	perAttempt = 2 * time.Second       // after that another endpoint is asked
	leastWait  = 20 * time.Millisecond // between attempts, on average
	perRedial  = time.Second           // between connections that are asked for at once
)

// errLearner is the answer of a member that does not vote.
var errLearner = rpctypes.Error(rpctypes.ErrGRPCNotSupportedForLearner)

// change is a transaction: puts that are made if all comparisons hold.
type change struct {
	compare []clientv3.Cmp
	put     []clientv3.Op
}

// limited returns a context that has an end.
func limited(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, has := ctx.Deadline(); has {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, patience)
}

// ask returns the answers to gets at one revision. It is linearizable, and asks again, also other endpoints, while none answers.
func (s *Store) ask(ctx context.Context, gets ...clientv3.Op) ([]*pb.RangeResponse, error) {
	for {
		response, err := s.transact(ctx, nil, gets)
		if err == nil {
			ranges := make([]*pb.RangeResponse, len(response.Responses))
			for i, r := range response.Responses {
				ranges[i] = r.GetResponseRange()
			}
			return ranges, nil
		}
		if !s.again(ctx, err) {
			return nil, err
		}
	}
}

// commit makes a change, and reports whether it was made. It sends the transaction again where there was no answer, which makes it once at most, since it compares
// revisions that it changes. Where it was not made, lost is the error of an attempt without an answer, which may have made it.
func (s *Store) commit(ctx context.Context, c change) (done bool, lost, err error) {
	for {
		response, err := s.transact(ctx, c.compare, c.put)
		if err == nil {
			return response.Succeeded, lost, nil
		}
		if ambiguous(err) {
			lost = err
		}
		if !s.again(ctx, err) {
			return false, lost, err
		}
	}
}

// unknown says of a change that is not to be seen, and of which an answer was lost, that it may have been made.
func unknown(lost error) error {
	if lost == nil {
		return nil
	}
	return fmt.Errorf("the change may have been made, and was changed again since: %w", lost)
}

// transact is one attempt.
func (s *Store) transact(ctx context.Context, compare []clientv3.Cmp, ops []clientv3.Op) (*clientv3.TxnResponse, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	timeout := perAttempt
	if deadline, has := ctx.Deadline(); has {
		timeout = min(timeout, max(time.Until(deadline)/3, 2*leastWait))
	}
	attempt, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	before := s.known()
	response, err := s.client.Txn(clientv3.WithRequireLeader(attempt)).If(compare...).Then(ops...).Commit()
	if err != nil {
		return nil, err
	}
	s.notice(before, response.Header)
	return response, nil
}

// again waits a moment, and reports whether a request is to be made again after an error.
func (s *Store) again(ctx context.Context, err error) bool {
	if !passing(err) || ctx.Err() != nil {
		return false
	}
	s.redial()
	return dialect.Sleep(ctx, leastWait/2+rand.N(leastWait)) == nil
}

// redial has the client connect at once where it has no connection, about once a second. By itself it waits for longer and longer, up to two minutes, so that keys would stay away when etcd has been back
// for long.
func (s *Store) redial() {
	s.mu.Lock()
	now := time.Now()
	due := now.Sub(s.redialed) >= perRedial
	if due {
		s.redialed = now
	}
	s.mu.Unlock()
	if due {
		s.client.ActiveConnection().ResetConnectBackoff()
	}
}

// passing reports whether another attempt may succeed: there was no leader, no answer in time, or the endpoint is a learner.
func passing(err error) bool {
	return ambiguous(err) || errors.Is(err, errLearner) || errors.Is(err, rpctypes.ErrTooManyRequests)
}

// ambiguous reports whether a change may have been made though there is an error.
func ambiguous(err error) bool {
	switch codeOf(err) {
	case codes.Unavailable, codes.DeadlineExceeded, codes.Canceled:
		return true
	}
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

func codeOf(err error) codes.Code {
	var known rpctypes.EtcdError
	if errors.As(err, &known) {
		return known.Code()
	}
	return status.Code(err)
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
	case errors.Is(err, errLearner):
		err = fmt.Errorf("%w: %w; name the members that vote", grant.ErrReadOnly, err)
	case s.client != nil && passing(err) && !errors.Is(err, context.Canceled):
		err = fmt.Errorf("no answer in time from %s: is it etcd, does it run, and is TLS on at both sides or at none? %w", strings.Join(s.client.Endpoints(), ", "), err)
	case errors.Is(err, rpctypes.ErrNoSpace):
		err = fmt.Errorf("%w: %w; compact and defragment etcd, and disarm the alarm NOSPACE", grant.ErrReadOnly, err)
	case codeOf(err) == codes.DataLoss:
		err = fmt.Errorf("%w: %w; etcd has the alarm CORRUPT", grant.ErrStore, err)
	}
	return fmt.Errorf("etcdgrant: %s: %w", fmt.Sprintf(doing, args...), err)
}
