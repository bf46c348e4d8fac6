package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"syscall"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	registry "github.com/google/go-containerregistry/pkg/v1/remote/transport"
)

// retryPauses are the pauses between attempts to upload a blob.
var retryPauses = []time.Duration{time.Second, 3 * time.Second}

// PutBlob uploads a layer or a configuration, unless the repository has it already. from is empty
// or names another repository of the depot. If that repository has the blob, the depot may take the
// blob from there, and the client does not send it.
//
// A blob needs two requests. The first one begins the upload and names a repository that may have
// the blob; if from is empty, this is the repository itself. So the client need not ask in a request
// of its own whether the blob is there. The second request sends the bytes and ends the upload.
// go-containerregistry would send the bytes in a request before that one, and a registry stores the
// state of the upload after such a request. That state is useless here, because each attempt starts
// from the beginning, and it is expensive for a small blob.
func (d *Depot) PutBlob(ctx context.Context, repository, from string, blob v1.Layer) error {
	u := upload{d, repository, from, blob}
	err := u.try(ctx)
	for _, pause := range retryPauses {
		if !isTemporary(err) {
			break
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
		err = u.try(ctx)
	}
	if err != nil {
		return d.explain(fmt.Errorf("upload to %s: %w", repository, err))
	}
	return nil
}

// isTemporary reports whether another attempt may succeed.
func isTemporary(err error) bool {
	var answer *registry.Error
	if errors.As(err, &answer) {
		return answer.Temporary()
	}
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		return true
	}
	for _, broken := range []error{io.EOF, io.ErrUnexpectedEOF, syscall.EPIPE, syscall.ECONNRESET, net.ErrClosed} {
		if errors.Is(err, broken) {
			return true
		}
	}
	return false
}

// upload is the upload of one blob.
type upload struct {
	*Depot
	repository, from string
	blob             v1.Layer
}

// try uploads the blob from the beginning.
func (u upload) try(ctx context.Context) error {
	digest, err := u.blob.Digest()
	if err != nil {
		return err
	}
	from := url.Values{"mount": {digest.String()}, "from": {cmp.Or(u.from, u.repository)}}
	begin := u.base.String() + "/v2/" + u.repository + "/blobs/uploads/?" + from.Encode()
	begun, err := u.call(ctx, http.MethodPost, begin, nil, http.StatusCreated, http.StatusAccepted)
	if err != nil || begun.StatusCode == http.StatusCreated {
		return err
	}
	to, err := begun.Location()
	if err != nil {
		return fmt.Errorf("the depot's answer has no valid Location for the upload: %w", err)
	}
	query := to.Query()
	query.Set("digest", digest.String())
	to.RawQuery = query.Encode()
	return u.send(ctx, to.String())
}

func (u upload) send(ctx context.Context, to string) error {
	size, err := u.blob.Size()
	if err != nil {
		return err
	}
	content, err := u.blob.Compressed()
	if err != nil {
		return err
	}
	defer content.Close()
	_, err = u.call(ctx, http.MethodPut, to, &sized{content, size}, http.StatusCreated)
	return err
}

// call sends a request, reads the body of the answer and returns the answer. It returns an error if
// the status of the answer is not one of codes.
func (u upload) call(ctx context.Context, method, to string, body *sized, codes ...int) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, to, nil)
	if err != nil {
		return nil, err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/octet-stream")
		if body.size != 0 {
			req.Body, req.ContentLength = io.NopCloser(body), body.size // the caller closes the body
		}
	}
	resp, err := u.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if err := registry.CheckError(resp, codes...); err != nil {
		return nil, err
	}
	_, err = io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10)) // so that the next request can use the connection
	return resp, err
}
