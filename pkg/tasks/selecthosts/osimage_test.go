package selecthosts

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/akraino-icn/bpa/pkg/tasks/contract"
)

func TestDigestOfTheOSImage(t *testing.T) {
	sum := strings.Repeat("0a", 32)
	uploaded := contract.OSImage{URL: "http://d/i", Checksum: "http://d/i.sha256sum", ChecksumType: "auto", Uploaded: true}
	persons := contract.OSImage{URL: "http://d/i", Checksum: strings.Repeat("f", 64), ChecksumType: "sha256"}
	for name, tc := range map[string]struct {
		image contract.OSImage
		told  string
		want  contract.OSImage
	}{
		"seen by seed-registry": {uploaded, sum, contract.OSImage{URL: "http://d/i", Checksum: sum, ChecksumType: "sha256", Uploaded: true}},
		"seen by nobody":        {uploaded, contract.None, uploaded},
		"a pipeline without it": {uploaded, "", uploaded},
		"a person's own":        {persons, sum, persons},
	} {
		given := tc.image
		got, err := Input{Request: contract.Request{OSImage: &given}, OSImage: tc.told}.withDigest()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(tc.want, *got.OSImage); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if given != tc.image {
			t.Errorf("%s: the request itself was changed", name)
		}
	}
	if _, err := (Input{Request: contract.Request{OSImage: &uploaded}, OSImage: "$(tasks.x)"}).withDigest(); err == nil {
		t.Error("what is no digest is taken")
	}
	if got, err := (Input{OSImage: sum}).withDigest(); err != nil || got.OSImage != nil {
		t.Errorf("without an image: %+v, %v", got.OSImage, err)
	}
}
