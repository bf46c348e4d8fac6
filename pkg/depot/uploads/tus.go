package uploads

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/tus/tusd/v2/pkg/handler"

	"github.com/akraino-icn/bpa/pkg/depot/artifact"
)

// TusStore lets the tus handler work on uploads of a service. Which artifact a
// request is about comes with its context, see WithRecord.
type TusStore struct {
	*Service
	// Errors turns an error into one that the handler can answer with.
	Errors func(error) error
}

type recordKey struct{}

// WithRecord says which artifact a tus request is about; of a new one the
// record has everything but the length.
func WithRecord(ctx context.Context, rec artifact.Record) context.Context {
	return context.WithValue(ctx, recordKey{}, rec)
}

func recordOf(ctx context.Context) (artifact.Record, error) {
	rec, ok := ctx.Value(recordKey{}).(artifact.Record)
	if !ok {
		return rec, errors.New("the request names no artifact")
	}
	return rec, nil
}

// TusID is an upload's id within the tus handler: the artifact's key, by which
// it is locked, and the upload's own id.
func TusID(ref artifact.Ref, id string) string { return key(ref) + "." + id }

func cutTusID(tusID string) (key, id string, ok bool) { return strings.Cut(tusID, ".") }

// Knows says whether an artifact has or came from the upload with this id.
func (s *Service) Knows(ctx context.Context, ref artifact.Ref, id string) (bool, error) {
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
	rec, err := recordOf(ctx)
	if err != nil {
		return nil, err
	}
	unlock, err := t.Lock(ctx, rec.Ref(), func() {})
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

// GetUpload finds an open upload, or one that is finished.
func (t TusStore) GetUpload(ctx context.Context, tusID string) (handler.Upload, error) {
	rec, err := recordOf(ctx)
	if err != nil {
		return nil, err
	}
	_, id, _ := cutTusID(tusID)
	p, err := t.Open(ctx, rec.Ref())
	if err == nil && p.ID == id {
		return t.resumed(ctx, p)
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

// resumed finishes an upload that lacks nothing but that, because a crash or a
// full disk came between: a client that learns that all its bytes are there
// asks for no more.
func (t TusStore) resumed(ctx context.Context, p Pending) (handler.Upload, error) {
	if *p.Record.ImageOffset < p.Record.ImageLength {
		return &tusUpload{t, p}, nil
	}
	rec, err := t.Finish(ctx, p)
	if err != nil {
		return nil, t.Errors(err)
	}
	return &tusUpload{t, Pending{ID: p.ID, Record: rec}}, nil
}

// AsTerminatableUpload lets a client end an upload.
func (t TusStore) AsTerminatableUpload(u handler.Upload) handler.TerminatableUpload {
	return u.(*tusUpload) //nolint:forcetypeassert // the handler gives back what we gave it
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
