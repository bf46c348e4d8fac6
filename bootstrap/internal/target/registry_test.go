package target

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/akraino-icn/bpa/bootstrap/internal/target/targettest"
)

const cutText = "content that is cut"

func logIn(t *testing.T, s *targettest.Registry, user, secret string) Access {
	t.Helper()
	return Access{CA: s.CA, Credentials: s.Login(t, user, secret)}
}

func ociTarget(t *testing.T, s *targettest.Registry, access Access) Target {
	t.Helper()
	to, err := New("oci://"+s.Address+"/site/backups", access)
	if err != nil {
		t.Fatal(err)
	}
	return to
}

func write(t *testing.T, to Target, name, text string) error {
	t.Helper()
	return to.Write(t.Context(), name, func(w io.Writer) error { _, err := io.WriteString(w, text); return err })
}

func TestFilesInARegistry(t *testing.T) {
	s := targettest.StartRegistry(t)
	access := logIn(t, s, "admin", targettest.Password)
	to := ociTarget(t, s, access)
	use(t, to, access, 5<<20)

	// Other clients find the file as it is, below its name.
	if err := write(t, to, one, cutText); err != nil {
		t.Fatal(err)
	}
	ref, err := name.NewTag(s.Address + "/site/backups:" + one)
	if err != nil {
		t.Fatal(err)
	}
	r, ok := to.(*repository)
	if !ok {
		t.Fatalf("%T", to)
	}
	image, err := remote.Image(ref, r.options(t.Context())...)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := image.Manifest()
	if err != nil || len(manifest.Layers) != 1 || manifest.Layers[0].Annotations["org.opencontainers.image.title"] != one || manifest.Layers[0].Size != int64(len(cutText)) {
		t.Errorf("%+v, %v", manifest, err)
	}

	s.Cut = cutText
	file, err := to.Open(t.Context(), one)
	if err == nil {
		_, err = io.Copy(io.Discard, file)
	}
	if !errors.As(err, new(*fs.PathError)) {
		t.Errorf("a file that is cut on its way: %v", err)
	}
}

func TestARegistryThatRefuses(t *testing.T) {
	s := targettest.StartRegistry(t)
	good := logIn(t, s, "writer", targettest.Password)
	to := ociTarget(t, s, good)
	for _, name := range []string{one, two} {
		if err := write(t, to, name, name); err != nil {
			t.Fatal(err)
		}
	}
	says(t, "a removal", to.Remove(t.Context(), one), "405", "permits no removal")

	reader := ociTarget(t, s, logIn(t, s, "reader", targettest.Password))
	says(t, "no right to write", reader.Check(t.Context()), "write to the repository "+s.Address+"/site/backups: 403 Forbidden, DENIED the server says so", "grant the rights")
	says(t, "no right to write", write(t, reader, one, "other"), "403", "grant the rights")
	says(t, "no right to remove", reader.Remove(t.Context(), one), "403", "grant the rights")
	if got := read(t, reader, one); !bytes.Equal(got, []byte(one)) {
		t.Errorf("%s", got)
	}

	says(t, "another password", ociTarget(t, s, logIn(t, s, "admin", "wrong")).Check(t.Context()), "401", "the owner of the login")
	says(t, "no login", ociTarget(t, s, Access{CA: s.CA}).Check(t.Context()), "401", "with --credentials")
	says(t, "an unknown authority", ociTarget(t, s, Access{Credentials: good.Credentials}).Check(t.Context()), "of an authority that this machine does not trust", "with --ca")

	_, port, _ := strings.Cut(s.Address, ":")
	other, err := New("oci://localhost:"+port+"/backups", Access{CA: s.CA})
	if err != nil {
		t.Fatal(err)
	}
	says(t, "a certificate of another server", other.Check(t.Context()), "is for another server")

	off, err := New("oci://"+targettest.Nobody(t)+"/backups", Access{})
	if err != nil {
		t.Fatal(err)
	}
	says(t, "nobody answers", off.Check(t.Context()), "does not answer", "check its address")
	says(t, "nobody answers", write(t, off, one, "text"), "does not answer")
	_, err = off.List(t.Context())
	says(t, "nobody answers", err, "does not answer")
	lists(t, to, one, two)
}

// A login is never sent without TLS, except to the machine itself.
func TestNoLoginWithoutTLS(t *testing.T) {
	for address, refused := range map[string]bool{"http://10.0.0.1:5000/v2/": true, "http://localhost.site/": true, "http://127.0.0.1:1/": false, "http://localhost:1/": false, "https://10.0.0.1/": false} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, err = encrypted{roundTripper(func() error { return io.EOF })}.RoundTrip(req)
		if errors.Is(err, errPlain) != refused {
			t.Errorf("%s: %v", address, err)
		}
	}
}

type roundTripper func() error

func (r roundTripper) RoundTrip(*http.Request) (*http.Response, error) { return nil, r() }
