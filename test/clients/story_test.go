//go:build integration

package clients

import (
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"github.com/akraino-icn/bpa/test/clients/listeners"
)

// client is a program that transfers images. Its methods return the output of the program and an
// error.
type client interface {
	// push pushes the only image in an OCI layout, with all its architectures, to ref.
	push(t *testing.T, layout, ref string) (string, error)
	// pull pulls an image, with all its architectures, into a new layout.
	pull(t *testing.T, ref, layout string) (string, error)
}

// keeper is a client that can also manage a registry. containerd cannot.
type keeper interface {
	client
	copy(t *testing.T, from, to string) (string, error)
	tags(t *testing.T, repository string) []string
	remove(t *testing.T, ref string) (string, error)
}

// at describes how a client reaches a listener.
type at struct {
	address string
	ca      string // file of the CA certificate; empty means without TLS
	token   string // empty means anonymous
}

// TestClients checks every client at every listener.
func TestClients(t *testing.T) {
	depot := listeners.Open(t)
	image := makeImage(t)
	local, plain := at{address: depot.Local, token: depot.LocalToken}, at{address: depot.Plain}
	nobody, writer := at{address: depot.TLS, ca: depot.CA}, at{address: depot.TLS, ca: depot.CA, token: depot.Token}
	for name, open := range programs(t) {
		t.Run(name, func(t *testing.T) {
			t.Run("local door", func(t *testing.T) { image.travels(t, open(t, local), local, depot.Local, name+"/local") })
			t.Run("TLS door", func(t *testing.T) { image.travels(t, open(t, writer), writer, depot.Local, name+"/tls") })
			t.Run("plain door", func(t *testing.T) { image.isRead(t, open(t, plain), plain, name+"/tls", "for reading only") })
			t.Run("local door as nobody", func(t *testing.T) {
				image.isRead(t, open(t, at{address: depot.Local}), at{address: depot.Local}, name+"/tls", "the token as the password")
			})
			t.Run("TLS door as nobody", func(t *testing.T) { image.isRead(t, open(t, nobody), nobody, name+"/tls", "the token as the password") })
			t.Run("strange authority", func(t *testing.T) {
				isNotTrusted(t, open(t, at{address: depot.TLS, ca: strangeAuthority(t)}), depot.TLS+"/"+name+"/tls:v1")
			})
		})
	}
}

// travels pushes, pulls, copies, lists and deletes the image at a listener. It checks the results
// at the listener other, without the client.
func (i *image) travels(t *testing.T, c client, door at, other, repository string) {
	ref := door.address + "/" + repository
	must(t)(c.push(t, i.layout, ref+":v1"))
	i.isAt(t, other+"/"+repository+":v1")
	i.comesBack(t, c, ref+":v1")
	i.comesBack(t, c, ref+"@"+i.digest)
	k, ok := c.(keeper)
	if !ok {
		return
	}
	must(t)(k.copy(t, ref+":v1", ref+"-copy:v2"))
	i.isAt(t, other+"/"+repository+"-copy:v2")
	must(t)(k.copy(t, ref+":v1", ref+":v2"))
	if tags := k.tags(t, ref); !slices.Equal(tags, []string{"v1", "v2"}) {
		t.Errorf("tags of %s: %q, want v1 and v2", ref, tags)
	}
	must(t)(k.remove(t, ref+"-copy@"+i.digest))
	i.isGone(t, other+"/"+repository+"-copy@"+i.digest)
	i.isAt(t, other+"/"+repository+":v1") // a deletion does not affect other repositories
}

// isRead checks that the client can read the image but not change it.
func (i *image) isRead(t *testing.T, c client, door at, repository, refusal string) {
	ref := door.address + "/" + repository
	i.comesBack(t, c, ref+":v1")
	out, err := c.push(t, i.layout, ref+":v3")
	if err == nil || !strings.Contains(out, refusal) {
		t.Errorf("a push without a right: %v; want it refused with %q\n%s", err, refusal, out)
	}
	if k, ok := c.(keeper); ok {
		if out, err := k.remove(t, ref+"@"+i.digest); err == nil {
			t.Errorf("removed without a right\n%s", out)
		}
	}
	i.comesBack(t, c, ref+":v1")
}

// isNotTrusted checks that a client with another CA certificate than the depot's cannot read.
func isNotTrusted(t *testing.T, c client, ref string) {
	t.Helper()
	if out, err := c.pull(t, ref, filepath.Join(t.TempDir(), "pulled")); err == nil || !strings.Contains(out, "certificate") {
		t.Errorf("pull with a strange authority: %v\n%s", err, out)
	}
}

func (i *image) comesBack(t *testing.T, c client, ref string) {
	t.Helper()
	layout := filepath.Join(t.TempDir(), "pulled")
	must(t)(c.pull(t, ref, layout))
	i.isIn(t, layout)
}

// isAt checks that ref is the image. It does not use the client under test.
func (i *image) isAt(t *testing.T, ref string) {
	t.Helper()
	index, err := remote.Index(parse(t, ref))
	if err != nil {
		t.Fatal(err)
	}
	if digest, err := index.Digest(); err != nil || digest.String() != i.digest {
		t.Errorf("%s is %s, %v; want %s", ref, digest, err, i.digest)
	}
	if err := validate.Index(index); err != nil {
		t.Errorf("%s: %v", ref, err)
	}
}

func (i *image) isGone(t *testing.T, ref string) {
	t.Helper()
	parsed := parse(t, ref)
	response, err := http.Head("http://" + parsed.Context().RegistryStr() + "/v2/" + parsed.Context().RepositoryStr() + "/manifests/" + parsed.Identifier())
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusNotFound {
		t.Errorf("%s: %s, want it gone", ref, response.Status)
	}
}

func parse(t *testing.T, ref string) name.Reference {
	t.Helper()
	parsed, err := name.ParseReference(ref, name.Insecure)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

func must(t *testing.T) func(string, error) {
	return func(out string, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
}
