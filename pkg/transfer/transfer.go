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

// Options are the options of a transfer.
type Options struct {
	// Jobs is the number of blobs and files that are copied at the same time; 0: 8.
	Jobs int
	// Platforms are the platforms to copy of a multi-platform image; none: all.
	Platforms []v1.Platform
	// Log receives a line for each image and file, and a line every few seconds; nil: no log.
	Log io.Writer
	// Now is the clock; nil: time.Now.
	Now func() time.Time
}

// Done is the result of a transfer.
type Done struct {
	// Images and Files are the numbers of artifacts that were copied.
	Images, Files int
	// Sent is the number of bytes that were sent. The field There is the number of bytes that were
	// not sent, because the depot had blobs with these digests already.
	Sent, There int64
}

const (
	defaultJobs = 8
	// maxErrors is the maximum number of errors that are joined. If the source cannot be reached,
	// every artifact fails, and the list of all errors would be too long.
	maxErrors = 5
)

// ToDepot copies all images and files on the list into the depot. If some artifacts fail, the
// others are copied nevertheless, and the returned error joins the failures. Blobs that the depot
// has are not sent. ToDepot reads the manifests of all images on the list, so the caller should
// leave out artifacts that the depot has.
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
	_ = g.Wait() // jobs report their errors to c
	return c.done, c.verdict(ctx)
}

// copier is one transfer.
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

// job copies one blob or file. The largest jobs start first, so that no large job runs alone at the
// end.
type job struct {
	size int64
	do   func(context.Context)
}

// imageJob is an image that is being copied. It becomes visible in the depot after all its blobs
// have arrived.
type imageJob struct {
	Tree
	place  artifacts.Place
	left   atomic.Int32 // number of blobs that have not arrived in the depot yet
	failed atomic.Bool  // the error has been reported, and nothing more is sent for this image
}

// plan reads all manifests and makes one job for each blob, even if several images contain it.
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
	_ = g.Wait() // the functions report their errors to c
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

// shared is a blob and the images that contain it.
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
	// No blob has to be sent: the index is empty, or the image has no blob that may be distributed.
	if len(p.Blobs) == 0 {
		c.jobs = append(c.jobs, job{0, func(ctx context.Context) { c.finish(ctx, p) }})
	}
}

// blob sends a blob to the repository of one image. The depot then copies the blob from there to
// the repositories of the other images that contain it. If sending or copying fails for an image,
// blob gives up this image and continues with the next one.
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

// finish makes an image visible in the depot. It stores an index after the manifests that the index
// lists, and the manifest with the tag last.
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
			return 0, fmt.Errorf("the content %w: it has %d bytes, expected %d", ErrDamaged, size, f.Size)
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

// ahead is the number of bytes of a file that are read before the request to the depot starts. A
// depot ends a request whose body does not begin within 10 s, but a source may need longer to
// begin. Once the depot has received this many bytes, it accepts a pause of stallLimit. No source
// may pause for longer.
const ahead = 1 << 20

// begun waits until the first bytes of the content have been read. It returns a reader of the whole
// content, including these bytes.
func begun(content io.Reader) (io.Reader, error) {
	buffered := bufio.NewReaderSize(content, ahead)
	if _, err := buffered.Peek(ahead); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return buffered, nil
}

// maxHeld is the maximum size, in bytes, of a file whose server does not send its size. Such a file
// is read into memory, because the depot needs the size at the start of the request.
const maxHeld = 16 << 20

func held(content io.Reader) (io.Reader, int64, error) {
	all, err := io.ReadAll(io.LimitReader(content, maxHeld+1))
	if err == nil && len(all) > maxHeld {
		err = fmt.Errorf("its server does not send its size, and it has more than %s: add the size to the list", Bytes(maxHeld))
	}
	return bytes.NewReader(all), int64(len(all)), err
}

// drop gives an image up. It reports the error of an image only once.
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
		return fmt.Errorf("interrupted; the artifacts that were copied stay in the depot: %w", context.Cause(ctx))
	}
	all := refusalFirst(c.failed)
	if over := len(all) - maxErrors; over > 0 {
		all = append(all[:maxErrors], fmt.Errorf("and %d more", over))
	}
	return errors.Join(all...)
}

// refusalFirst moves the depot's refusal to the beginning of the error, where no length limit cuts
// it off. The refusal names the command that grants the right. Only one refusal is kept, because
// all refusals of a depot have the same text.
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
