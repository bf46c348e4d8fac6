package session_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/tasks/kubespray/kubespraytest"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// The hosts must be used in the record before the first script that changes a machine.
func TestHostsAreRecordedBeforeTheFirstChange(t *testing.T) {
	w := kubespraytest.New(t, 2)
	w.Record(`{"uid-2":"clean","uid-of-another-host":"used"}`)
	for _, d := range w.Disks {
		d.Before = func(script string, _ io.Writer) int {
			states, _ := w.States()
			if script != "inspect" && (states["uid-1"] != contract.HostUsed || states["uid-2"] != contract.HostUsed || states["uid-3"] != contract.HostUsed) {
				t.Errorf("%s runs with the record %v", script, states)
			}
			return 0
		}
	}
	if _, err := w.Run(); err != nil {
		t.Fatal(err)
	}
	w.ExpectStates(contract.HostStates{"uid-1": "used", "uid-2": "used", "uid-3": "used", "uid-of-another-host": "used"})
	for i, d := range w.Disks {
		if diff := cmp.Diff([]string{"mark"}, d.Changes()); diff != "" || d.Report.User != w.In.Request.User() {
			t.Errorf("machine %d has user %q, scripts (-want +got):\n%s", i+1, d.Report.User, diff)
		}
	}
}

// If the record cannot be written, nothing is changed.
func TestNothingIsChangedWithoutARecord(t *testing.T) {
	w := kubespraytest.New(t, 1)
	w.Installed.Err = apierrors.NewServiceUnavailable("etcd is full")
	if _, err := w.Run(); task.FailureOf(err).Reason != contract.ReasonAPIUnavailable {
		t.Errorf("Run: %v", err)
	}
	w.ExpectUntouched()
	w.Installed.Err = nil
	w.Record("not JSON")
	if _, err := w.Run(); task.FailureOf(err).Reason != contract.ReasonInvalidRequest {
		t.Errorf("Run: %v", err)
	}
	w.ExpectUntouched()
}

// A run that an older controller started has no ConfigMap for the record, or no permission for it. The
// next run has both, so this failure must be transient.
func TestRunOfAnOlderController(t *testing.T) {
	maps := schema.GroupResource{Resource: "configmaps"}
	for _, err := range []error{apierrors.NewNotFound(maps, "edge-1-installed"), apierrors.NewForbidden(maps, "edge-1-installed", errors.New("no rule"))} {
		w := kubespraytest.New(t, 1)
		w.Installed.Err = fmt.Errorf("read ConfigMap edge-1-installed: %w", err)
		_, err := w.Run()
		if f := task.FailureOf(err); f.Reason != contract.ReasonVersionSkew || !f.Reason.Transient() || !strings.Contains(f.Message, "older build of BPA") {
			t.Errorf("failure %+v", f)
		}
		w.ExpectUntouched()
	}
}

// A preflight that fails changes no host, and records exactly this.
func TestAFailedPreflightRecordsNoHost(t *testing.T) {
	w := kubespraytest.New(t, 1)
	w.Servers[1].Stop()
	if _, err := w.Run(); task.FailureOf(err).Reason != contract.ReasonHostUnreachable {
		t.Errorf("Run: %v", err)
	}
	w.ExpectStates(contract.HostStates{})
	w.ExpectUntouched()
}

// A build without the record has pinned host keys and may have changed these hosts.
func TestHostsOfAnOlderBuildAreUsed(t *testing.T) {
	w := kubespraytest.New(t, 0)
	w.Pin("uid-of-a-former-host", w.HostKey.PublicKey())
	if _, err := w.Run(); err != nil {
		t.Fatal(err)
	}
	w.ExpectStates(contract.HostStates{"uid-1": "used", "uid-of-a-former-host": "used"})
}
