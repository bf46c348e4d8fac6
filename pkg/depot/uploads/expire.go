package uploads

import (
	"context"
	"time"

	"github.com/akraino-icn/bpa/pkg/depot/protocol"
)

// Expire removes the uploads that received no data for longer than the limit.
func (s *Service) Expire(ctx context.Context) error {
	limit := s.quota.Limits().Expiry
	if limit <= 0 {
		return nil
	}
	return s.eachPending(ctx, func(p Pending) error {
		ref := p.Record.Ref()
		if s.now().Sub(p.Touched) < limit || s.busy(ref) {
			return nil
		}
		return s.expire(ctx, ref, limit)
	})
}

// expire locks the artifact and removes its upload, unless the upload has received data since it
// was listed.
func (s *Service) expire(ctx context.Context, ref protocol.Ref, limit time.Duration) error {
	unlock, err := s.Lock(ctx, ref, Claim{})
	if err != nil {
		return err
	}
	defer unlock()
	p, open, err := s.pending(ctx, ref)
	if err != nil || !open || s.now().Sub(p.Touched) < limit {
		return err
	}
	s.log.Info("removed an abandoned upload", "artifact", ref.String(), "idle", s.now().Sub(p.Touched).String())
	return s.Abort(ctx, p)
}
