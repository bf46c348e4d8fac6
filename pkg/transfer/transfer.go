package transfer

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"golang.org/x/sync/errgroup"

	"github.com/akraino-icn/bpa/pkg/artifacts"
	"github.com/akraino-icn/bpa/pkg/depot/client"
)

// Options of a carrying.
type Options struct {
	// Jobs is how many blobs and files are under way at a time; 0: 8.
	Jobs int
	// Platforms are those that are taken of images for several; none: all.
	Platforms []v1.Platform
	// Log takes a line for each image and file, and one every few seconds.
	Log io.Writer
	// Now is the clock; nil: time.Now.
	Now func() time.Time
}

// Done is what a carrying did.
type Done struct {
	Images, Files int
	// Sent and There are bytes that were sent, and that the depot had by digest.
	Sent, There int64
}

const (
	defaultJobs = 8
	// maxErrors bounds the error: a source that is gone fails with everything.
	maxErrors = 5
)

// ToDepot brings everything on the list into the depot. What fails does not keep the rest from coming; the error tells of it. It need not
// be asked which of it the depot has, but what is known to be there should not be on the list: its manifests would be read for nothing.
func ToDepot(ctx context.Context, list artifacts.List, from Source, to *client.Depot, o Options) (Done, error) {
	o.Jobs = cmp.Or(o.Jobs, defaultJobs)
	if o.Now == nil {
		o.Now = time.Now
	}
	c := &copier{Options: o, from: from, to: to, meter: newMeter(o.Log, o.Now)}
	c.plan(ctx, list)
	c.meter.begin()
	defer c.meter.end()
	g := errgroup.Group{}
	g.SetLimit(o.Jobs)
	for _, j := range c.jobs {
		g.Go(func() error {
			if ctx.Err() == nil {
				j.do(ctx)
			}
			return nil
		})
	}
	_ = g.Wait() // jobs tell c
	return c.done, c.verdict(ctx)
}

// copier is one carrying.
type copier struct {
	Options
	from  Source
	to    *client.Depot
	meter *meter
	jobs  []job

	mu     sync.Mutex
	done   Done
	failed []error
}

// job is one thing to send; the largest go first, so that none is left over alone at the end.
type job struct {
	size int64
	do   func(context.Context)
}

// imageJob is an image that becomes visible when all its blobs are there.
type imageJob struct {
	Tree
	place  artifacts.Place
	left   atomic.Int32
	failed atomic.Bool // once told: the rest of it would be sent for nothing
}

// plan reads all manifests and makes one job of each blob, however many images have it.
func (c *copier) plan(ctx context.Context, list artifacts.List) {
	var g errgroup.Group
	g.SetLimit(c.Jobs)
	images := make([]*imageJob, len(list.Images))
	for n, image := range list.Images {
		g.Go(func() error {
			p := &imageJob{}
			var err error
			if p.place, err = image.Place(); err == nil {
				p.Tree, err = Walk(ctx, c.from, image, c.Platforms)
			}
			if err != nil {
				c.fail(err)
				return nil
			}
			images[n] = p
			return nil
		})
	}
	_ = g.Wait() // they tell c
	blobs := map[v1.Hash]*shared{}
	for _, p := range images {
		if p != nil {
			c.share(blobs, p)
		}
	}
	for _, b := range blobs {
		c.meter.expect(b.Size)
		c.jobs = append(c.jobs, job{b.Size, func(ctx context.Context) { c.blob(ctx, b) }})
	}
	for _, f := range list.Files {
		c.meter.expect(f.Size)
		c.jobs = append(c.jobs, job{f.Size, func(ctx context.Context) { c.file(ctx, f) }})
	}
	slices.SortFunc(c.jobs, func(a, b job) int { return cmp.Compare(b.size, a.size) })
}

// shared is a blob and the images that have it.
type shared struct {
	v1.Descriptor
	images []*imageJob
}

func (c *copier) share(blobs map[v1.Hash]*shared, p *imageJob) {
	p.left.Store(int32(len(p.Blobs)))
	for _, d := range p.Blobs {
		if blobs[d.Digest] == nil {
			blobs[d.Digest] = &shared{Descriptor: d}
		}
		blobs[d.Digest].images = append(blobs[d.Digest].images, p)
	}
	if len(p.Blobs) == 0 { // an index of nothing, or of what is elsewhere
		c.jobs = append(c.jobs, job{0, func(ctx context.Context) { c.finish(ctx, p) }})
	}
}

// blob sends a blob once, and has the depot take it over into the repositories of the other images. An image that cannot get it is given up; the
// others still can, from where they have it themselves.
func (c *copier) blob(ctx context.Context, b *shared) {
	var arrived []*imageJob
	var source artifacts.Image
	l := &layer{Descriptor: b.Descriptor, meter: c.meter, open: func() (io.ReadCloser, error) { return c.from.Blob(ctx, source, b.Descriptor) }}
	from := ""
	for _, p := range b.images {
		if p.failed.Load() || ctx.Err() != nil {
			continue
		}
		if source = p.Image; p.place.Repository != from {
			if err := c.to.PutBlob(ctx, p.place.Repository, from, l); err != nil {
				c.drop(p, err)
				continue
			}
			from = cmp.Or(from, p.place.Repository)
		}
		arrived = append(arrived, p)
	}
	if len(arrived) == 0 {
		return
	}
	sent := l.finish()
	c.mu.Lock()
	c.done.Sent += sent
	c.done.There += b.Size - min(sent, b.Size)
	c.mu.Unlock()
	for _, p := range arrived {
		if p.left.Add(-1) == 0 {
			c.finish(ctx, p)
		}
	}
}

// finish makes an image visible: what its index names first, its tag last.
func (c *copier) finish(ctx context.Context, p *imageJob) {
	for n, m := range p.Manifests {
		place := artifacts.Place{Repository: p.place.Repository, Digest: m.Digest.String()}
		if n == len(p.Manifests)-1 && p.place.Tag != "" {
			place = p.place
		}
		if err := c.to.PutManifest(ctx, place, m.MediaType, m.Raw); err != nil {
			c.drop(p, err)
			return
		}
	}
	c.mu.Lock()
	c.done.Images++
	c.mu.Unlock()
	c.meter.report("image %s  %s", p.Image.Ref, Bytes(p.Bytes()))
}

func (c *copier) file(ctx context.Context, f artifacts.File) {
	var size int64
	err := whileBusy(ctx, busyLimit, func() (err error) {
		size, err = c.send(ctx, f)
		return err
	})
	if err != nil {
		c.fail(fmt.Errorf("file %s: %w", f.Path, err))
		return
	}
	c.mu.Lock()
	c.done.Files++
	c.done.Sent += size
	c.mu.Unlock()
	c.meter.report("file %s  %s", f.Path, Bytes(size))
}

func (c *copier) send(ctx context.Context, f artifacts.File) (int64, error) {
	body, size, err := c.from.File(ctx, f)
	if err != nil {
		return 0, err
	}
	defer body.Close()
	want := Check{What: "the content", Size: size, SHA256: f.SHA256, SHA512: f.SHA512}
	if f.Size > 0 {
		if size >= 0 && size != f.Size {
			return 0, fmt.Errorf("the content %w: it has %d bytes, wanted are %d", ErrDamaged, size, f.Size)
		}
		want.Size = f.Size
	} else if size > 0 {
		c.meter.expect(size)
	}
	content := Verified(body, want)
	if want.Size < 0 {
		if content, want.Size, err = held(content); err != nil {
			return 0, err
		}
	}
	if content, err = begun(content); err != nil {
		return 0, err
	}
	counted := &countingReader{in: content, meter: c.meter, key: "file " + f.Path}
	if err := c.to.PutFile(ctx, f.Path, want.Size, f.SHA256, counted); err != nil {
		return 0, err
	}
	return counted.n.Load(), nil
}

// ahead is read of a file before the depot is asked to take it. A depot cuts off a body that does not begin within 10 s; these bytes earn a pause as
// long as a source may take (stallLimit).
const ahead = 1 << 20

func begun(content io.Reader) (io.Reader, error) {
	buffered := bufio.NewReaderSize(content, ahead)
	if _, err := buffered.Peek(ahead); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return buffered, nil
}

// maxHeld bounds a file that comes without its size: the depot wants to know it before it takes bytes.
const maxHeld = 16 << 20

func held(content io.Reader) (io.Reader, int64, error) {
	all, err := io.ReadAll(io.LimitReader(content, maxHeld+1))
	if err == nil && len(all) > maxHeld {
		err = fmt.Errorf("its server does not tell its size, and it has more than %s: add the size to the list", Bytes(maxHeld))
	}
	return bytes.NewReader(all), int64(len(all)), err
}

// drop gives an image up, and tells why once.
func (c *copier) drop(p *imageJob, err error) {
	if !p.failed.Swap(true) {
		c.fail(fmt.Errorf("image %s: %w", p.Image.Ref, err))
	}
}

func (c *copier) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failed = append(c.failed, err)
}

func (c *copier) verdict(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("interrupted, what is in the depot stays there: %w", context.Cause(ctx))
	}
	all := refusalFirst(c.failed)
	if over := len(all) - maxErrors; over > 0 {
		all = append(all[:maxErrors], fmt.Errorf("and %d more", over))
	}
	return errors.Join(all...)
}

// refusalFirst has what would allow it at the beginning, where no limit cuts it off, and once: the depot refuses each in the same words.
func refusalFirst(failed []error) []error {
	var refused *client.Refused
	others := slices.DeleteFunc(slices.Clone(failed), func(err error) bool {
		var r *client.Refused
		if !errors.As(err, &r) {
			return false
		}
		refused = cmp.Or(refused, r)
		return true
	})
	if refused == nil {
		return others
	}
	return append([]error{refused}, others...)
}
