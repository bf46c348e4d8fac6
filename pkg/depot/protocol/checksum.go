package protocol

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/akraino-icn/bpa/pkg/digest"
)

// ChecksumHeader holds the SHA-256 of a file in the depot's answers, in hexadecimal. It is also the
// simplest way for a client to announce a checksum.
const ChecksumHeader = "X-Checksum-Sha256"

// WantChecksumHeader, in a request for a file, asks for ChecksumHeader in the answer (RFC 9530).
// The header always has the checksum of the stored bytes. A download of NAME.sha256 may have
// another content, because a user may have stored a file of that name.
const WantChecksumHeader = "Want-Repr-Digest"

// ParseChecksum parses a SHA-256 in hexadecimal, with or without the prefix "sha256:". It returns
// 64 digits in lower case. For an empty string, it returns an empty string and no error.
func ParseChecksum(s string) (string, error) {
	s = strings.ToLower(strings.TrimPrefix(strings.TrimSpace(s), "sha256:"))
	if s != "" && !digest.IsSHA256(s) {
		return "", fmt.Errorf("sha256 %q: want 64 hexadecimal digits", s)
	}
	return s, nil
}

// AnnouncedChecksum returns the SHA-256 of the whole body that the client announces, in
// hexadecimal. It is empty if the client announces none. These are the headers, in order of
// precedence:
//
//	X-Checksum-Sha256: <hex>
//	Upload-Checksum: sha256 <base64>           (tus)
//	Repr-Digest, Content-Digest: sha-256=:<base64>:   (RFC 9530)
//	Digest: sha-256=<base64>                   (RFC 3230)
func AnnouncedChecksum(h Header) (string, error) {
	if v := h.Get(ChecksumHeader); v != "" {
		return ParseChecksum(v)
	}
	if v := h.Get("Upload-Checksum"); v != "" {
		algorithm, sum, _ := strings.Cut(strings.TrimSpace(v), " ")
		if !strings.EqualFold(algorithm, "sha256") {
			return "", fmt.Errorf("Upload-Checksum %q: the depot checks sha256 only", v)
		}
		return fromBase64("Upload-Checksum", sum)
	}
	for _, name := range []string{"Repr-Digest", "Content-Digest", "Digest"} {
		for _, item := range strings.Split(h.Get(name), ",") {
			algorithm, sum, _ := strings.Cut(strings.TrimSpace(item), "=")
			if strings.EqualFold(algorithm, "sha-256") {
				return fromBase64(name, strings.Trim(sum, ":"))
			}
		}
	}
	return "", nil
}

func fromBase64(name, sum string) (string, error) {
	raw, err := base64.StdEncoding.DecodeString(strings.TrimSpace(sum))
	if err != nil || len(raw) != 32 {
		return "", fmt.Errorf("%s %q: want a SHA-256 in base64", name, sum)
	}
	return hex.EncodeToString(raw), nil
}
