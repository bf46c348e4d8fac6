package protocol

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"
)

// ChecksumHeader is how the depot says a checksum, and the plainest way to announce one.
const ChecksumHeader = "X-Checksum-Sha256"

// WantChecksumHeader, in a request for a file, asks for ChecksumHeader in the answer (RFC 9530). It is the checksum of
// the file itself, unlike a stored file whose name ends in .sha256.
const WantChecksumHeader = "Want-Repr-Digest"

var isHex = regexp.MustCompile(`^[0-9a-f]{64}$`)

// ParseChecksum takes a SHA-256 in hexadecimal, with or without "sha256:" before it,
// and returns 64 small digits. Empty stays empty.
func ParseChecksum(s string) (string, error) {
	s = strings.ToLower(strings.TrimPrefix(strings.TrimSpace(s), "sha256:"))
	if s != "" && !isHex.MatchString(s) {
		return "", fmt.Errorf("sha256 %q: want 64 hexadecimal digits", s)
	}
	return s, nil
}

// Of returns the announced SHA-256 of a whole body in hexadecimal, or nothing.
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
			return "", fmt.Errorf("Upload-Checksum %q: only sha256 is checked here", v)
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
