package uploads

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"github.com/akraino-icn/bpa/pkg/depot/artifact"
)

// Same reads body to its end and returns the record of the artifact that is
// there, if it has the same bytes. If it has others, or is not complete, the
// answer is exists, without reading more than is needed to see that.
func (s *Service) Same(ctx context.Context, rec artifact.Record, body io.Reader, exists error) (artifact.Record, error) {
	stored, err := s.Stored(ctx, rec.Ref())
	if errors.Is(err, ErrNotFound) {
		return rec, exists
	}
	if err != nil {
		return rec, err
	}
	held := stored.Record
	if rec.ImageLength != held.ImageLength || rec.SHA256 != "" && rec.SHA256 != held.SHA256 {
		return rec, exists
	}
	body, ended := s.locks.transfer(key(rec.Ref()), -1, body)
	defer ended()
	h := sha256.New()
	n, err := io.Copy(h, body)
	if err != nil {
		return rec, fmt.Errorf("compare with %s: %w", rec.Ref(), err)
	}
	if n < rec.ImageLength {
		return rec, ErrBody
	}
	came := hex.EncodeToString(h.Sum(nil))
	switch {
	case came == held.SHA256:
		return held, nil
	case rec.SHA256 != "":
		return rec, &DigestError{Given: rec.SHA256, Computed: came}
	}
	return rec, exists
}
