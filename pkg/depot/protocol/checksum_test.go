package protocol

import (
	"net/http"
	"testing"
)

const (
	hexEmpty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	b64Empty = "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="
)

func TestAnnouncedChecksum(t *testing.T) {
	for name, header := range map[string]http.Header{
		"plain":          {ChecksumHeader: {"SHA256:" + hexEmpty}},
		"plain no algo":  {ChecksumHeader: {hexEmpty}},
		"tus":            {"Upload-Checksum": {"sha256 " + b64Empty}},
		"repr":           {"Repr-Digest": {"md5=:x:, sha-256=:" + b64Empty + ":"}},
		"content":        {"Content-Digest": {"sha-256=:" + b64Empty + ":"}},
		"digest":         {"Digest": {"SHA-256=" + b64Empty}},
		"first one wins": {ChecksumHeader: {hexEmpty}, "Digest": {"sha-256=bad"}},
	} {
		if name == "plain" {
			header.Set(ChecksumHeader, "sha256:"+hexEmpty)
		}
		if got, err := AnnouncedChecksum(header); err != nil || got != hexEmpty {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if got, err := AnnouncedChecksum(http.Header{"Digest": {"md5=abc"}}); got != "" || err != nil {
		t.Errorf("another algorithm: %q, %v", got, err)
	}
}

func TestAnnouncedChecksumRefuses(t *testing.T) {
	for _, header := range []http.Header{
		{ChecksumHeader: {"abc"}},
		{"Upload-Checksum": {"md5 " + b64Empty}},
		{"Upload-Checksum": {"sha256 %"}},
		{"Digest": {"sha-256=" + hexEmpty}},
	} {
		if got, err := AnnouncedChecksum(header); err == nil {
			t.Errorf("%v is taken as %q", header, got)
		}
	}
}
