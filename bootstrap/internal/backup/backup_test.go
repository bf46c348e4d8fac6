package backup

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"filippo.io/age"
	"github.com/google/go-cmp/cmp"

	"github.com/akraino-icn/bpa/bootstrap/internal/layout"
	"github.com/akraino-icn/bpa/bootstrap/internal/pki"
	"github.com/akraino-icn/bpa/bootstrap/internal/target/targettest"
)

var noon = time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func readTree(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		files[strings.TrimPrefix(path, dir+"/")] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// site is a machine that has run, with an etcd that sends a snapshot.
type site struct {
	l        layout.Layout
	settings Settings
	key      string // file with the private key
	etcd     Etcd
	db       []byte
	cut      bool // etcd ends the snapshot before its end
}

const blobOf = "registry/docker/registry/v2/blobs/sha256/ba/ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad/data"

func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{l: layout.Layout{Root: filepath.Join(t.TempDir(), "state")}, db: bytes.Repeat([]byte("object "), 20_000), key: filepath.Join(t.TempDir(), "key")}
	if err := s.l.Claim(); err != nil {
		t.Fatal(err)
	}
	if err := pki.Ensure(s.l.PKI(), pki.Machine{Node: "none", IPs: []string{"127.0.0.1"}, ServiceIP: "10.0.0.1", Server: "https://127.0.0.1:1"}, noon); err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string]string{
		s.l.Etc("kubelet.yaml"): "kubelet", s.l.DepotCA(): "ca", s.l.DepotToken(): "token", filepath.Join(s.l.DepotDir(), "upload-secret"): "secret",
		filepath.Join(s.l.DepotDir(), blobOf): "abc", filepath.Join(s.l.DepotDir(), names, "pause/_manifests/tags/1/current/link"): "sha256:ba78",
		filepath.Join(s.l.DepotDir(), "files/kubelet"): "kubelet", filepath.Join(s.l.DepotDir(), "digests/kubelet.digest.json"): `{"size": 7, "sha256": "77"}`,
		filepath.Join(s.l.DepotDir(), "incoming/1"): "half", filepath.Join(s.l.DepotDir(), names, "pause/_uploads/1/data"): "half", filepath.Join(s.l.DepotDir(), "lock"): "",
		s.l.Data("kubelet", "x"): "x", s.l.Log("etcd.log"): "x",
	} {
		put(t, path, text)
	}
	public, err := NewKey(s.key)
	if err != nil {
		t.Fatal(err)
	}
	s.settings = Settings{Recipient: public, To: t.TempDir(), Every: "24h", Keep: 2, SameDisk: true}
	if err := s.settings.Write(t.Context(), s.l); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewTLSServer(http.HandlerFunc(s.serve))
	t.Cleanup(server.Close)
	s.etcd = Etcd{URL: server.URL, PKI: t.TempDir()}
	for _, file := range []string{"apiserver-etcd.crt", "apiserver-etcd.key"} {
		text, err := os.ReadFile(filepath.Join(s.l.PKI(), file))
		if err != nil {
			t.Fatal(err)
		}
		put(t, filepath.Join(s.etcd.PKI, file), string(text))
	}
	put(t, filepath.Join(s.etcd.PKI, "etcd-ca.crt"), string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})))
	return s
}

// serve sends a snapshot in the form of etcd: parts with the number of bytes that are left, and the checksum at the end.
func (s *site) serve(w http.ResponseWriter, _ *http.Request) {
	send := func(left int, part []byte) {
		_ = json.NewEncoder(w).Encode(map[string]any{"result": map[string]any{"remaining_bytes": fmt.Sprint(left), "blob": part}})
	}
	const size = 32 << 10
	for at := 0; at < len(s.db); at += size {
		end := min(at+size, len(s.db))
		send(len(s.db)-end, s.db[at:end])
		if s.cut {
			return
		}
	}
	sum := sha256.Sum256(s.db)
	send(0, sum[:])
}

func (s *site) backup(t *testing.T, kind Kind, at time.Time) Found {
	t.Helper()
	found, err := Make(t.Context(), s.l, s.settings, s.etcd, kind, at)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func (s *site) list(t *testing.T, machine string) ([]Found, error) {
	t.Helper()
	to, err := s.settings.Target(t.Context(), s.l)
	if err != nil {
		t.Fatal(err)
	}
	return List(t.Context(), to, machine)
}

func (s *site) unpack(t *testing.T, path string) (map[string]string, error) {
	t.Helper()
	keys, err := ReadKey(s.key)
	if err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(t.TempDir(), "unpacked")
	if _, err := Unpack(t.Context(), path, s.settings.Access(), keys, to); err != nil {
		if _, left := os.Stat(to); !errors.Is(left, fs.ErrNotExist) {
			t.Errorf("after %v, the folder is still there", err)
		}
		return nil, err
	}
	return readTree(t, to), nil
}

func TestABackupHasWhatCannotBeMadeAgain(t *testing.T) {
	s := newSite(t)
	found := s.backup(t, Manual, noon)
	id, _ := s.l.ID()
	if want := filepath.Join(s.settings.To, "bpa-machine-"+id+"-20261127T120000Z-manual.age"); found.Path != want {
		t.Errorf("file %s, want %s", found.Path, want)
	}
	raw, err := os.ReadFile(found.Path)
	if err != nil || bytes.Contains(raw, []byte("object object")) || bytes.Contains(raw, []byte("PRIVATE KEY")) {
		t.Errorf("the backup is not encrypted (%v)", err)
	}
	have, err := s.unpack(t, found.Path)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(s.db)
	want := map[string]string{"etcd.snapshot": string(s.db) + string(sum[:])}
	for path, text := range readTree(t, s.l.Root) {
		switch top, _, _ := strings.Cut(path, "/"); {
		case top == "pki" || top == "etc" || top == ".bpa-machine" || path == "depot/tls/ca.crt" || path == "depot/local-token" || path == "depot/upload-secret":
			want["state/"+path] = text
		}
	}
	want["depot.jsonl"] = `{"path":"digests/kubelet.digest.json","size":27}
{"path":"files/kubelet","size":7,"sha256":"77"}
{"path":"` + blobOf + `","size":3,"sha256":"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"}
{"path":"` + names + `/pause/_manifests/tags/1/current/link","size":11}
`
	if diff := cmp.Diff(want, have); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(have) < 30 {
		t.Errorf("only %d files: the keys are missing", len(have))
	}
}

// TestADamagedBackupIsRefused damages a backup at many places, cuts it and extends it.
func TestADamagedBackupIsRefused(t *testing.T) {
	s := newSite(t)
	good, err := os.ReadFile(s.backup(t, Manual, noon).Path)
	if err != nil {
		t.Fatal(err)
	}
	bad := filepath.Join(t.TempDir(), "bad.age")
	check := func(what string, text []byte) {
		t.Helper()
		if err := os.WriteFile(bad, text, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := s.unpack(t, bad); err == nil || !strings.Contains(err.Error(), "use ") || !strings.Contains(err.Error(), bad) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for at := 0; at < len(good); at += 1 + len(good)/40 {
		damaged := bytes.Clone(good)
		damaged[at] ^= 0x20
		check(fmt.Sprintf("byte %d of %d", at, len(good)), damaged)
	}
	for _, size := range []int{0, 10, 200, 70_000, len(good) - 1} {
		check(fmt.Sprintf("the first %d bytes of %d", size, len(good)), good[:size])
	}
	check("one byte more", append(bytes.Clone(good), 0))
	check("another file", []byte("hello"))
}

func TestAnotherKeyIsRefused(t *testing.T) {
	s := newSite(t)
	found := s.backup(t, Manual, noon)
	s.key = filepath.Join(t.TempDir(), "other")
	public, err := NewKey(s.key)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.unpack(t, found.Path); err == nil || !strings.Contains(err.Error(), "is not for the private key of "+public) {
		t.Errorf("%v", err)
	}
	if _, err := NewKey(s.key); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a private key is overwritten: %v", err)
	}
	put(t, s.key, "age1something")
	if _, err := ReadKey(s.key); err == nil || !strings.Contains(err.Error(), "has no private key") {
		t.Errorf("%v", err)
	}
}

func TestABackupOfAnotherFormatIsRefused(t *testing.T) {
	needed := []File{{Name: "state/.bpa-machine"}, {Name: "state/pki/sa.key"}, {Name: "state/pki/etcd-ca.key"}, {Name: depotFile}, {Name: snapshotFile}}
	if err := (Manifest{Version: 1, Files: needed}).check(); err != nil {
		t.Fatal(err)
	}
	for want, m := range map[string]Manifest{
		"format 2":                           {Version: 2, Files: needed},
		`a file "state/../x"`:                {Version: 1, Files: append([]File{{Name: "state/../x"}}, needed...)},
		`a file "state//etc/x"`:              {Version: 1, Files: append([]File{{Name: "state//etc/x"}}, needed...)},
		`a file "x"`:                         {Version: 1, Files: append([]File{{Name: "x"}}, needed...)},
		`a file "state/pki/sa.key"`:          {Version: 1, Files: append([]File{{Name: "state/pki/sa.key"}}, needed...)},
		"no file etcd.snapshot":              {Version: 1, Files: needed[:4]},
		"in another order than a backup has": {Version: 1, Files: append([]File{{Name: snapshotFile}}, needed[:4]...)},
	} {
		if err := m.check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// TestAFailedBackupLeavesTheOthers: what fails changes nothing but the record, and the next backup works.
func TestAFailedBackupLeavesTheOthers(t *testing.T) {
	s := newSite(t)
	first := s.backup(t, Scheduled, noon)
	second := s.backup(t, Scheduled, noon.Add(time.Hour))
	put(t, second.Path+".partial", "of a backup that was killed")
	s.cut = true
	if _, err := Make(t.Context(), s.l, s.settings, s.etcd, Scheduled, noon.Add(2*time.Hour)); err == nil || !strings.Contains(err.Error(), "etcd has sent 32768 of the 140032 bytes") {
		t.Errorf("%v", err)
	}
	s.cut = false
	all, err := s.list(t, first.Machine)
	if diff := cmp.Diff([]Found{second, first}, all); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if files := readTree(t, s.settings.To); len(files) != 2 {
		t.Errorf("something is left: %d files", len(files))
	}
	r, err := ReadRecord(s.l)
	if err != nil || !r.Time.Equal(second.Time) || !r.Failed.Equal(noon.Add(2*time.Hour)) || r.Error == "" {
		t.Errorf("record %+v, %v", r, err)
	}
	if status := Status(s.l, noon.Add(3*time.Hour)); !strings.Contains(status, "the last backup is 2h0m0s old") || !strings.Contains(status, "WARNING: the backup of") {
		t.Error(status)
	}
	s.backup(t, Scheduled, noon.Add(4*time.Hour))
	if status := Status(s.l, noon.Add(5*time.Hour)); strings.Contains(status, "WARNING") {
		t.Error(status)
	}
	unlock, err := lock(s.l.BackupLock())
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	if _, err := Make(t.Context(), s.l, s.settings, s.etcd, Scheduled, noon.Add(6*time.Hour)); !errors.Is(err, ErrRunning) {
		t.Errorf("two backups at the same time: %v", err)
	}
}

func TestOldBackupsAreRemoved(t *testing.T) {
	s := newSite(t)
	keep := []Found{s.backup(t, Manual, noon)}
	other := filepath.Join(s.settings.To, "bpa-machine-0a0a0a0a-20200101T000000Z-scheduled.age")
	put(t, other, "of another machine")
	keep = append(keep, s.backup(t, BeforeUp, noon.Add(time.Minute)))
	for n := range 4 {
		found := s.backup(t, Scheduled, noon.Add(time.Duration(n+1)*time.Hour))
		if n >= 2 {
			keep = append(keep, found)
		}
	}
	all, err := s.list(t, keep[0].Machine)
	want := []Found{keep[3], keep[2], keep[1], keep[0]}
	if diff := cmp.Diff(want, all); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if _, err := os.Stat(other); err != nil {
		t.Error(err)
	}
	s.settings.Keep = 1 // and the clock is wrong
	past := s.backup(t, Scheduled, noon.AddDate(-1, 0, 0))
	if all, _ = s.list(t, past.Machine); len(all) != 3 || all[2] != past {
		t.Errorf("the new backup was removed: %v", all)
	}
}

// TestABackupInARegistry makes backups in a target on a server, with the retention of a folder.
func TestABackupInARegistry(t *testing.T) {
	s := newSite(t)
	server := targettest.StartRegistry(t)
	s.settings.SameDisk = false
	s.settings.To, s.settings.CA = "oci://"+server.Address+"/"+targettest.Repository, server.CA
	if err := s.settings.Write(t.Context(), s.l); err == nil || !strings.Contains(err.Error(), "with --credentials") {
		t.Errorf("without a login: %v", err)
	}
	s.settings.Credentials = server.Login(t, "admin", targettest.Password)
	if err := s.settings.Write(t.Context(), s.l); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(s.l.BackupSettings()); err != nil || strings.Contains(string(text), targettest.Password) {
		t.Errorf("%s, %v", text, err)
	}
	want := []Found{s.backup(t, Manual, noon)}
	for n := range 4 {
		if found := s.backup(t, Scheduled, noon.Add(time.Duration(n+1)*time.Hour)); n >= 2 {
			want = append([]Found{found}, want...)
		}
	}
	all, err := s.list(t, "")
	if diff := cmp.Diff(want, all); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	have, err := s.unpack(t, all[0].Path)
	if err != nil || !strings.HasPrefix(have["etcd.snapshot"], string(s.db)) {
		t.Errorf("%d files, %v", len(have), err)
	}

	s.cut = true
	if _, err := Make(t.Context(), s.l, s.settings, s.etcd, Scheduled, noon.Add(9*time.Hour)); err == nil || !strings.Contains(err.Error(), "etcd has sent 32768 of the 140032 bytes") {
		t.Errorf("%v", err)
	}
	if after, err := s.list(t, ""); err != nil || len(after) != len(all) {
		t.Errorf("a backup that failed is listed: %v, %v", after, err)
	}
	server.Cut = strings.Repeat("x", 1000)
	if _, err := s.unpack(t, all[0].Path); err == nil || !strings.Contains(err.Error(), "read the backup: ") || strings.Contains(err.Error(), "damaged") {
		t.Errorf("a connection that breaks: %v", err)
	}
	server.Close()
	if _, err := Make(t.Context(), s.l, s.settings, s.etcd, Scheduled, noon.Add(10*time.Hour)); err == nil || !strings.Contains(err.Error(), server.Address+" does not answer") {
		t.Errorf("%v", err)
	}
	if status := Status(s.l, noon.Add(11*time.Hour)); !strings.Contains(status, "WARNING: the backup of") || !strings.Contains(status, "does not answer") {
		t.Error(status)
	}
}

func TestWhenABackupIsDue(t *testing.T) {
	s := Settings{Every: "24h"}
	for name, c := range map[string]struct {
		record Record
		want   bool
	}{
		"never":                     {Record{}, true},
		"an hour ago":               {Record{Time: noon.Add(-time.Hour)}, false},
		"a day ago":                 {Record{Time: noon.Add(-24 * time.Hour)}, true},
		"in the future":             {Record{Time: noon.Add(time.Hour)}, true},
		"it has just failed":        {Record{Time: noon.Add(-25 * time.Hour), Failed: noon.Add(-time.Minute)}, false},
		"it failed ten minutes ago": {Record{Failed: noon.Add(-10 * time.Minute)}, true},
		"it fails in the future":    {Record{Failed: noon.Add(time.Hour)}, true},
	} {
		if got := Due(s, c.record, noon); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func TestStatusWarns(t *testing.T) {
	s := newSite(t)
	if status := Status(s.l, noon); !strings.HasPrefix(status, "there is no backup yet. It is made every 24h to "+s.settings.To) {
		t.Error(status)
	}
	s.backup(t, Scheduled, noon)
	for after, warns := range map[time.Duration]bool{time.Minute: false, 47 * time.Hour: false, 49 * time.Hour: true} {
		if status := Status(s.l, noon.Add(after)); strings.HasPrefix(status, "WARNING: the last backup is ") != warns {
			t.Errorf("after %s: %s", after, status)
		}
	}
	for failed, warns := range map[error]bool{errors.New("Backup site/nightly: no space"): true, nil: false} {
		if err := RecordCopies(s.l, failed); err != nil {
			t.Fatal(err)
		}
		if status := Status(s.l, noon.Add(time.Minute)); strings.Contains(status, "\nWARNING: not all Backups of clusters were copied: Backup site/nightly: no space") != warns {
			t.Errorf("after %v: %s", failed, status)
		}
	}
	put(t, s.l.BackupSettings(), "keeep: 7")
	if status := Status(s.l, noon); !strings.Contains(status, "WARNING: the machine is not backed up") || !strings.Contains(status, "keeep") {
		t.Error(status)
	}
	if err := os.Remove(s.l.BackupSettings()); err != nil {
		t.Fatal(err)
	}
	if status := Status(s.l, noon); !strings.Contains(status, "WARNING: no backup of this machine is configured") {
		t.Error(status)
	}
}

func TestSettingsAreChecked(t *testing.T) {
	s := newSite(t)
	private, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "file")
	put(t, file, "")
	if err := os.Symlink(s.l.Data(), filepath.Join(s.settings.To, "link")); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*Settings){
		"this is a private key":                func(s *Settings) { s.Recipient = private.String() },
		`"age1" is not a public key`:           func(s *Settings) { s.Recipient = "age1" },
		"by its absolute path":                 func(s *Settings) { s.To = "backups" },
		"mount its disk, or create":            func(s *Settings) { s.To = "/none" },
		"it is a file":                         func(s *Settings) { s.To = file },
		"is in the state folder":               func(x *Settings) { x.To = s.l.Data() },
		"in the state folder " + s.l.Root:      func(s *Settings) { s.To = filepath.Join(s.To, "link") },
		"a duration of at least 1m0s":          func(s *Settings) { s.Every = "10s" },
		`the interval of backups is "1d"`:      func(s *Settings) { s.Every = "1d" },
		"keep at least 1":                      func(s *Settings) { s.Keep = 0 },
		"machine backup configure --same-disk": func(s *Settings) { s.SameDisk = false },
		"name a folder":                        func(s *Settings) { s.To = "ftp://host/folder" },
		"the file \"keys\" for backups":        func(s *Settings) { s.To, s.Credentials = "s3://bucket", "keys" },
		"needs no credentials":                 func(s *Settings) { s.CA = file },
		"credentials for the bucket b":         func(s *Settings) { s.To = "s3://b/site-1" },
	} {
		changed := s.settings
		change(&changed)
		err := changed.Write(t.Context(), s.l)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
		if err != nil && strings.Contains(err.Error(), private.String()) {
			t.Error("the message has the private key")
		}
	}
	if have, err := ReadSettings(s.l); err != nil || have != s.settings {
		t.Errorf("%+v, %v", have, err)
	}
}

func TestTheDepotIsCopiedByWhatIsMissing(t *testing.T) {
	s := newSite(t)
	to := filepath.Join(t.TempDir(), "copy")
	done, err := CopyDepot(t.Context(), s.l, to)
	if err != nil || done != (Copied{Files: 4, Bytes: 48}) {
		t.Errorf("%+v, %v", done, err)
	}
	copied := readTree(t, to)
	if copied[blobOf] != "abc" || copied["local-token"] != "" || len(copied) != 4 {
		t.Errorf("%v", copied)
	}
	const damaged = "registry/docker/registry/v2/blobs/sha256/00/0000000000000000000000000000000000000000000000000000000000000000/data"
	put(t, filepath.Join(s.l.DepotDir(), damaged), "not zero")
	put(t, filepath.Join(s.l.DepotDir(), "files/new"), "new")
	for _, present := range []int{4, 5} {
		done, err = CopyDepot(t.Context(), s.l, to)
		if !errors.Is(err, errDamaged) || !strings.Contains(err.Error(), damaged) || done.Present != present || done.Files != 5-present {
			t.Errorf("%+v, %v", done, err)
		}
	}
	list, err := depotList(s.l)
	if err != nil {
		t.Fatal(err)
	}
	empty := layout.Layout{Root: t.TempDir()}
	for l, want := range map[layout.Layout]int{s.l: 0, empty: 6} {
		missing, all, first, err := Missing(l, bytes.NewReader(list))
		if err != nil || missing != want || all != 6 || len(first) != min(3, want) {
			t.Errorf("%d of %d, %v, %v", missing, all, first, err)
		}
	}
}
