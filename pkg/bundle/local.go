package bundle

import (
	"context"
	"io"
	"os"

	"github.com/akraino-icn/bpa/pkg/artifacts"
	"github.com/akraino-icn/bpa/pkg/transfer"
)

// WithLocal returns a source that reads some files from this machine and everything else from
// another source. files maps the path of a file in the depot to its path on this machine.
func WithLocal(from transfer.Source, files map[string]string) transfer.Source {
	return local{from, files}
}

type local struct {
	transfer.Source
	files map[string]string
}

// File implements transfer.Source.
func (l local) File(ctx context.Context, file artifacts.File) (io.ReadCloser, int64, error) {
	disk, ok := l.files[file.Path]
	if !ok {
		return l.Source.File(ctx, file)
	}
	in, err := os.Open(disk)
	if err != nil {
		return nil, 0, err
	}
	info, err := in.Stat()
	if err != nil {
		in.Close()
		return nil, 0, err
	}
	return in, info.Size(), nil
}
