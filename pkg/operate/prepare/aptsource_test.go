package prepare_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/operate/prepare"
	"github.com/akraino-icn/bpa/pkg/operate/session"
	"github.com/akraino-icn/bpa/pkg/ssh"
	"github.com/akraino-icn/bpa/pkg/tasks/kubespray/kubespraytest"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

const bookworm = "PRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\nNAME='Debian'\nVERSION_ID=\"12\"\nID=debian\n"

func TestAnotherSystemEndsTheRun(t *testing.T) {
	w := kubespraytest.New(t, 1)
	w.In.Request.OperatingSystem, w.System = "ubuntu-24.04", bookworm
	touched := false
	w.Sources = func(string, io.Writer, io.Writer) int { touched = true; return 0 }
	_, err := w.Run()
	var failed *task.Error
	if !errors.As(err, &failed) || failed.Reason != contract.ReasonInvalidRequest || failed.Host != "master-1" {
		t.Fatalf("Run: %v; want a failure of master-1 that a user must fix", err)
	}
	for _, want := range []string{"it runs debian-12", "spec.operatingSystem is ubuntu-24.04", "correct spec.operatingSystem", "1 more node failed too: worker-1"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not say %q: %v", want, err)
		}
	}
	if touched || len(w.Ran) > 0 {
		t.Error("the node was changed nevertheless")
	}
	w.In.Request.OperatingSystem, w.System = "Debian-12", bookworm
	if _, err := w.Run(); err != nil {
		t.Errorf("with the right one: %v", err)
	}
}

// Every node is configured, and the log shows the result for each node. If a node cannot reach the
// depot, the run fails.
func TestEveryNodeGetsItsPackagesFromTheDepot(t *testing.T) {
	w := kubespraytest.New(t, 1)
	w.In.Request.DepotURL, w.System = "http://10.60.0.1:5000", bookworm
	var asked atomic.Int32
	w.Sources = func(_ string, stdout, _ io.Writer) int {
		asked.Add(1)
		fmt.Fprintln(stdout, "held")
		return 0
	}
	if _, err := w.Run(); err != nil {
		t.Fatal(err)
	}
	if said := strings.Count(w.Log.String(), "OS packages of debian-12 come only from the depot"); asked.Load() != 2 || said != 2 {
		t.Errorf("%d of 2 nodes were configured, the log shows %d:\n%s", asked.Load(), said, &w.Log)
	}
	w.Sources = func(_ string, _, stderr io.Writer) int {
		fmt.Fprint(stderr, "E: Failed to fetch ... Connection refused")
		return 66 // as the script does if the depot does not answer
	}
	_, err := w.Run()
	var failed *task.Error
	if !errors.As(err, &failed) || failed.Reason != contract.ReasonDepotUnavailable || !strings.Contains(err.Error(), "Connection refused") {
		t.Errorf("Run: %v; want a depot that cannot be reached", err)
	}
}

// Nodes that are not changed otherwise, but that the playbook configures again, get a new key too. Without
// the key no node is changed.
func TestPresentNodesGetTheKeyOfPackages(t *testing.T) {
	w := kubespraytest.New(t, 1)
	w.In.Request.DepotURL, w.System = "https://10.60.0.1:5443", bookworm
	var asked atomic.Int32
	w.Sources = func(command string, stdout, _ io.Writer) int {
		if strings.Contains(command, base64.StdEncoding.EncodeToString([]byte(kubespraytest.DepotKey))) {
			asked.Add(1)
		}
		fmt.Fprintln(stdout, "held")
		return 0
	}
	present := session.Contact{Nodes: w.In.Nodes, Visits: make([]session.Visit, 2)}
	for i := range present.Visits {
		present.Visits[i] = session.Visit{System: "debian-12", Key: w.HostKey.PublicKey()}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	key, err := ssh.ParseKey(w.In.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	if err := prepare.Present(ctx, w.In, key, present, w.Ports()); err != nil || asked.Load() != 2 {
		t.Errorf("%d of 2 nodes got the key, %v", asked.Load(), err)
	}
	w.NoKey = errors.New("connection refused")
	_, err = w.Run()
	var failed *task.Error
	if !errors.As(err, &failed) || failed.Reason != contract.ReasonDepotUnavailable || !strings.Contains(err.Error(), "connection refused") || asked.Load() != 2 {
		t.Errorf("Run: %v; want a depot that cannot be reached, and no further node than %d", err, asked.Load())
	}
}
