package registry

import (
	"bytes"
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
)

// kernelled notes whether it was handed the file itself.
type kernelled struct {
	*httptest.ResponseRecorder
	pieces int
}

func (k *kernelled) ReadFrom(r io.Reader) (int64, error) {
	if limited, ok := r.(*io.LimitedReader); ok {
		if _, ok := limited.R.(*os.File); ok {
			k.pieces++
			r = &io.LimitedReader{R: limited.R, N: limited.N} // as the writers below do, which leave the one that they are given as it was
		}
	}
	return io.Copy(k.ResponseRecorder, r)
}

// A lone blob goes through the buffer, one among others by the kernel; the bytes are the same, and a file that is shorter than it was ends the answer.
func TestCopied(t *testing.T) {
	content := bytes.Repeat([]byte("0123456789"), 300_000) // three pieces
	path := filepath.Join(t.TempDir(), "blob")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		others int32
		length int64
		pieces int
	}{
		"alone":            {0, int64(len(content)), 0},
		"among others":     {1, int64(len(content)), 3},
		"a part":           {1, 10, 1},
		"cut off":          {0, int64(len(content)) + 5, 0},
		"cut off by three": {1, int64(len(content)) + 5, 3},
	} {
		t.Run(name, func(t *testing.T) {
			file, err := os.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close()
			sending.Add(tc.others)
			defer sending.Add(-tc.others)
			k := &kernelled{ResponseRecorder: httptest.NewRecorder()}
			n, err := copied{k}.ReadFrom(&io.LimitedReader{R: file, N: tc.length})
			want := content[:min(tc.length, int64(len(content)))]
			if err != nil || n != int64(len(want)) || !bytes.Equal(k.Body.Bytes(), want) {
				t.Errorf("%d bytes, %v; want %d", n, err, len(want))
			}
			if k.pieces != tc.pieces {
				t.Errorf("%d pieces were the kernel's, want %d", k.pieces, tc.pieces)
			}
		})
	}
	if left := sending.Load(); left != 0 {
		t.Errorf("%d blobs seem to be on their way still", left)
	}
}
