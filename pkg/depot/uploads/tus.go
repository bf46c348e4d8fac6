package uploads

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/tus/tusd/v2/pkg/handler"

	"github.com/akraino-icn/bpa/pkg/depot/protocol"
)

// TusStore lets the tus handler use the uploads of a service. The context of each request must have
// a TusRequest, which names the artifact, see WithTusRequest.
type TusStore struct {
	*Service
	// Errors converts an error into an error with which the handler can answer.
	Errors func(error) error
}

// TusRequest has those properties of a request that TusStore needs and that the tus handler does
// not pass on.
type TusRequest struct {
	// Record is the record of the artifact. For a new artifact, the record is complete except for
	// the length.
	Record protocol.Record
	// Claim says how the request acquires the lock; the handler adds Interrupt.
	Claim Claim
	// ReadOnly means that the request neither waits for a transfer nor interrupts it.
	ReadOnly bool
	// unlocked means that a read-only request has no lock, since a transfer was running.
	unlocked bool
}

type requestKey struct{}

// WithTusRequest returns a context that passes r to TusStore. Each request needs a context of its
// own.
func WithTusRequest(ctx context.Context, r TusRequest) context.Context {
	return context.WithValue(ctx, requestKey{}, &r)
}

func tusRequest(ctx context.Context) (*TusRequest, error) {
	r, ok := ctx.Value(requestKey{}).(*TusRequest)
	if !ok {
		return nil, errors.New("the request names no artifact")
	}
	return r, nil
}

// NewLock returns the artifact's lock for the tus handler. id must be a result of TusID.
func (t TusStore) NewLock(id string) (handler.Lock, error) {
	k, _, ok := cutTusID(id)
	if !ok {
		return nil, handler.ErrNotFound
	}
	return &tusLock{store: t, key: k}, nil
}

type tusLock struct {
	store  TusStore
	key    string
	unlock func()
}

func (l *tusLock) Lock(ctx context.Context, interrupt func()) error {
	r, err := tusRequest(ctx)
	if err != nil {
		return err
	}
	if _, running := l.store.locks.running(l.key); running && r.ReadOnly {
		r.unlocked, l.unlock = true, func() {}
		return nil
	}
	if r.ReadOnly { // a client that asks for the offset needs an answer soon
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, transferLimit)
		defer cancel()
	}
	claim := r.Claim
	claim.Interrupt = interrupt
	l.unlock, err = l.store.locks.acquire(ctx, l.key, claim)
	if err != nil && r.ReadOnly {
		err = ErrFinishing
	}
	return l.store.Errors(err)
}

func (l *tusLock) Unlock() error {
	l.unlock()
	return nil
}

// TusID returns an upload's id for the tus handler: the artifact's key, which is the name of its
// lock, and the upload's own id.
func TusID(ref protocol.Ref, id string) string { return key(ref) + "." + id }

func cutTusID(tusID string) (key, id string, ok bool) { return strings.Cut(tusID, ".") }

// Knows reports whether id is the id of the artifact's open upload, or of the upload that the
// artifact came from.
func (s *Service) Knows(ctx context.Context, ref protocol.Ref, id string) (bool, error) {
	p, open, err := s.pending(ctx, ref)
	if err != nil {
		return false, err
	}
	if open && p.ID == id {
		return true, nil
	}
	stored, err := s.Stored(ctx, ref)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	return err == nil && stored.Upload == id, err
}

// NewUpload opens an upload under the artifact's lock.
func (t TusStore) NewUpload(ctx context.Context, info handler.FileInfo) (handler.Upload, error) {
	r, err := tusRequest(ctx)
	if err != nil {
		return nil, err
	}
	rec := r.Record
	unlock, err := t.Lock(ctx, rec.Ref(), Claim{})
	if err != nil {
		return nil, t.Errors(err)
	}
	defer unlock()
	rec.ImageLength = info.Size
	p, err := t.Create(ctx, rec)
	if err != nil {
		return nil, t.Errors(err)
	}
	return &tusUpload{t, p}, nil
}

// GetUpload returns an open upload, or a finished one.
func (t TusStore) GetUpload(ctx context.Context, tusID string) (handler.Upload, error) {
	r, err := tusRequest(ctx)
	if err != nil {
		return nil, err
	}
	rec := r.Record
	_, id, _ := cutTusID(tusID)
	p, err := t.Open(ctx, rec.Ref())
	if err == nil && p.ID == id {
		return t.resumed(ctx, p, r.unlocked)
	}
	if err != nil && !errors.Is(err, ErrNotFound) {
		return nil, t.Errors(err)
	}
	stored, err := t.Stored(ctx, rec.Ref())
	if err == nil && stored.Upload == id {
		return &tusUpload{t, Pending{ID: id, Record: stored.Record, Digest: stored.Digest}}, nil
	}
	if err != nil && !errors.Is(err, ErrNotFound) {
		return nil, t.Errors(err)
	}
	return nil, handler.ErrNotFound
}

// resumed finishes an upload that has all its bytes but was not finished because of a crash or a
// full disk. The client sends no further request that would finish it, since it sees that all bytes
// are stored. If another request still receives the last bytes, that request finishes the upload,
// and resumed returns ErrFinishing.
func (t TusStore) resumed(ctx context.Context, p Pending, unlocked bool) (handler.Upload, error) {
	if *p.Record.ImageOffset < p.Record.ImageLength {
		return &tusUpload{t, p}, nil
	}
	if unlocked {
		return nil, t.Errors(ErrFinishing)
	}
	rec, err := t.Finish(ctx, p)
	if err != nil {
		return nil, t.Errors(err)
	}
	return &tusUpload{t, Pending{ID: p.ID, Record: rec}}, nil
}

// AsTerminatableUpload lets a client cancel an upload.
func (t TusStore) AsTerminatableUpload(u handler.Upload) handler.TerminatableUpload {
	return u.(*tusUpload) //nolint:forcetypeassert // the handler passes back the upload that this store returned
}

type tusUpload struct {
	store TusStore
	Pending
}

func (u *tusUpload) GetInfo(context.Context) (handler.FileInfo, error) {
	return handler.FileInfo{
		ID:       TusID(u.Record.Ref(), u.ID),
		Size:     u.Record.ImageLength,
		Offset:   *u.Record.ImageOffset,
		MetaData: handler.MetaData{"filename": u.Record.ImageName},
	}, nil
}

func (u *tusUpload) WriteChunk(ctx context.Context, offset int64, src io.Reader) (int64, error) {
	next, err := u.store.Append(context.WithoutCancel(ctx), u.Pending, offset, src)
	if err != nil {
		return next - offset, u.store.Errors(err)
	}
	return next - offset, nil
}

func (u *tusUpload) FinishUpload(ctx context.Context) error {
	if u.Writer == "" {
		return nil // it is finished
	}
	_, err := u.store.Finish(ctx, u.Pending)
	return u.store.Errors(err)
}

func (u *tusUpload) GetReader(context.Context) (io.ReadCloser, error) {
	return nil, handler.NewError("ERR_NOT_SERVED", "download the artifact's content instead", http.StatusNotFound)
}

func (u *tusUpload) Terminate(ctx context.Context) error {
	if u.Writer == "" {
		return u.store.Errors(ErrComplete)
	}
	return u.store.Errors(u.store.Abort(context.WithoutCancel(ctx), u.Pending))
}
