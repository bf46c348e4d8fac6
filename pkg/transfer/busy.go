package transfer

import (
	"context"
	"errors"
	"time"

	"github.com/akraino-icn/bpa/pkg/depot/client"
)

// busyLimit is the maximum time in which a file is retried while another client sends it. It is
// longer than the depot needs to detect that a client has gone.
const busyLimit = 10 * time.Minute

// whileBusy calls try again while the depot answers that it is busy. It waits limit at most in
// total.
func whileBusy(ctx context.Context, limit time.Duration, try func() error) error {
	for {
		err := try()
		var busy *client.Busy
		if !errors.As(err, &busy) || busy.After > limit {
			return err
		}
		limit -= busy.After
		select {
		case <-ctx.Done():
			return err
		case <-time.After(busy.After):
		}
	}
}
