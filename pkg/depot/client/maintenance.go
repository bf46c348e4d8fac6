package client

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/akraino-icn/bpa/pkg/depot/protocol"
)

// maxMaintained limits an answer about the depot's content, in bytes: 100,000 owners.
const maxMaintained = 16 << 20

// Usage returns what the depot holds. The depot reads every manifest for it.
func (d *Depot) Usage(ctx context.Context) (u protocol.Usage, err error) {
	return u, d.maintain(ctx, http.MethodGet, protocol.UsagePath, nil, http.StatusOK, &u)
}

// CollectionOptions say what a garbage collection frees.
type CollectionOptions struct {
	DryRun bool
	// Grace is nil for the default of the depot.
	Grace *time.Duration
	// Keep is a list of images; nil: all images stay.
	Keep io.Reader
}

// StartCollection begins a garbage collection in the depot. It goes on without the client. The error
// is a *Busy if one is running already.
func (d *Depot) StartCollection(ctx context.Context, o CollectionOptions) (c protocol.Collection, err error) {
	query := url.Values{}
	if o.DryRun {
		query.Set(protocol.ParamDryRun, strconv.FormatBool(true))
	}
	if o.Grace != nil {
		query.Set(protocol.ParamGrace, o.Grace.String())
	}
	if o.Keep != nil {
		query.Set(protocol.ParamUnlisted, strconv.FormatBool(true))
	}
	return c, d.maintain(ctx, http.MethodPost, protocol.CollectionPath+"?"+query.Encode(), o.Keep, http.StatusAccepted, &c)
}

// Collection returns the garbage collection that runs in the depot, or the last one. It returns
// false if there was none since the depot was started.
func (d *Depot) Collection(ctx context.Context) (c protocol.Collection, there bool, err error) {
	err = d.maintain(ctx, http.MethodGet, protocol.CollectionPath, nil, http.StatusOK, &c)
	if isNotFound(err) {
		return c, false, nil
	}
	return c, err == nil, err
}

func (d *Depot) maintain(ctx context.Context, method, path string, body io.Reader, want int, into any) error {
	req, err := http.NewRequestWithContext(ctx, method, d.base.String()+path, body)
	if err != nil {
		return err
	}
	if body != nil {
		req.Header.Set("Content-Type", "text/plain")
	}
	resp, err := d.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusMethodNotAllowed || resp.StatusCode == http.StatusNotFound && resp.Header.Get("Content-Type") != "application/problem+json" {
		return fmt.Errorf("the depot %s has no %s: upgrade it", d.base, path)
	}
	if err := d.check(resp, want); err != nil {
		return err
	}
	return json.NewDecoder(io.LimitReader(resp.Body, maxMaintained)).Decode(into)
}
