package architecture

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// parsers are the functions of client-go that make a client from the text of a kubeconfig, with the programs and the
// files that it names.
var parsers = regexp.MustCompile(`clientcmd\.(RESTConfigFromKubeConfig|NewClientConfigFromBytes|Load|BuildConfigFromKubeconfigGetter)\(`)

// TestKubeconfigsAreData: only package access reads the text of a kubeconfig, because it refuses programs and files.
func TestKubeconfigsAreData(t *testing.T) {
	read := 0
	for _, folder := range []string{"pkg", "cmd"} {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			read++
			if found := parsers.Find(text); found != nil && filepath.Dir(path) != filepath.Join(root, "pkg/access") {
				t.Errorf("%s calls %s): use access.ParseKubeconfig", path, found)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if read < 100 {
		t.Errorf("only %d files were read", read)
	}
}
