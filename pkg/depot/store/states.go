package store

import (
	"context"
	"crypto/sha256"
	"encoding"
	"errors"
	"hash"
	"io"
	"path"
	"slices"
	"strconv"

	storagedriver "github.com/distribution/distribution/v3/registry/storage/driver"
)

// The store saves the state of an upload's hash, so that the bytes before the state's offset need
// not be read again. The name of the state's file is the offset. The file is in the folder in which
// the registry library saves its own states. A state is written after its bytes are durable, and
// replaces the previous state. A state must not include bytes that are not stored, since other
// bytes may be written at their offsets later.

// errNoState means that the hash of an upload cannot be continued at its offset.
var errNoState = errors.New("the checksum of the upload cannot be continued, since its bytes cannot be read back: delete the upload and begin again")

// hashAt returns the hash of an upload's first offset bytes. Normally, a state for exactly this
// offset exists. After a crash or a full disk, it may be missing. On a disk, hashAt then reads the
// bytes since the last state. In a bucket, it returns errNoState.
func (s *Store) hashAt(ctx context.Context, repository, id string, offset int64) (hash.Hash, error) {
	h, err := s.loadState(ctx, repository, id, offset)
	if !IsAbsent(err) {
		return h, err
	}
	best, err := s.tidy(ctx, repository, id, offset)
	if err != nil {
		return nil, err
	}
	if h, err = s.loadState(ctx, repository, id, best); err != nil {
		return nil, err
	}
	if s.dir == "" {
		return nil, errNoState
	}
	data, err := s.Driver.Reader(ctx, uploadPath(repository, id, dataFile), best)
	if err != nil {
		return nil, err
	}
	_, err = io.CopyN(h, data, offset-best)
	if err = errors.Join(err, data.Close()); err != nil {
		return nil, err
	}
	return h, s.keepState(ctx, repository, id, h, best, offset)
}

func (s *Store) loadState(ctx context.Context, repository, id string, offset int64) (hash.Hash, error) {
	h := sha256.New()
	if offset == 0 {
		return h, nil
	}
	state, err := s.Driver.GetContent(ctx, statePath(repository, id, offset))
	if err != nil {
		return nil, err
	}
	return h, h.(encoding.BinaryUnmarshaler).UnmarshalBinary(state)
}

// keepState saves the state of the hash after offset durable bytes, and removes the state of the
// offset before.
func (s *Store) keepState(ctx context.Context, repository, id string, h hash.Hash, before, offset int64) error {
	if before == offset {
		return nil
	}
	state, err := h.(encoding.BinaryMarshaler).MarshalBinary()
	if err != nil {
		return err
	}
	if err := s.Driver.PutContent(ctx, statePath(repository, id, offset), state); err != nil {
		return err
	}
	return s.dropState(ctx, statePath(repository, id, before))
}

func (s *Store) dropState(ctx context.Context, at string) error {
	if err := s.Driver.Delete(ctx, at); err != nil && !IsAbsent(err) {
		return err
	}
	return nil
}

// Tidy removes the hash states that an earlier process left. It keeps one of them: the state with
// the highest offset that is not above the offset of the upload.
func (s *Store) Tidy(ctx context.Context, repository, id string, offset int64) error {
	_, err := s.tidy(ctx, repository, id, offset)
	return err
}

func (s *Store) tidy(ctx context.Context, repository, id string, atMost int64) (best int64, err error) {
	folder := path.Dir(statePath(repository, id, 0))
	offsets, err := statesIn(ctx, s.Driver, folder)
	if err != nil {
		return 0, err
	}
	for _, at := range offsets {
		if at <= atMost {
			best = max(best, at)
		}
	}
	for _, at := range offsets {
		if at != best {
			if err := s.dropState(ctx, statePath(repository, id, at)); err != nil {
				return 0, err
			}
		}
	}
	return best, nil
}

// statesIn lists the offsets of the hash states in a folder.
func statesIn(ctx context.Context, driver storagedriver.StorageDriver, folder string) ([]int64, error) {
	paths, err := driver.List(ctx, folder)
	if err != nil && !IsAbsent(err) {
		return nil, err
	}
	var offsets []int64
	for _, p := range paths {
		if at, err := strconv.ParseInt(path.Base(p), 10, 64); err == nil { // a file with another name is still being written
			offsets = append(offsets, at)
		}
	}
	return offsets, nil
}

const stateFolder = "hashstates/sha256"

func statePath(repository, id string, offset int64) string {
	return uploadPath(repository, id, stateFolder+"/"+strconv.FormatInt(offset, 10))
}

// FewStates returns a driver for the registry that keeps only the newest two hash states of a push.
// The registry saves a state for each piece that a client pushes, and lists all states before each
// piece. The registry writes a state before the bytes of that state are stored, so the previous
// state is still needed after a crash.
func FewStates(driver storagedriver.StorageDriver) storagedriver.StorageDriver {
	return fewStates{driver}
}

type fewStates struct{ storagedriver.StorageDriver }

func (f fewStates) PutContent(ctx context.Context, at string, content []byte) error {
	if err := f.StorageDriver.PutContent(ctx, at, content); err != nil {
		return err
	}
	if _, _, ok := parseState(at); !ok {
		return nil
	}
	folder := path.Dir(at)
	offsets, err := statesIn(ctx, f.StorageDriver, folder)
	if err != nil {
		return err
	}
	slices.Sort(offsets)
	for _, old := range offsets[:max(0, len(offsets)-2)] {
		if err := f.Delete(ctx, path.Join(folder, strconv.FormatInt(old, 10))); err != nil && !IsAbsent(err) {
			return err
		}
	}
	return nil
}
