package backup

import (
	"context"
	"errors"
	"time"

	"github.com/akraino-icn/bpa/bootstrap/internal/kubernetes"
	"github.com/akraino-icn/bpa/bootstrap/internal/layout"
)

// The ConfigMap in which the machine says when it was backed up, and its keys. `kubectl bpa status` reads it.
const (
	publishedNamespace = "bpa-system"
	publishedName      = "machine-backup"
	timeKey            = "time"   // of the last backup, in RFC 3339
	failedKey          = "failed" // when the last attempt has failed
	everyKey           = "every"  // the interval; without it, the machine is not backed up
)

// published is the data of the ConfigMap: neither an address nor a message, which can have the name of a server.
func published(l layout.Layout) (map[string]string, error) {
	data := map[string]string{}
	if s, err := ReadSettings(l); err == nil { // with damaged settings, no backup is made
		data[everyKey] = s.Every
	}
	r, err := ReadRecord(l)
	for key, at := range map[string]time.Time{timeKey: r.Time, failedKey: r.Failed} {
		if !at.IsZero() {
			data[key] = at.UTC().Format(time.RFC3339)
		}
	}
	return data, err
}

// Publish writes the state of the backups to the API server of the machine. Called again, it changes nothing that is
// there already. On a machine without BPA it does nothing.
func Publish(ctx context.Context, l layout.Layout, api *kubernetes.Client) error {
	data, err := published(l)
	if err != nil {
		return err
	}
	err = api.Apply(ctx, "/api/v1/namespaces/"+publishedNamespace+"/configmaps/"+publishedName, map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "data": data,
		"metadata": map[string]any{"namespace": publishedNamespace, "name": publishedName, "labels": map[string]string{"app.kubernetes.io/part-of": "bpa"}},
	})
	if errors.Is(err, kubernetes.ErrNotFound) {
		return nil
	}
	return err
}
