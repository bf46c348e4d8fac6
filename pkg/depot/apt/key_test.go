package apt

import (
	"bytes"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/clearsign"
	"github.com/ProtonMail/go-crypto/openpgp/packet"

	"github.com/akraino-icn/bpa/pkg/depot/apt/apttest"
)

func openKey(t *testing.T, dir string) (*Key, error) {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return OpenKey(root, slog.New(slog.DiscardHandler))
}

func TestKeyIsMadeOnceAndIsPrivate(t *testing.T) {
	dir := t.TempDir()
	first, err := openKey(t, dir)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(dir, keyFile))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%s: %v, %v, want mode 0600", keyFile, info.Mode(), err)
	}
	again, err := openKey(t, dir)
	if err != nil || again.Fingerprint() != first.Fingerprint() || len(first.Fingerprint()) != 40 {
		t.Errorf("after a restart the key is %s (%v), want %s", again.Fingerprint(), err, first.Fingerprint())
	}
	if other, err := openKey(t, t.TempDir()); err != nil || other.Fingerprint() == first.Fingerprint() {
		t.Errorf("two depots have the same key (%v)", err)
	}
	answer := httptest.NewRecorder()
	first.ServeHTTP(answer, httptest.NewRequest("GET", "/", nil))
	served, err := openpgp.ReadArmoredKeyRing(answer.Body)
	if err != nil || len(served) != 1 || served[0].PrivateKey != nil || len(served[0].Subkeys) != 0 {
		t.Errorf("served: %v, %v, want the public key alone", served, err)
	}
}

// The depot never replaces a key: nodes trust it.
func TestKeyThatIsNotUsableIsKept(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, keyFile)
	key, err := openKey(t, dir)
	if err != nil {
		t.Fatal(err)
	}
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		content []byte
		mode    os.FileMode
		want    string
	}{
		"empty":             {nil, 0o600, "is damaged"},
		"cut off":           {good[:len(good)/2], 0o600, "is damaged"},
		"the public key":    {key.public, 0o600, "one private key"},
		"readable by all":   {good, 0o644, "other users may read"},
		"writable by group": {good, 0o620, "other users may read"},
	} {
		if err := os.WriteFile(path, tc.content, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, tc.mode); err != nil {
			t.Fatal(err)
		}
		_, err := openKey(t, dir)
		if err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), keyFile) || !strings.Contains(err.Error(), "run every cluster again") {
			t.Errorf("%s: %v, want %q, and what to do", name, err, tc.want)
		}
		if left, err := os.ReadFile(path); err != nil || !bytes.Equal(left, tc.content) {
			t.Errorf("%s: the file was changed (%v)", name, err)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}

func TestClockThatWasNeverSetMakesNoKey(t *testing.T) {
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if _, err := makeKey(root, time.Unix(0, 0)); err == nil || !strings.Contains(err.Error(), "clock says 1970-01-01") {
		t.Errorf("%v, want a refusal", err)
	}
	if _, err := root.Stat(keyFile); !os.IsNotExist(err) {
		t.Errorf("the file is there: %v", err)
	}
}

// signedBy returns the text of an InRelease that the key has signed.
func signedBy(t *testing.T, k *Key, inRelease []byte, now time.Time) string {
	t.Helper()
	block, rest := clearsign.Decode(inRelease)
	if block == nil || len(rest) != 0 {
		t.Fatalf("not an InRelease:\n%s", inRelease)
	}
	if _, err := block.VerifySignature(openpgp.EntityList{k.entity}, &packet.Config{Time: func() time.Time { return now }}); err != nil {
		t.Fatalf("%v:\n%s", err, inRelease)
	}
	return string(block.Plaintext)
}

func TestReleaseIsSignedAgainBeforeItExpires(t *testing.T) {
	w := newFixture(t, t.TempDir())
	w.copyIn(t, "app.deb", apttest.Package(t, "app", "1", "amd64", ""))
	r, g := w.repository(t), w.current(t)
	sign := func() signedRelease {
		s, err := r.signed(g)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	first, now := sign(), time.Now()
	want := string(g.Release) + "Valid-Until: " + first.at.Add(validFor).UTC().Format(releaseDate) + "\n"
	// The clock of this node is almost as far behind as the depot's certificates allow.
	if got := signedBy(t, r.key, first.inRelease, now.Add(-skew+time.Minute)); got != want || string(first.release) != want {
		t.Errorf("signed is\n%s\nand beside the signature\n%s\nwant\n%s", got, first.release, want)
	}
	if _, err := openpgp.CheckArmoredDetachedSignature(openpgp.EntityList{r.key.entity}, bytes.NewReader(first.release), bytes.NewReader(first.signature), nil); err != nil {
		t.Errorf("Release.gpg: %v", err)
	}
	if again := sign(); !bytes.Equal(again.inRelease, first.inRelease) {
		t.Error("a second request got other bytes, so apt would download them again")
	}
	for name, at := range map[string]time.Time{"after a day": now.Add(-signAgain), "after the clock was set back": now.Add(time.Hour)} {
		r.served.at = at
		if again := sign(); again.at.Before(now) || again.at.After(time.Now()) {
			t.Errorf("%s it is still signed at %s", name, again.at)
		}
	}
}

func TestNewKeySignsWhatAnEarlierOneSigned(t *testing.T) {
	w := newFixture(t, t.TempDir())
	w.copyIn(t, "app.deb", apttest.Package(t, "app", "1", "amd64", ""))
	g := w.current(t)
	if err := os.Remove(filepath.Join(w.dir, keyFile)); err != nil {
		t.Fatal(err)
	}
	restarted := newFixture(t, w.dir)
	now := restarted.current(t)
	if !bytes.Equal(now.Release, g.Release) {
		t.Errorf("the index is\n%s\nwant\n%s", now.Release, g.Release)
	}
	r := restarted.repository(t)
	s, err := r.signed(now)
	if err != nil {
		t.Fatal(err)
	}
	signedBy(t, r.key, s.inRelease, time.Now())
}
