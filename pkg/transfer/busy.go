package transfer

import (
	"context"
	"errors"
	"time"

	"github.com/akraino-icn/bpa/pkg/depot/client"
)

// busyLimit is how long a file is tried again while another client is in the way: longer than the depot takes to notice that one has gone.
const busyLimit = 10 * time.Minute

// whileBusy tries again as often as the depot asks for it, and waits no longer than limit in all.
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
