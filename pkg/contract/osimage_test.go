package contract

import (
	"strings"
	"testing"
)

func TestDigestOfTheOSImage(t *testing.T) {
	sum := strings.Repeat("0a", 32)
	uploaded := OSImage{URL: "http://d/i", Checksum: "http://d/i.sha256sum", ChecksumType: "auto", Uploaded: true}
	persons := OSImage{URL: "http://d/i", Checksum: strings.Repeat("f", 64), ChecksumType: "sha256"}
	for name, tc := range map[string]struct {
		image OSImage
		sum   string
		want  OSImage
	}{
		"seen by seed-registry": {uploaded, sum, OSImage{URL: "http://d/i", Checksum: sum, ChecksumType: "sha256", Uploaded: true}},
		"seen by nobody":        {uploaded, None, uploaded},
		"a pipeline without it": {uploaded, "", uploaded},
		"a person's own":        {persons, sum, persons},
	} {
		if got, err := tc.image.WithDigest(tc.sum); err != nil || got != tc.want {
			t.Errorf("%s: %+v, %v; want %+v", name, got, err, tc.want)
		}
	}
	if _, err := uploaded.WithDigest("$(tasks.x)"); err == nil {
		t.Error("what is no digest is taken")
	}
}
