package images

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestProgramIsOnItsBaseAsKoPutsIt(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "controller")
	if err := os.WriteFile(binary, []byte("program"), 0o600); err != nil {
		t.Fatal(err)
	}
	base := static(t, "certificates")
	img, err := Program(base, binary, "controller")
	if err != nil {
		t.Fatal(err)
	}
	files := contents(t, img)
	if files["ko-app/controller"] != "program" || files["etc/ssl/certs/ca-certificates.crt"] != "certificates" {
		t.Errorf("/ko-app/controller holds %q, or the base is missing", files["ko-app/controller"])
	}
	config, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if got := config.Config; got.User != nonroot || !slices.Equal(got.Entrypoint, []string{"/ko-app/controller"}) ||
		!slices.Contains(got.Env, "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/ko-app") {
		t.Errorf("config %+v: want the base's user, the program as the entry point, its folder in PATH", got)
	}
	again, err := Program(base, binary, "controller")
	if err != nil {
		t.Fatal(err)
	}
	if a, b := digest(t, img), digest(t, again); a != b {
		t.Errorf("two images of the same: %s and %s", a, b)
	}
	if _, err := Program(base, binary+"-missing", "controller"); err == nil {
		t.Error("no error for a program that was not built")
	}
}
