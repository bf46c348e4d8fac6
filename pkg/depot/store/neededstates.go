package store

import (
	"context"
	"path"
	"strings"
	"sync"

	storagedriver "github.com/distribution/distribution/v3/registry/storage/driver"
)

// neededStates is a driver that does not store the hash states that nobody reads. The registry
// library saves a state whenever it closes an upload, and each one costs as much as a small blob.
// Two kinds of states are not needed:
//
//   - The state of 0 bytes is that of a new hash.
//   - The state after the last piece is saved when the library has committed the bytes, and is
//     removed a moment later. After a crash in between, the library reads the bytes again if the
//     client repeats the request that ends the upload.
type neededStates struct {
	storagedriver.StorageDriver

	mu sync.Mutex
	// committed has the folders of the uploads whose bytes are committed and whose writers are open.
	committed map[string]struct{}
}

func newNeededStates(driver storagedriver.StorageDriver) *neededStates {
	return &neededStates{StorageDriver: driver, committed: map[string]struct{}{}}
}

func (n *neededStates) PutContent(ctx context.Context, at string, content []byte) error {
	if upload, offset, ok := parseState(at); ok && (offset == "0" || n.isCommitted(upload)) {
		return nil
	}
	return n.StorageDriver.PutContent(ctx, at, content)
}

func (n *neededStates) Writer(ctx context.Context, at string, appends bool) (storagedriver.FileWriter, error) {
	w, err := n.StorageDriver.Writer(ctx, at, appends)
	if err != nil || !strings.Contains(at, "/_uploads/") {
		return w, err
	}
	return &uploadWriter{w, n, path.Dir(at)}, nil
}

func (n *neededStates) isCommitted(upload string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	_, ok := n.committed[upload]
	return ok
}

// uploadWriter writes the bytes of an upload.
type uploadWriter struct {
	storagedriver.FileWriter
	states *neededStates
	upload string
}

func (w *uploadWriter) Commit(ctx context.Context) error {
	if err := w.FileWriter.Commit(ctx); err != nil {
		return err
	}
	w.states.mu.Lock()
	defer w.states.mu.Unlock()
	w.states.committed[w.upload] = struct{}{}
	return nil
}

func (w *uploadWriter) Close() error {
	w.states.mu.Lock()
	delete(w.states.committed, w.upload)
	w.states.mu.Unlock()
	return w.FileWriter.Close()
}

// parseState splits the path of a hash state into the folder of its upload and its offset.
func parseState(at string) (upload, offset string, ok bool) {
	folder, offset := path.Split(at)
	upload, ok = strings.CutSuffix(folder, "/"+stateFolder+"/")
	return upload, offset, ok && strings.Contains(upload, "/_uploads/")
}
