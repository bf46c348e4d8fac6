package carry

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

// check is what a content must turn out to be.
type check struct {
	what   string // for the error
	size   int64  // -1: any
	sha256 string // hexadecimal; empty: any
	sha512 string // likewise
}

// ErrDamaged is in the error of a content that is not what was promised.
var ErrDamaged = errors.New("is not what was promised")

// verified reads what in reads, and gives the last bytes away only when all of it is as it must be: whoever stores a stream when it is
// complete does not store a wrong one.
func verified(in io.Reader, want check) io.Reader {
	v := &verifier{in: bufio.NewReaderSize(in, 64<<10), want: want}
	if want.sha256 != "" {
		v.sum256 = sha256.New()
	}
	if want.sha512 != "" {
		v.sum512 = sha512.New()
	}
	return v
}

type verifier struct {
	in             *bufio.Reader
	want           check
	sum256, sum512 hash.Hash
	size           int64
	err            error // of the last read, once there is one
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
	if v.want.size >= 0 && v.size > v.want.size {
		err = v.damaged("it goes on after %d bytes", v.want.size)
	}
	if errors.Is(err, io.EOF) {
		err = v.judge()
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

// judge is io.EOF if all is well.
func (v *verifier) judge() error {
	if v.want.size >= 0 && v.size != v.want.size {
		return v.damaged("it ends after %d of %d bytes", v.size, v.want.size)
	}
	for _, s := range []struct {
		name, want string
		h          hash.Hash
	}{{"sha256", v.want.sha256, v.sum256}, {"sha512", v.want.sha512, v.sum512}} {
		if s.h == nil {
			continue
		}
		if got := hex.EncodeToString(s.h.Sum(nil)); got != s.want {
			return v.damaged("its %s is %s, wanted is %s", s.name, got, s.want)
		}
	}
	return io.EOF
}

func (v *verifier) damaged(format string, args ...any) error {
	return fmt.Errorf("%s %w: %s", v.want.what, ErrDamaged, fmt.Sprintf(format, args...))
}
