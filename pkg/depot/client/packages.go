package client

import (
	"bytes"
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

// PackageKey returns the public key that signs the depot's indexes of OS packages, in OpenPGP's armor. It
// returns nil if the depot has no such key.
func (d *Depot) PackageKey(ctx context.Context) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, d.base.String()+protocol.PackageKeyPath, nil)
	if err != nil {
		return nil, err
	}
	resp, err := d.client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("get the key for OS packages: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusNotFound {
		return nil, nil
	}
	if err := d.check(resp, http.StatusOK); err != nil {
		return nil, fmt.Errorf("get the key for OS packages: %w", err)
	}
	key, err := io.ReadAll(io.LimitReader(resp.Body, protocol.MaxPackageKey+1))
	if err == nil && (len(key) > protocol.MaxPackageKey || !bytes.HasPrefix(key, []byte("-----BEGIN PGP PUBLIC KEY BLOCK-----\n"))) {
		err = fmt.Errorf("the answer %.80q is not a public key in OpenPGP's armor", key)
	}
	if err != nil {
		return nil, fmt.Errorf("get the key for OS packages: %w", err)
	}
	return key, nil
}
