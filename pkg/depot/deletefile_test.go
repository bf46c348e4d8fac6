package depot_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAFileIsDeleted(t *testing.T) {
	dir := t.TempDir()
	url := serve(t, dir).URL
	call(t, "PUT", url+"/files/dl/kubelet", strings.NewReader("content")).want(t, http.StatusCreated)
	call(t, "DELETE", url+"/files/dl/kubelet", nil).want(t, http.StatusNoContent)
	ask(t, "GET", url+"/files/dl/kubelet").want(t, http.StatusNotFound)
	ask(t, "GET", url+"/files/dl/kubelet.sha256").want(t, http.StatusNotFound)
	call(t, "DELETE", url+"/files/dl/kubelet", nil).want(t, http.StatusNotFound, "not in the depot")
	if left, err := filepath.Glob(filepath.Join(dir, "digests", "dl", "*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	call(t, "DELETE", url+"/files/dl", nil).want(t, http.StatusConflict, "is a folder")
	call(t, "DELETE", url+"/files/os_images/o/c/image", nil).want(t, http.StatusConflict, "delete it at /v1/baremetalcluster/o/c/os_images/image")
	put(t, dir, "real/there", "content")
	if err := os.Symlink("real", filepath.Join(dir, "files", "link")); err != nil {
		t.Fatal(err)
	}
	call(t, "DELETE", url+"/files/link/there", nil).want(t, http.StatusConflict, "is a link")
	ask(t, "GET", url+"/files/real/there").want(t, http.StatusOK, "content")
}
