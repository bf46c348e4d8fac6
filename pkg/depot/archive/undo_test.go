package archive

import (
	"slices"
	"testing"

	"github.com/opencontainers/go-digest"
)

// The folder of the repository coredns/coredns is inside the folder of coredns.
func TestWhatIsTakenBackTakesNothingElse(t *testing.T) {
	i := newImporter(t)
	data, _ := dockerSave(t, "registry.k8s.io/coredns/coredns:v1")
	if _, err := i.take(t, "there.tar", data); err != nil {
		t.Fatal(err)
	}
	var u undo
	if err := u.note(t.Context(), i.Store, "coredns"); err != nil {
		t.Fatal(err)
	}
	u.manifests = append(u.manifests, made{"coredns", digest.FromString("never stored")})
	if err := u.run(t.Context(), i.Store); err != nil {
		t.Fatal(err)
	}
	if got := repositories(t, i.Store); !slices.Contains(got, "coredns/coredns") {
		t.Errorf("an image that was there is gone: %q", got)
	}
}
