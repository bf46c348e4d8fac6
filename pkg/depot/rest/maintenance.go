package rest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/akraino-icn/bpa/pkg/depot/protocol"
)

// CollectionOptions say what a garbage collection frees.
type CollectionOptions struct {
	DryRun bool
	// Grace is nil for the default of the depot.
	Grace *time.Duration
	// Keep has the images without a tag that stay; nil: all stay.
	Keep map[digest.Digest]bool
}

// Maintenance counts and frees the content of the depot.
type Maintenance interface {
	Usage(ctx context.Context) (protocol.Usage, error)
	// StartCollection begins a collection. If one is running already, it returns that one and
	// store.ErrCollecting.
	StartCollection(o CollectionOptions) (protocol.Collection, error)
	Collection() (protocol.Collection, bool)
}

func (a *api) usage(w http.ResponseWriter, r *http.Request) {
	u, err := a.maintenance.Usage(r.Context())
	if err != nil {
		a.fail(w, r, err)
		return
	}
	answer(w, http.StatusOK, u)
}

func (a *api) getCollection(w http.ResponseWriter, r *http.Request) {
	c, ok := a.maintenance.Collection()
	if !ok {
		a.refuse(w, r, http.StatusNotFound, "no garbage collection has run since the depot was started: POST "+protocol.CollectionPath+" starts one")
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	answer(w, http.StatusOK, c)
}

func (a *api) startCollection(w http.ResponseWriter, r *http.Request) {
	o, err := readOptions(r)
	if err != nil {
		a.fail(w, r, err)
		return
	}
	c, err := a.maintenance.StartCollection(o)
	if err != nil {
		a.fail(w, r, err)
		return
	}
	w.Header().Set("Location", protocol.CollectionPath)
	answer(w, http.StatusAccepted, c)
}

func readOptions(r *http.Request) (o CollectionOptions, err error) {
	query := r.URL.Query()
	if o.DryRun, err = flagOf(query.Get(protocol.ParamDryRun)); err != nil {
		return o, bad("%s: %v", protocol.ParamDryRun, err)
	}
	if text := query.Get(protocol.ParamGrace); text != "" {
		grace, err := time.ParseDuration(text)
		if err != nil || grace < 0 {
			return o, bad("%s is %q: give a duration such as 24h", protocol.ParamGrace, text)
		}
		o.Grace = &grace
	}
	unlisted, err := flagOf(query.Get(protocol.ParamUnlisted))
	if err != nil {
		return o, bad("%s: %v", protocol.ParamUnlisted, err)
	}
	if !unlisted {
		return o, nil
	}
	o.Keep, err = ReadList(io.LimitReader(r.Body, maxKeepList))
	if err != nil {
		return o, bad("the list of images: %v", err)
	}
	return o, nil
}

func flagOf(text string) (bool, error) {
	if text == "" {
		return false, nil
	}
	on, err := strconv.ParseBool(text)
	if err != nil {
		return false, fmt.Errorf("%q is neither true nor false", text)
	}
	return on, nil
}

// maxKeepList limits a list of images, in bytes: 200,000 digests.
const maxKeepList = 16 << 20

var isDigest = regexp.MustCompile(`sha256:[0-9a-f]{64}`)

// ReadList reads a list of the images that clusters use, with one digest per line. A line may also
// be a full reference that ends with the digest, such as the imageID of a pod. A list without a
// digest is an error: it is more likely the result of a failed command than of clusters without
// images.
func ReadList(from io.Reader) (map[digest.Digest]bool, error) {
	listed := map[digest.Digest]bool{}
	lines := bufio.NewScanner(from)
	for n := 1; lines.Scan(); n++ {
		if lines.Text() == "" {
			continue
		}
		found := isDigest.FindString(lines.Text())
		if found == "" {
			return nil, fmt.Errorf("line %d has no sha256 digest: %q", n, lines.Text())
		}
		listed[digest.Digest(found)] = true
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	if len(listed) == 0 {
		return nil, errors.New("it lists no digest, so gc would free every image without a tag: write the list again with \"kubectl bpa depot images-in-use\"")
	}
	return listed, nil
}
