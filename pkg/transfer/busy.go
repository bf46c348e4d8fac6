package transfer

import (
	"context"
	"errors"
	"time"

	"github.com/akraino-icn/bpa/pkg/depot/client"
)

// busyLimit is the maximum total time to wait for a file that another client is sending. It is
// longer than the depot needs to detect that the other client has gone.
const busyLimit = 10 * time.Minute

// whileBusy calls try, and calls it again after a pause as long as the depot answers that it is
// busy. The pauses take at most limit in total.
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
