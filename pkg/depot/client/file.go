package client

import (
	"bufio"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"

	registry "github.com/google/go-containerregistry/pkg/v1/remote/transport"

	"github.com/akraino-icn/bpa/pkg/artifacts"
	"github.com/akraino-icn/bpa/pkg/depot/protocol"
)

var sumPattern = regexp.MustCompile(`^[0-9a-f]{64}\s`)

// FileState returns a file's size and, if checksum is set, its SHA-256. The result there is false
// if the depot does not have the file. The first request for a checksum takes as long as reading
// the file.
func (d *Depot) FileState(ctx context.Context, path string, checksum bool) (state artifacts.FileState, there bool, err error) {
	header := http.Header{}
	if checksum {
		header.Set(protocol.WantChecksumHeader, "sha-256=1")
	}
	resp, err := d.file(ctx, http.MethodHead, path, header, nil)
	if err != nil {
		return state, false, fmt.Errorf("file %s: %w", path, err)
	}
	resp.Body.Close()
	if resp.StatusCode == http.StatusNotFound {
		return state, false, nil
	}
	if err := d.check(resp, http.StatusOK); err != nil {
		return state, false, fmt.Errorf("file %s: %w", path, err)
	}
	state.Size = resp.ContentLength
	if checksum {
		if state.SHA256 = resp.Header.Get(protocol.ChecksumHeader); state.SHA256 == "" {
			state.SHA256, err = d.checksum(ctx, path)
		}
	}
	return state, err == nil, err
}

// checksum downloads PATH.sha256. It is for servers that do not send ChecksumHeader.
func (d *Depot) checksum(ctx context.Context, path string) (string, error) {
	resp, err := d.file(ctx, http.MethodGet, path+".sha256", nil, nil)
	if err != nil {
		return "", fmt.Errorf("checksum of %s: %w", path, err)
	}
	defer resp.Body.Close()
	if err := d.check(resp, http.StatusOK); err != nil {
		return "", fmt.Errorf("checksum of %s: %w", path, err)
	}
	line, err := bufio.NewReader(io.LimitReader(resp.Body, 4096)).ReadString('\n')
	if err != nil || !sumPattern.MatchString(line) {
		return "", fmt.Errorf("checksum of %s: the depot's answer %.80q (%v) does not have the format of sha256sum", path, line, err)
	}
	return line[:hex.EncodedLen(32)], nil
}

// GetFile opens a file for reading and returns its size in bytes; -1 if the depot does not send it.
func (d *Depot) GetFile(ctx context.Context, path string) (io.ReadCloser, int64, error) {
	resp, err := d.file(ctx, http.MethodGet, path, nil, nil)
	if err != nil {
		return nil, 0, fmt.Errorf("file %s: %w", path, err)
	}
	if err := d.check(resp, http.StatusOK); err != nil {
		resp.Body.Close()
		return nil, 0, fmt.Errorf("file %s: %w", path, err)
	}
	return resp.Body, resp.ContentLength, nil
}

// PutFile stores a file of size bytes, completely or not at all. sha256 is empty if it is not known
// beforehand. The error is a *Busy if a later attempt may succeed, for example while another client
// sends the same file.
func (d *Depot) PutFile(ctx context.Context, path string, size int64, sha256 string, body io.Reader) error {
	if err := artifacts.CheckPath(path); err != nil {
		return err
	}
	header := http.Header{"Content-Type": {"application/octet-stream"}}
	if sha256 != "" {
		header.Set(protocol.ChecksumHeader, sha256)
	}
	if size >= expectContinueSize {
		header.Set("Expect", "100-continue")
	}
	resp, err := d.file(ctx, http.MethodPut, path, header, &sized{body, size})
	if err != nil {
		return fmt.Errorf("upload file %s: %w", path, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusMethodNotAllowed {
		return fmt.Errorf("upload file %s: this depot does not accept files at %s/files: upgrade the depot, or copy the file into the depot's folder", path, d.base)
	}
	if err := d.check(resp, http.StatusCreated, http.StatusOK, http.StatusNoContent); err != nil {
		return fmt.Errorf("upload file %s: %w", path, err)
	}
	return nil
}

// DeleteArtifact deletes an artifact of /v1. If the depot does not have it, nothing is left to do.
func (d *Depot) DeleteArtifact(ctx context.Context, ref protocol.Ref) error {
	if err := ref.Validate(); err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodDelete, d.base.String()+ref.Path(), nil)
	if err != nil {
		return err
	}
	resp, err := d.client.Do(req)
	if err != nil {
		return fmt.Errorf("delete %s: %w", ref, err)
	}
	defer resp.Body.Close()
	if err := d.check(resp, http.StatusOK, http.StatusNoContent, http.StatusNotFound); err != nil {
		return fmt.Errorf("delete %s: %w", ref, err)
	}
	return nil
}

// expectContinueSize is the size in bytes from which PutFile sends the body only after the depot
// has accepted the header: a refusal that arrives in the middle of a body may be lost.
const expectContinueSize = 64 << 10

type sized struct {
	io.Reader
	size int64
}

// filePath returns the URL path at which a file is read or written. An artifact
// (kind/owner/cluster/name) is written at /v1, which keeps a record of it; every other file, and
// every read, uses /files.
func filePath(method, path string) string {
	if ref, _ := protocol.ParseFilePath(path); method == http.MethodPut && slices.Contains(protocol.Kinds, ref.Kind) {
		return ref.Path() + "/content" // also for a bad name: the depot's refusal explains what is wrong
	}
	return "/files/" + (&url.URL{Path: path}).EscapedPath()
}

func (d *Depot) file(ctx context.Context, method, path string, header http.Header, body *sized) (*http.Response, error) {
	target := d.base.String() + filePath(method, path)
	req, err := http.NewRequestWithContext(ctx, method, target, nil)
	if err != nil {
		return nil, err
	}
	if header != nil {
		req.Header = header
	}
	if body != nil && body.size != 0 {
		req.Body, req.ContentLength = io.NopCloser(body), body.size // the caller closes the body
	}
	return d.client.Do(req)
}

// check returns an error if the status of an answer is not one of codes.
func (d *Depot) check(resp *http.Response, codes ...int) error {
	if err := registry.CheckError(resp, codes...); err != nil {
		return busy(resp, d.explain(err))
	}
	return nil
}
