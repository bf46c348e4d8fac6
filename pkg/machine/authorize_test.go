package machine

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	authorizedKeys = "root/.ssh/authorized_keys"
	ofSite         = "# of the site\nssh-ed25519 AAAAsite admin@site\n"
)

// TestAuthorize: a machine accepts the key of one cluster at most, and keys of the site stay.
func TestAuthorize(t *testing.T) {
	t.Parallel()
	m, ctx := newMachine(t), context.Background()
	one, two := KeyLine("ssh-ed25519 AAAAone\n", "site/edge-1"), KeyLine("ssh-ed25519 AAAAtwo", "site/edge-2")
	for _, step := range []struct {
		what, file, line, want string
	}{
		{"no file", "", one, one},
		{"the same key again", "", one, one},
		{"a file of the site without an end of its last line", ofSite[:len(ofSite)-1], one, ofSite + one},
		{"another cluster", "", two, ofSite + two},
		{"the machine leaves", "", "", ofSite},
		{"it has left already", "", "", ofSite},
		{"the only line leaves", one, "", ""},
	} {
		if step.file != "" {
			m.write(authorizedKeys, step.file, 0o600)
		}
		if err := Authorize(ctx, m.shell, step.line); err != nil {
			t.Fatalf("%s: %v\n%s", step.what, err, &m.stderr)
		}
		if diff := cmp.Diff(step.want, m.read(authorizedKeys)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step.what, diff)
		}
	}
	for path, want := range map[string]os.FileMode{"root/.ssh": 0o700, authorizedKeys: 0o600} {
		info, err := os.Stat(filepath.Join(m.root, path))
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v; want mode %o", path, info, err, want)
		}
	}
	if files, err := os.ReadDir(filepath.Join(m.root, "root/.ssh")); err != nil || len(files) != 1 {
		t.Errorf("files: %v, %v; want authorized_keys alone", files, err)
	}
}

// A machine without any file of SSH, as with AuthorizedKeysCommand, stays as it is when it leaves.
func TestAuthorizeLeavesABlankMachineAlone(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	before := m.tree()
	if err := Authorize(context.Background(), m.shell, ""); err != nil {
		t.Fatalf("%v\n%s", err, &m.stderr)
	}
	if diff := cmp.Diff(before, m.tree()); diff != "" {
		t.Errorf("the machine (-before +after):\n%s", diff)
	}
}

// A symbolic link stays, and the file that it names is changed.
func TestAuthorizeThroughALink(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.write("etc/keys-of-root", ofSite, 0o600)
	m.link(authorizedKeys, filepath.Join(m.root, "etc/keys-of-root"))
	line := KeyLine("ssh-ed25519 AAAAone", "site/edge-1")
	if err := Authorize(context.Background(), m.shell, line); err != nil {
		t.Fatalf("%v\n%s", err, &m.stderr)
	}
	if diff := cmp.Diff(ofSite+line, m.read("etc/keys-of-root")); diff != "" {
		t.Errorf("the file behind the link (-want +got):\n%s", diff)
	}
}

// Text of elsewhere is no line: it could hold options, or more keys.
func TestAuthorizeTakesOnlyItsOwnLines(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	for _, line := range []string{"ssh-ed25519 AAAAone\n", KeyLine("ssh-ed25519 AAAAone\nssh-ed25519 AAAAtwo", "site/edge-1"), "\n"} {
		if err := Authorize(context.Background(), m.shell, line); err == nil {
			t.Errorf("%q is accepted", line)
		}
	}
}
