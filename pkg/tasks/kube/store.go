package kube

import (
	"context"
	"fmt"
	"os"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typedv1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/retry"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// Store reads and writes the keys of one existing ConfigMap.
type Store struct {
	maps typedv1.ConfigMapInterface
	name string
}

// callLimit bounds one call to the API server.
const callLimit = 30 * time.Second

// NewStore returns a Store for the ConfigMap with the given name.
func NewStore(maps typedv1.ConfigMapInterface, name string) *Store {
	return &Store{maps: maps, name: name}
}

// ConfigMaps returns a client for the ConfigMaps of a namespace. If $KUBECONFIG is set, the client
// calls the API server in that kubeconfig. Otherwise it calls the API server of the cluster in
// which this pod runs.
func ConfigMaps(namespace string) (typedv1.ConfigMapInterface, error) {
	config, err := config()
	if err != nil {
		return nil, task.Because(contract.ReasonInternal, fmt.Errorf("find the API server: %w", err))
	}
	config.Timeout = callLimit
	config.UserAgent = "bpa-task"
	client, err := typedv1.NewForConfig(config)
	if err != nil {
		return nil, task.Because(contract.ReasonInternal, fmt.Errorf("make an API client: %w", err))
	}
	return client.ConfigMaps(namespace), nil
}

func config() (*rest.Config, error) {
	if file := os.Getenv("KUBECONFIG"); file != "" {
		return clientcmd.BuildConfigFromFlags("", file)
	}
	return rest.InClusterConfig() // not by clientcmd, which would log a warning if no kubeconfig is set
}

// Get returns the value of a key, or an empty string if the ConfigMap does not have the key.
func (s *Store) Get(ctx context.Context, key string) (string, error) {
	m, err := s.maps.Get(ctx, s.name, metav1.GetOptions{})
	if err != nil {
		return "", fmt.Errorf("read ConfigMap %s: %w", s.name, err)
	}
	return m.Data[key], nil
}

// Set writes one key and keeps the other keys. It writes nothing if the key already has this value.
// It retries after conflicts.
func (s *Store) Set(ctx context.Context, key, value string) error {
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		m, err := s.maps.Get(ctx, s.name, metav1.GetOptions{})
		if err != nil || m.Data[key] == value {
			return err
		}
		if m.Data == nil {
			m.Data = map[string]string{}
		}
		m.Data[key] = value
		_, err = s.maps.Update(ctx, m, metav1.UpdateOptions{})
		return err
	})
	if err != nil {
		return fmt.Errorf("write %s of ConfigMap %s: %w", key, s.name, err)
	}
	return nil
}
