package transfer

import (
	"bufio"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
)

// Check describes the expected content.
type Check struct {
	What   string // name of the content in errors
	Size   int64  // -1: any
	SHA256 string // hexadecimal; empty: any
	SHA512 string // likewise
}

// ErrDamaged is wrapped by the error of content that does not match its Check.
var ErrDamaged = errors.New("does not match its checksum or size")

// Verified returns a reader that reads from in and checks the content. It returns the last bytes
// only if the whole content matches want, and ends with ErrDamaged otherwise. A client that stores
// a stream only when it is complete therefore never stores wrong content.
func Verified(in io.Reader, want Check) io.Reader {
	v := &verifier{in: bufio.NewReaderSize(in, 64<<10), want: want}
	if want.SHA256 != "" {
		v.sum256 = sha256.New()
	}
	if want.SHA512 != "" {
		v.sum512 = sha512.New()
	}
	return v
}

type verifier struct {
	in             *bufio.Reader
	want           Check
	sum256, sum512 hash.Hash
	size           int64
	err            error // first error that occurred; all later reads return it
}

func (v *verifier) Read(p []byte) (int, error) {
	if v.err != nil {
		return 0, v.err
	}
	n, err := v.in.Read(p)
	v.add(p[:n])
	if err == nil {
		if _, ahead := v.in.Peek(1); ahead != nil {
			err = ahead
		}
	}
	if v.want.Size >= 0 && v.size > v.want.Size {
		err = v.damaged("it has more than %d bytes", v.want.Size)
	}
	if errors.Is(err, io.EOF) {
		err = v.check()
	}
	v.err = err
	if err != nil && !errors.Is(err, io.EOF) {
		return 0, err
	}
	return n, err
}

func (v *verifier) add(p []byte) {
	v.size += int64(len(p))
	for _, h := range []hash.Hash{v.sum256, v.sum512} {
		if h != nil {
			h.Write(p)
		}
	}
}

// check returns io.EOF if the content matches.
func (v *verifier) check() error {
	if v.want.Size >= 0 && v.size != v.want.Size {
		return v.damaged("it ends after %d of %d bytes", v.size, v.want.Size)
	}
	for _, s := range []struct {
		name, want string
		h          hash.Hash
	}{{"sha256", v.want.SHA256, v.sum256}, {"sha512", v.want.SHA512, v.sum512}} {
		if s.h == nil {
			continue
		}
		if got := hex.EncodeToString(s.h.Sum(nil)); got != s.want {
			return v.damaged("its %s is %s, expected %s", s.name, got, s.want)
		}
	}
	return io.EOF
}

func (v *verifier) damaged(format string, args ...any) error {
	return fmt.Errorf("%s %w: %s", v.want.What, ErrDamaged, fmt.Sprintf(format, args...))
}
