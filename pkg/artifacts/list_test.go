package artifacts

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var (
	sumA = strings.Repeat("a", 64)
	sumB = strings.Repeat("b", 64)
)

const (
	proxy   = "registry.k8s.io/kube-proxy:v1.35.4"
	kubelet = "dl.k8s.io/release/v1.35.4/bin/linux/amd64/kubelet"
)

func TestMerge(t *testing.T) {
	got, err := Merge(
		List{Images: []Image{{Ref: proxy}, {Ref: "docker.io/library/nginx:1.28"}}, Files: []File{{Path: kubelet, Size: 7}}, Packages: []Package{{Name: "socat"}}},
		List{Images: []Image{{Ref: proxy, Digest: "sha256:" + sumA}}, Files: []File{{Path: kubelet, SHA256: sumA}}, Packages: []Package{{Name: "socat"}, {Name: "curl"}}},
		List{Images: []Image{{Ref: proxy}}},
	)
	if err != nil {
		t.Fatal(err)
	}
	want := List{
		Images:   []Image{{Ref: "docker.io/library/nginx:1.28"}, {Ref: proxy, Digest: "sha256:" + sumA}},
		Files:    []File{{Path: kubelet, SHA256: sumA, Size: 7}},
		Packages: []Package{{Name: "curl"}, {Name: "socat"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Merge (-want +got):\n%s", diff)
	}
}

func TestParseRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"no JSON":                `images: []`,
		"unknown field":          `{"files": [{"path": "a/b", "sha265": "` + sumA + `"}]}`,
		"two documents":          `{} {}`,
		"no reference":           `{"images": [{"ref": "UPPER:v1"}]}`,
		"repository that climbs": `{"images": [{"ref": "quay.io/a/../b:v1"}]}`,
		"repository of dots":     `{"images": [{"ref": "quay.io/..:v1"}]}`,
		"tag of dots":            `{"images": [{"ref": "quay.io/a/b:.."}]}`,
		"digest cut":             `{"images": [{"ref": "a/b:v1", "digest": "sha256:abc"}]}`,
		"two digests":            `{"images": [{"ref": "a/b@sha256:` + sumA + `", "digest": "sha256:` + sumB + `"}]}`,
		"contradicting digests":  `{"images": [{"ref": "a/b:v1", "digest": "sha256:` + sumA + `"}, {"ref": "a/b:v1", "digest": "sha256:` + sumB + `"}]}`,
		"one place, two images":  `{"images": [{"ref": "quay.io/a/b:v1"}, {"ref": "ghcr.io/a/b:v1"}]}`,
		"path that climbs":       `{"files": [{"path": "a/../../etc/passwd"}]}`,
		"absolute path":          `{"files": [{"path": "/etc/passwd"}]}`,
		"hidden name":            `{"files": [{"path": "a/.git"}]}`,
		"backslash":              `{"files": [{"path": "a\\b"}]}`,
		"new line":               `{"files": [{"path": "a\nb"}]}`,
		"long name":              `{"files": [{"path": "` + strings.Repeat("n", 300) + `"}]}`,
		"checksum cut":           `{"files": [{"path": "a", "sha256": "abc"}]}`,
		"two contents":           `{"files": [{"path": "a", "sha256": "` + sumA + `"}, {"path": "a", "sha256": "` + sumB + `"}]}`,
		"URL of a file":          `{"files": [{"path": "a", "url": "file:///etc/passwd"}]}`,
		"negative size":          `{"files": [{"path": "a", "size": -1}]}`,
		"option as a package":    `{"packages": [{"name": "--allow-downgrades"}]}`,
	} {
		if l, err := Parse([]byte(text)); err == nil {
			t.Errorf("%s: Parse accepts it as %+v", name, l)
		}
	}
}

func TestPlace(t *testing.T) {
	for ref, want := range map[string]string{
		"registry.k8s.io/coredns/coredns:v1.12.4": "coredns/coredns:v1.12.4",
		"docker.io/nginx:1":                       "library/nginx:1",
		"nginx":                                   "library/nginx:latest",
		"localhost:5000/tool:v1":                  "tool:v1",
		"quay.io/a/b@sha256:" + sumA:              "a/b@sha256:" + sumA,
		"quay.io/a/b:v1@sha256:" + sumA:           "a/b@sha256:" + sumA,
	} {
		place, err := Image{Ref: ref}.Place()
		if err != nil || place.String() != want {
			t.Errorf("Place(%s) = %v, %v; want %s", ref, place, err, want)
		}
	}
}

// A list that Parse accepts can be written and parsed again without a change, and its paths stay
// below the depot's endpoints.
func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"images": [{"ref": "` + proxy + `"}], "files": [{"path": "` + kubelet + `", "sha256": "` + sumA + `"}], "packages": [{"name": "socat"}]}`))
	f.Add([]byte(`{"files": [{"path": "a/../b"}]}`))
	f.Add([]byte(`{"images": [{"ref": "a/b:v1@sha256:` + sumA + `"}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		l, err := Parse(text)
		if err != nil {
			return
		}
		for _, file := range l.Files {
			if strings.HasPrefix(file.Path, "/") || strings.Contains(file.Path, "..") && strings.Contains("/"+file.Path+"/", "/../") {
				t.Errorf("path %q", file.Path)
			}
		}
		written, err := json.Marshal(l)
		if err != nil {
			t.Fatal(err)
		}
		again, err := Parse(written)
		if err != nil {
			t.Fatalf("Parse rejects the list that it returned: %v\n%s", err, written)
		}
		if diff := cmp.Diff(l, again); diff != "" {
			t.Errorf("read again (-first +second):\n%s", diff)
		}
	})
}
