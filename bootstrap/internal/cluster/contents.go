package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Contents returns the Provisionings and the Backups of the machine as NAMESPACE/NAME. A machine without BPA has none.
// An error means that they are not known.
func (c Cluster) Contents(ctx context.Context) (provisionings, backups []string, err error) {
	if provisionings, err = c.names(ctx, "provisionings"); err != nil {
		return nil, nil, err
	}
	backups, err = c.names(ctx, "backups")
	return provisionings, backups, err
}

func (c Cluster) names(ctx context.Context, resource string) ([]string, error) {
	text, err := c.kubectl(ctx, 10*time.Second, nil, "get", "--raw", "/apis/bpa.akraino.org/v1alpha1/"+resource)
	if err != nil && strings.Contains(err.Error(), "NotFound") { // the kind is not installed
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var list struct {
		Items []struct {
			Metadata struct{ Namespace, Name string }
		}
	}
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		return nil, fmt.Errorf("read the %s: %w", resource, err)
	}
	var names []string
	for _, item := range list.Items {
		names = append(names, item.Metadata.Namespace+"/"+item.Metadata.Name)
	}
	return names, nil
}
