package prepare_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/tasks/kubespray/kubespraytest"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

func TestEveryNodeIsMadeToTrustTheDepot(t *testing.T) {
	w := kubespraytest.New(t, 2)
	w.In.Request.DepotCA = kubespraytest.DepotCA
	var asked atomic.Int32
	w.Trusts = func(command string, _ io.Writer) int {
		if strings.Contains(command, base64.StdEncoding.EncodeToString([]byte(kubespraytest.DepotCA))) {
			asked.Add(1)
		}
		return 0
	}
	if _, err := w.Run(); err != nil {
		t.Fatal(err)
	}
	if asked.Load() != 3 {
		t.Errorf("%d of 3 nodes received the certificate", asked.Load())
	}
}

func TestANodeWithoutAWayToTrustIsNamed(t *testing.T) {
	w := kubespraytest.New(t, 0)
	w.In.Request.DepotCA = kubespraytest.DepotCA
	w.Trusts = func(_ string, stderr io.Writer) int {
		fmt.Fprint(stderr, "sh: 1: update-ca-certificates: not found")
		return 127
	}
	_, err := w.Run()
	var failed *task.Error
	if !errors.As(err, &failed) || failed.Reason != contract.ReasonPlaybookFailed || failed.Host != "master-1" {
		t.Fatalf("Run: %v; want a failure of master-1 that a user must fix", err)
	}
	for _, want := range []string{"update-ca-certificates: not found", "package ca-certificates"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not say %q: %v", want, err)
		}
	}
	if len(w.Ran) > 0 {
		t.Error("the playbook ran nevertheless")
	}
}
