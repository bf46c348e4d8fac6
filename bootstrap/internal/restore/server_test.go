package restore

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/akraino-icn/bpa/bootstrap/internal/backup"
	"github.com/akraino-icn/bpa/bootstrap/internal/layout"
	"github.com/akraino-icn/bpa/bootstrap/internal/supervisor"
	"github.com/akraino-icn/bpa/bootstrap/internal/target"
	"github.com/akraino-icn/bpa/bootstrap/internal/target/targettest"
)

// A backup on a server is read with the login and the authorities of the restore, and a failure leaves nothing.
func TestARestoreFromAServer(t *testing.T) {
	l := layout.Layout{Root: t.TempDir()}
	for _, program := range []string{"etcd", "etcdutl", "kube-apiserver"} {
		put(t, l.Bin(program), "")
	}
	key := filepath.Join(t.TempDir(), "key")
	if _, err := backup.NewKey(key); err != nil {
		t.Fatal(err)
	}
	keys, err := backup.ReadKey(key)
	if err != nil {
		t.Fatal(err)
	}
	server := targettest.StartRegistry(t)
	address := "oci://" + server.Address + "/" + targettest.Repository
	login := target.Access{CA: server.CA, Credentials: server.Login(t, "admin", targettest.Password)}
	for want, r := range map[string]Restore{
		"401 Unauthorized":                    {File: address + ":none", Access: target.Access{CA: server.CA, Credentials: server.Login(t, "admin", "wrong")}},
		"404 Not Found":                       {File: address + ":none", Access: login},
		"the authority's certificate with":    {File: address + ":none"},
		"names no file: `machine backup list": {File: address, Access: login},
		"no such file or directory":           {File: "none.age"},
	} {
		r.Layout, r.Keys, r.Paths = l, keys, supervisor.Paths{Lock: l.Run("supervisor.lock")}
		if _, err := r.Run(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
		if exists(l.RestoreDir()) {
			t.Errorf("after %q, something is left", want)
		}
	}
}
