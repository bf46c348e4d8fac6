package client_test

import (
	"testing"

	"github.com/akraino-icn/bpa/pkg/artifacts"
	"github.com/akraino-icn/bpa/pkg/depot/client"
	"github.com/akraino-icn/bpa/pkg/depot/depottest"
)

// A copied mirror contains upstream's checksum files. Stat must ignore them, because they describe
// upstream's files and not the stored bytes.
func TestStatIgnoresStoredChecksums(t *testing.T) {
	site := depottest.Start(t)
	to, err := client.Connect(t.Context(), site.URL, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	sum := site.Put(t, "dl.k8s.io/kubelet", []byte("kubelet"))
	for _, beside := range []string{"0000000000000000000000000000000000000000000000000000000000000000", depottest.Sum([]byte("another")) + "  kubelet\n"} {
		site.Put(t, "dl.k8s.io/kubelet.sha256", []byte(beside))
		have, err := to.Stat(t.Context(), artifacts.List{Files: []artifacts.File{{Path: "dl.k8s.io/kubelet", SHA256: sum}}})
		if err != nil {
			t.Fatal(err)
		}
		if got := have.Files["dl.k8s.io/kubelet"].SHA256; got != sum {
			t.Errorf("with %q beside it: %s, want %s", beside, got, sum)
		}
	}
}
