package artifacts

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func place(repository, tag string) Place { return Place{Repository: repository, Tag: tag} }

func TestCompare(t *testing.T) {
	byDigest := Image{Ref: "quay.io/a/b@sha256:" + sumA}
	for _, tc := range []struct {
		name string
		list List
		have Have
		want List
		why  map[string]string
	}{
		{name: "nothing is wanted"},
		{
			name: "everything is there",
			list: List{
				Images: []Image{{Ref: proxy}, byDigest}, Files: []File{{Path: kubelet, SHA256: sumA}}, Packages: []Package{onDebian("socat"), onDebian("curl")},
			},
			have: Have{
				Images:   map[Place]string{place("kube-proxy", "v1.35.4"): "sha256:" + sumB, {Repository: "a/b", Digest: "sha256:" + sumA}: "sha256:" + sumA},
				Files:    map[string]FileState{kubelet: {SHA256: sumA, Size: 9}},
				Packages: map[string]*PackageIndex{"debian-12": index(t, "socat 1.8 amd64", "curl 8.0 amd64")},
			},
		},
		{
			name: "nothing is there",
			list: List{Images: []Image{{Ref: proxy}}, Files: []File{{Path: kubelet}}, Packages: []Package{onDebian("socat")}},
			have: Have{Packages: map[string]*PackageIndex{"debian-12": index(t)}},
			want: List{Images: []Image{{Ref: proxy}}, Files: []File{{Path: kubelet}}, Packages: []Package{onDebian("socat")}},
		},
		{
			name: "other contents are there",
			list: List{Images: []Image{{Ref: proxy, Digest: "sha256:" + sumA}}, Files: []File{{Path: kubelet, SHA256: sumA}, {Path: "x/y", Size: 5}}},
			have: Have{
				Images: map[Place]string{place("kube-proxy", "v1.35.4"): "sha256:" + sumB},
				Files:  map[string]FileState{kubelet: {SHA256: sumB}, "x/y": {Size: 4}},
			},
			want: List{Images: []Image{{Ref: proxy, Digest: "sha256:" + sumA}}, Files: []File{{Path: kubelet, SHA256: sumA}, {Path: "x/y", Size: 5}}},
			why: map[string]string{
				proxy:   "the depot has sha256:" + sumB + ", expected sha256:" + sumA,
				kubelet: "the depot has sha256 " + sumB + ", expected " + sumA,
				"x/y":   "the depot has 4 bytes, expected 5",
			},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := Compare(tc.list, tc.have)
			if tc.why == nil {
				tc.why = map[string]string{}
			}
			if diff := cmp.Diff(Missing{List: tc.want, Why: tc.why, Of: tc.list.Size()}, got); diff != "" {
				t.Errorf("Compare (-want +got):\n%s", diff)
			}
		})
	}
}

const depotURL = "http://10.60.0.1:5000"

func TestShort(t *testing.T) {
	some := Compare(List{Images: []Image{{Ref: proxy}}, Files: []File{{Path: kubelet}}}, Have{})
	want := "the depot http://10.60.0.1:5000 lacks 2 of 2 artifacts: kube-proxy:v1.35.4, kubelet v1.35.4. The task's log lists all; " +
		"import them with: kubectl bpa bundle import FILE --depot http://10.60.0.1:5000"
	if got := some.Short(depotURL); got != want {
		t.Errorf("Short = %q\nwant   %q", got, want)
	}
	var many List
	for n := range 500 {
		many.Images = append(many.Images, Image{Ref: fmt.Sprintf("registry.k8s.io/project/component-%03d:v1", n)})
	}
	got := Compare(many, Have{}).Short(depotURL)
	if len(got) > MaxShort || len(got) < MaxShort-60 || !strings.Contains(got, "component-000:v1, ") || !strings.Contains(got, " more. The task's log") {
		t.Errorf("of many: %d bytes: %s", len(got), got)
	}
	if got := (Compare(many, Have{})).Short("http://" + strings.Repeat("long.", 200)); len(got) > MaxShort {
		t.Errorf("with a long URL it has %d bytes", len(got))
	}
	if got := (Missing{Of: 1}).Short(depotURL); got != "the depot http://10.60.0.1:5000 has everything that is needed: 1 artifact" {
		t.Errorf("of nothing: %q", got)
	}
}

func TestFullCanBeUsed(t *testing.T) {
	list := List{
		Images: []Image{{Ref: proxy, Digest: "sha256:" + sumA}}, Files: []File{{Path: kubelet, SHA256: sumA}}, Packages: []Package{onDebian("socat")},
	}
	have := Have{
		Images:   map[Place]string{place("kube-proxy", "v1.35.4"): "sha256:" + sumB},
		Packages: map[string]*PackageIndex{"debian-12": index(t)},
	}
	text := Compare(list, have).Full(depotURL)
	for _, line := range []string{
		"image   " + proxy + " (the depot has sha256:" + sumB, "file    " + kubelet + " (sha256 " + sumA + ")", "package socat:amd64 (debian-12)",
		"kubectl bpa bundle create --list missing.json --system debian-12 --output missing.tar",
		"kubectl bpa bundle import missing.tar --depot " + depotURL,
	} {
		if !strings.Contains(text, line) {
			t.Errorf("Full does not say %q:\n%s", line, text)
		}
	}
	_, after, _ := strings.Cut(text, "<<'END'\n")
	written, _, _ := strings.Cut(after, "\nEND")
	got, err := Parse([]byte(written))
	if err != nil {
		t.Fatalf("the list in the text cannot be read: %v\n%s", err, text)
	}
	if diff := cmp.Diff(list, got); diff != "" {
		t.Errorf("the list in the text (-want +got):\n%s", diff)
	}
}
