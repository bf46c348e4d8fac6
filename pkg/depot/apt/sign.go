package apt

import (
	"bytes"
	"crypto"
	"errors"
	"fmt"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/clearsign"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
)

// validFor is how long after its signature apt accepts a Release. It bounds how old an index is that
// an attacker can send to a node again. A Release that is served is at most signAgain old, so a node's
// clock may be ahead by the difference. apt checks this only when it fetches a Release.
const (
	validFor  = 7 * 24 * time.Hour
	signAgain = 24 * time.Hour
)

// releaseDate is the format of dates in a Release.
const releaseDate = "Mon, 02 Jan 2006 15:04:05 UTC"

// signedRelease is the Release of a generation as nodes get it.
type signedRelease struct {
	of        []byte    // the generation's Release
	at        time.Time // of the signature
	release   []byte    // with the date until which it is valid
	signature []byte    // of release: the file Release.gpg
	inRelease []byte    // release with a signature inside
}

// sign signs a generation's Release.
func (k *Key) sign(release []byte, now time.Time) (signedRelease, error) {
	s := signedRelease{of: release, at: now}
	s.release = fmt.Appendf(bytes.Clone(release), "Valid-Until: %s\n", now.Add(validFor).UTC().Format(releaseDate))
	signedAt := now.Add(-skew)
	if created := k.entity.PrimaryKey.CreationTime; signedAt.Before(created) {
		signedAt = created // a signature that is older than its key is invalid
	}
	config := &packet.Config{DefaultHash: crypto.SHA512, Time: func() time.Time { return signedAt }}
	var inline, detached bytes.Buffer
	w, err := clearsign.Encode(&inline, k.entity.PrivateKey, config)
	if err != nil {
		return s, err
	}
	_, err = w.Write(s.release)
	if err := errors.Join(err, w.Close(), openpgp.ArmoredDetachSign(&detached, k.entity, bytes.NewReader(s.release), config)); err != nil {
		return s, err
	}
	detached.WriteByte('\n')
	s.inRelease, s.signature = inline.Bytes(), detached.Bytes()
	return s, nil
}

// signed returns the Release of a generation with its signatures. It signs at most once in signAgain,
// because a client compares the bytes with those that it has.
func (r *repository) signed(g generation) (signedRelease, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	if age := now.Sub(r.served.at); bytes.Equal(r.served.of, g.Release) && age >= 0 && age < signAgain {
		return r.served, nil
	}
	s, err := r.key.sign(g.Release, now)
	if err != nil {
		return s, fmt.Errorf("sign the index: %w", err)
	}
	r.served = s
	return s, nil
}
