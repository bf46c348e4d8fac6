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

// keeper is a client that can also manage a registry. containerd is not a keeper.
type keeper interface {
	client
	copy(t *testing.T, from, to string) (string, error)
	tags(t *testing.T, repository string) []string
	remove(t *testing.T, ref string) (string, error)
}

// endpoint is a listener of the depot as a client uses it.
type endpoint struct {
	address string
	ca      string // file of the CA certificate; empty means without TLS
	token   string // empty means anonymous
}

// TestClients checks every client at every listener.
func TestClients(t *testing.T) {
	depot := listeners.Open(t)
	image := makeImage(t)
	local, plain := endpoint{address: depot.Local, token: depot.LocalToken}, endpoint{address: depot.Plain}
	localAnonymous := endpoint{address: depot.Local}
	tls, tlsAnonymous := endpoint{address: depot.TLS, ca: depot.CA, token: depot.Token}, endpoint{address: depot.TLS, ca: depot.CA}
	const loginHint = "the token as the password"
	for name, open := range programs(t) {
		t.Run(name, func(t *testing.T) {
			t.Run("local listener", func(t *testing.T) { image.canBeManaged(t, open(t, local), local, depot.Local, name+"/local") })
			t.Run("TLS listener", func(t *testing.T) { image.canBeManaged(t, open(t, tls), tls, depot.Local, name+"/tls") })
			t.Run("plain listener", func(t *testing.T) { image.isReadOnly(t, open(t, plain), plain, name+"/tls", "for reading only") })
			// The names have no comma: they become folders, and oras reads a comma in a path as a list of tags.
			t.Run("local listener without token", func(t *testing.T) {
				image.isReadOnly(t, open(t, localAnonymous), localAnonymous, name+"/tls", loginHint)
			})
			t.Run("TLS listener without token", func(t *testing.T) {
				image.isReadOnly(t, open(t, tlsAnonymous), tlsAnonymous, name+"/tls", loginHint)
			})
			t.Run("another CA", func(t *testing.T) {
				isNotTrusted(t, open(t, endpoint{address: depot.TLS, ca: otherCA(t)}), depot.TLS+"/"+name+"/tls:v1")
			})
		})
	}
}

// canBeManaged pushes and pulls the image at an endpoint. If the client is a keeper, it also copies
// the image, lists the tags and deletes the copy. other is the address of another listener, through
// which the results are checked without the client.
func (i *image) canBeManaged(t *testing.T, c client, at endpoint, other, repository string) {
	ref := at.address + "/" + repository
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

// isReadOnly checks that the client can read the image but not change it.
func (i *image) isReadOnly(t *testing.T, c client, at endpoint, repository, refusal string) {
	ref := at.address + "/" + repository
	i.comesBack(t, c, ref+":v1")
	out, err := c.push(t, i.layout, ref+":v3")
	if err == nil || !strings.Contains(out, refusal) {
		t.Errorf("push without permission: %v; want it refused with %q\n%s", err, refusal, out)
	}
	if k, ok := c.(keeper); ok {
		if out, err := k.remove(t, ref+"@"+i.digest); err == nil {
			t.Errorf("the image was deleted without permission\n%s", out)
		}
	}
	i.comesBack(t, c, ref+":v1")
}

// isNotTrusted checks that a client cannot read if it does not trust the CA of the depot.
func isNotTrusted(t *testing.T, c client, ref string) {
	t.Helper()
	if out, err := c.pull(t, ref, filepath.Join(t.TempDir(), "pulled")); err == nil || !strings.Contains(out, "certificate") {
		t.Errorf("pull with another CA certificate: %v; want a certificate error\n%s", err, out)
	}
}

func (i *image) comesBack(t *testing.T, c client, ref string) {
	t.Helper()
	layout := filepath.Join(t.TempDir(), "pulled")
	must(t)(c.pull(t, ref, layout))
	i.isIn(t, layout)
}

// isAt checks that ref names the image. It reads ref without the client under test.
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
		t.Errorf("%s: %s, want 404", ref, response.Status)
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
