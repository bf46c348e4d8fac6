package prepare_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/akraino-icn/bpa/pkg/operate/session"
	"github.com/akraino-icn/bpa/pkg/tasks/kubespray/kubespraytest"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

func TestEveryKubeletOfARunIsPrepared(t *testing.T) {
	w := kubespraytest.New(t, 2)
	got := w.GotDropIn()
	if _, err := w.Run(); err != nil {
		t.Fatal(err)
	}
	if len(got()) != 3 {
		t.Errorf("the drop-in is on the servers %v, want 3", got())
	}
}

func TestAKubeletThatCannotBePrepared(t *testing.T) {
	w := kubespraytest.New(t, 0)
	w.Scripts = func(_ int, command string, _, stderr io.Writer) (int, bool) {
		_, _ = io.WriteString(stderr, "Read-only file system")
		return 1, strings.Contains(command, session.KubeletDropIn)
	}
	_, err := w.Run()
	var failed *task.Error
	if !errors.As(err, &failed) || failed.Host != "master-1" || !strings.Contains(err.Error(), "user root can write "+session.KubeletDropIn) {
		t.Errorf("Run: %v; want advice for master-1", err)
	}
	if len(w.Ran) > 0 {
		t.Error("the playbook ran nevertheless")
	}
}
