package client

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/akraino-icn/bpa/pkg/depot/protocol"
)

// maxPackages limits the list of packages in bytes.
const maxPackages = 64 << 20

// Packages returns the list of the binary packages in the depot, with its ETag. If etag is the ETag of a
// list that the caller has, and the list did not change within the time wait, the result is nil and etag.
// The depot limits wait to 5 min. A depot that lets no more clients wait answers at once; Packages then
// waits itself, so that a loop over it stays slow.
func (d *Depot) Packages(ctx context.Context, etag string, wait time.Duration) (list *protocol.PackageList, newETag string, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, d.base.String()+protocol.PackagesPath, nil)
	if err != nil {
		return nil, etag, err
	}
	if etag != "" {
		req.Header.Set("If-None-Match", etag)
		req.Header.Set("Prefer", "wait="+strconv.Itoa(int(wait/time.Second)))
	}
	resp, err := d.client.Do(req)
	if err != nil {
		return nil, etag, fmt.Errorf("list the packages of the depot: %w", err)
	}
	defer resp.Body.Close()
	if err := d.check(resp, http.StatusOK, http.StatusNotModified); err != nil {
		return nil, etag, fmt.Errorf("list the packages of the depot: %w", err)
	}
	if resp.StatusCode == http.StatusNotModified {
		return nil, etag, pause(ctx, resp, wait)
	}
	body := &io.LimitedReader{R: resp.Body, N: maxPackages + 1}
	list = &protocol.PackageList{}
	if err := json.NewDecoder(body).Decode(list); err != nil {
		if body.N <= 0 {
			err = fmt.Errorf("it has more than %d bytes", maxPackages)
		}
		return nil, etag, fmt.Errorf("read the list of packages of the depot: %w", err)
	}
	return list, resp.Header.Get("ETag"), nil
}

// pause waits if the depot asks for it, but not longer than wait.
func pause(ctx context.Context, resp *http.Response, wait time.Duration) error {
	seconds, err := strconv.ParseUint(resp.Header.Get("Retry-After"), 10, 31)
	if err != nil {
		return nil
	}
	select {
	case <-time.After(min(wait, maxWait, time.Duration(seconds)*time.Second)):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
