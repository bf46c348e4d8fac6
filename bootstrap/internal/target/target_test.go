package target

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/akraino-icn/bpa/bootstrap/internal/target/targettest"
)

const (
	one = "bpa-machine-3f9a1c2e-20261127T120000Z-scheduled.age"
	two = "bpa-machine-3f9a1c2e-20261128T120000Z-manual.age"
)

// use does with a target what backups do, and returns the target as it was at the beginning: empty. size is that of a file.
func use(t *testing.T, to Target, access Access, size int) {
	t.Helper()
	content := bytes.Repeat([]byte("0123456789abcdef"), size/16)
	if err := to.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	lists(t, to)
	for _, name := range []string{one, two} {
		if err := to.Write(t.Context(), name, func(w io.Writer) error { _, err := w.Write(content); return err }); err != nil {
			t.Fatal(err)
		}
	}
	lists(t, to, one, two)

	broken := errors.New("etcd has ended")
	err := to.Write(t.Context(), strings.Replace(one, "20261127", "20261129", 1), func(w io.Writer) error {
		_, err := w.Write(content)
		return errors.Join(err, broken)
	})
	if !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
	lists(t, to, one, two)

	at, name, err := Split(to.Address(two))
	if err != nil || name != two {
		t.Fatalf("%s is split into %s and %s: %v", to.Address(two), at, name, err)
	}
	again, err := New(at, access)
	if err != nil {
		t.Fatal(err)
	}
	if got := read(t, again, two); !bytes.Equal(got, content) {
		t.Errorf("%d bytes, want %d", len(got), len(content))
	}
	if _, err := again.Open(t.Context(), strings.Replace(two, "2026", "2025", 1)); err == nil {
		t.Error("a file is opened that nobody has written")
	}
	for _, name := range []string{one, two} {
		if err := to.Remove(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
	lists(t, to)
}

func read(t *testing.T, from Target, name string) []byte {
	t.Helper()
	file, err := from.Open(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	text, err := io.ReadAll(file)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func lists(t *testing.T, to Target, want ...string) {
	t.Helper()
	got, err := to.List(t.Context())
	slices.Sort(got)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("files %v, %v, want %v", got, err, want)
	}
}

func says(t *testing.T, what string, err error, want ...string) {
	t.Helper()
	for _, text := range want {
		if err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: %v, want %q", what, err, text)
		}
	}
	if err != nil && (strings.Contains(err.Error(), "\n") || strings.Contains(err.Error(), targettest.Password)) {
		t.Errorf("%s: the message has several lines, or a credential: %v", what, err)
	}
}

func TestFilesInAFolder(t *testing.T) {
	dir := t.TempDir()
	to, err := New(dir, Access{})
	if err != nil {
		t.Fatal(err)
	}
	use(t, to, Access{}, 1<<20)
	killed := filepath.Join(dir, one+".partial")
	if err := os.WriteFile(killed, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := to.Clean(t.Context(), "bpa-machine-0a0a0a0a-"); err != nil {
		t.Fatal(err)
	}
	lists(t, to, one+".partial")
	if err := to.Clean(t.Context(), "bpa-machine-3f9a1c2e-"); err != nil {
		t.Fatal(err)
	}
	lists(t, to)
}

func TestAddressesAreChecked(t *testing.T) {
	for address, want := range map[string]string{
		"backups":                      "by its absolute path",
		"ftp://host/x":                 `is "ftp://host/x": name a folder`,
		"s3://":                        "s3://BUCKET/PREFIX",
		"s3://bucket/x?host=y":         "s3://BUCKET/PREFIX",
		"s3://bucket/x?endpoint=minio": `is "minio": use https://HOST`,
		"s3://me:" + targettest.Password + "@bucket/x":        "with --credentials",
		"s3://bucket?endpoint=https://" + targettest.Password: "",
		"oci://registry/repository":                           "where REGISTRY has a dot or a port",
		"oci://registry.site":                                 "oci://REGISTRY/REPOSITORY",
		"oci://registry.site/x?insecure=true":                 "oci://REGISTRY/REPOSITORY",
		"oci://registry.site/Upper":                           "oci://REGISTRY/REPOSITORY",
		"s3://me:" + targettest.Password + "%zz@bucket/x":     "is not an address",
		"/mnt/backup":                             "",
		"oci://registry.site:5000/a/b":            "",
		"s3://bucket?endpoint=http://10.0.0.1:90": "",
	} {
		if err := Validate(address); want != "" {
			says(t, address, err, want)
		} else if err != nil {
			t.Errorf("%s: %v", address, err)
		}
	}
	for _, address := range []string{"s3://bucket", "s3://bucket/", "oci://registry.site:5000/a", "ftp://x/y"} {
		if at, name, err := Split(address); err == nil {
			t.Errorf("%s is split into %s and %s", address, at, name)
		}
	}
}

func TestCredentialsAreSecret(t *testing.T) {
	const keys = "[default]\naws_access_key_id = me\naws_secret_access_key = " + targettest.Password + "\n"
	const login = `{"auths": {"registry.site": {"username": "me", "password": "` + targettest.Password + `"}}}`
	for name, c := range map[string]struct {
		address string
		access  Access
		want    string
	}{
		"no credentials of S3":   {"s3://bucket/x", Access{}, "name it with --credentials"},
		"no file":                {"s3://bucket/x", Access{Credentials: "/none"}, "/none"},
		"others may read it":     {"s3://bucket/x", Access{Credentials: targettest.File(t, 0o644, keys)}, "chmod 600"},
		"others may read it too": {"oci://registry.site/backups", Access{Credentials: targettest.File(t, 0o640, login)}, "chmod 600"},
		"another format":         {"s3://bucket/x", Access{Credentials: targettest.File(t, 0o600, targettest.Password)}, "aws_access_key_id"},
		"another profile":        {"s3://bucket/x", Access{Credentials: targettest.File(t, 0o600, strings.Replace(keys, "default", "other", 1))}, "a line [default]"},
		"no login":               {"oci://registry.site:5000/backups", Access{Credentials: targettest.File(t, 0o600, login)}, "has no login for registry.site:5000"},
		"another format too":     {"oci://registry.site/backups", Access{Credentials: targettest.File(t, 0o600, targettest.Password)}, "in the format of Docker"},
		"no CA":                  {"s3://bucket/x", Access{Credentials: targettest.File(t, 0o600, keys), CA: targettest.File(t, 0o600, "text")}, "has no certificate in PEM"},
		"no file with a CA":      {"oci://registry.site/backups", Access{CA: "/none"}, "/none"},
	} {
		_, err := New(c.address, c.access)
		says(t, name, err, c.want)
	}
}
