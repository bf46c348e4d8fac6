package cli

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/settings"
)

// reportMachineBackup prints when the bootstrap machine was backed up: on a page as its last line, and as a warning on
// stderr if that is too long ago. It prints nothing if the site has another bootstrap cluster than a machine, or if the
// user may not read it: a viewer of one namespace cannot do anything about it.
func (s *session) reportMachineBackup(ctx context.Context, site *site, page bool) {
	cm := corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: settings.Namespace, Name: contract.MachineBackupName}}
	if site.client.Get(ctx, client.ObjectKeyFromObject(&cm), &cm) != nil {
		return
	}
	text, good := machineBackup(cm.Data, s.now())
	switch {
	case !good:
		fmt.Fprintf(s.ErrOut, "Warning: %s\n", text)
	case page:
		fmt.Fprintf(s.Out, "\n%s\n", text)
	}
}

// machineBackup describes the backups of the bootstrap machine, and reports whether they are as they should be.
func machineBackup(data map[string]string, now time.Time) (text string, good bool) {
	every, err := time.ParseDuration(data[contract.MachineBackupEvery])
	if err != nil || every <= 0 {
		return "the bootstrap machine is not backed up. With its disk, the keys of all clusters are lost: see `machine status` on it", false
	}
	failed := ""
	if at, err := time.Parse(time.RFC3339, data[contract.MachineBackupFailed]); err == nil {
		failed = fmt.Sprintf(", and the backup of %s has failed", at.UTC().Format(time.RFC3339))
	}
	last, err := time.Parse(time.RFC3339, data[contract.MachineBackupTime])
	if err != nil {
		return fmt.Sprintf("the bootstrap machine was never backed up%s: see `machine status` on it", failed), false
	}
	text = fmt.Sprintf("the bootstrap machine was backed up %s ago, and should be every %s", age(metav1.NewTime(last), now), data[contract.MachineBackupEvery])
	if now.Sub(last) > 2*every {
		return text + failed + ": see `machine status` on it", false
	}
	return fmt.Sprintf("The bootstrap machine was backed up %s ago%s.", age(metav1.NewTime(last), now), failed), true
}
