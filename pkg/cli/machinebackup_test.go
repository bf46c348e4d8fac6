package cli

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/settings"
)

// TestStatusShowsTheBackupOfTheMachine: the age on the page, and a warning on stderr, also below a table.
func TestStatusShowsTheBackupOfTheMachine(t *testing.T) {
	const last, failed = "2026-11-28T12:00:00Z", "2026-11-28T13:00:00Z"
	noon := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	for name, tc := range map[string]struct {
		data       map[string]string // nil: no machine says anything
		after      time.Duration
		out, error string
	}{
		"no machine":          {nil, 0, "", ""},
		"just now":            {map[string]string{"every": "24h", "time": last}, time.Minute, "\nThe bootstrap machine was backed up 60s ago.\n", ""},
		"almost two days":     {map[string]string{"every": "24h", "time": last}, 48 * time.Hour, "\nThe bootstrap machine was backed up 2d ago.\n", ""},
		"a failure":           {map[string]string{"every": "24h", "time": last, "failed": failed}, 2 * time.Hour, "was backed up 120m ago, and the backup of " + failed + " has failed.\n", ""},
		"more than two days":  {map[string]string{"every": "24h", "time": last}, 49 * time.Hour, "", "Warning: the bootstrap machine was backed up 2d1h ago, and should be every 24h: see `machine status` on it\n"},
		"and a failure":       {map[string]string{"every": "24h", "time": last, "failed": failed}, 72 * time.Hour, "", "every 24h, and the backup of " + failed + " has failed: see"},
		"never":               {map[string]string{"every": "24h"}, 0, "", "Warning: the bootstrap machine was never backed up: see `machine status` on it\n"},
		"never, by a failure": {map[string]string{"every": "24h", "failed": failed}, 0, "", "was never backed up, and the backup of " + failed + " has failed: see"},
		"not configured":      {map[string]string{"time": last}, time.Minute, "", "Warning: the bootstrap machine is not backed up."},
	} {
		t.Run(name, func(t *testing.T) {
			objects := []client.Object{provisioning("edge-1")}
			if tc.data != nil {
				objects = append(objects, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: settings.Namespace, Name: contract.MachineBackupName}, Data: tc.data})
			}
			for _, args := range [][]string{{"status", "edge-1"}, {"status", "-A"}, {"status", "edge-1", "-o", "json"}} {
				w := newTerminal(t, objects...)
				w.clock = func() time.Time { return noon.Add(tc.after) }
				w.expect(w.run(t.Context(), args...), codeDone)
				out, errOut, table, object := w.text(), w.errOut.String(), args[1] == "-A", len(args) > 2
				if said := strings.Contains(out, "bootstrap machine"); said != (tc.out != "" && !table && !object) || said && !strings.HasSuffix(out, tc.out) {
					t.Errorf("%v: %q is not the end of:\n%s", args, tc.out, out)
				}
				if object && errOut != "" || !object && (errOut != "") != (tc.error != "") || !object && !strings.Contains(errOut, tc.error) {
					t.Errorf("%v: %q, want %q", args, errOut, tc.error)
				}
			}
		})
	}
}

// A user who may not read the namespace of the controller gets the page without the backup.
func TestStatusWithoutRightsToTheMachine(t *testing.T) {
	w := newTerminal(t, provisioning("edge-1"))
	asked := false
	w.cluster = interceptor.NewClient(w.cluster, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if key.Name == contract.MachineBackupName {
				asked = true
				return apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, key.Name, nil)
			}
			return c.Get(ctx, key, o, opts...)
		},
	})
	w.expect(w.run(t.Context(), "status", "edge-1"), codeDone, "edge-1  (namespace site-a", "NEXT")
	if !asked || w.errOut.String() != "" || strings.Contains(w.text(), "machine") {
		t.Errorf("asked %t:\n%s%s", asked, w.text(), w.errOut.String())
	}
}

// The bootstrap module cannot import the names.
func TestTheMachineWritesWhatStatusReads(t *testing.T) {
	text, err := os.ReadFile("../../bootstrap/internal/backup/publish.go")
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"publishedNamespace": settings.Namespace, "publishedName": contract.MachineBackupName,
		"timeKey": contract.MachineBackupTime, "failedKey": contract.MachineBackupFailed, "everyKey": contract.MachineBackupEvery,
	} {
		found := false
		for line := range strings.Lines(string(text)) {
			f := strings.Fields(line)
			found = found || len(f) >= 3 && f[0] == name && f[1] == "=" && f[2] == `"`+value+`"`
		}
		if !found {
			t.Errorf("the machine does not set %s to %q", name, value)
		}
	}
}
