package cluster

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// Keys of the inventory of a plugin.
const (
	keyObjects = "objects.json" // []Ref, of the plugin
	keyTest    = "test.json"    // []Ref, of the plugin's test, that are in no namespace
)

// partOf is a label of everything that BPA creates in an application cluster.
const partOf = "app.kubernetes.io/part-of"

// Plugins returns the names of the plugins that have an inventory.
func (c *Client) Plugins(ctx context.Context) (names []string, err error) {
	list, err := c.kube.CoreV1().ConfigMaps(contract.NamespacePlugins).List(ctx, metav1.ListOptions{LabelSelector: contract.LabelPlugin})
	if err != nil {
		return nil, fmt.Errorf("list the plugins of the cluster: %w", err)
	}
	for _, m := range list.Items {
		if name := m.Labels[contract.LabelPlugin]; m.Name == contract.PluginInventoryName(name) {
			names = append(names, name)
		}
	}
	return names, nil
}

// read returns what the inventory of a plugin has under a key; nothing, if there is no inventory.
func (c *Client) read(ctx context.Context, plugin, key string) ([]Ref, error) {
	name := contract.PluginInventoryName(plugin)
	m, err := c.kube.CoreV1().ConfigMaps(contract.NamespacePlugins).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	var refs []Ref
	if err == nil && m.Data[key] != "" {
		err = json.Unmarshal([]byte(m.Data[key]), &refs)
	}
	if err != nil {
		return nil, fmt.Errorf("read ConfigMap %s/%s of the cluster, which lists the objects of the plugin: %w", contract.NamespacePlugins, name, err)
	}
	return refs, nil
}

// write stores a key of a plugin's inventory, which it creates if needed.
func (c *Client) write(ctx context.Context, plugin, key string, refs []Ref) error {
	name := contract.PluginInventoryName(plugin)
	err := c.tryWrite(ctx, plugin, name, key, refs)
	if err != nil {
		return fmt.Errorf("write ConfigMap %s/%s of the cluster, which lists the objects of the plugin: %w", contract.NamespacePlugins, name, err)
	}
	return nil
}

func (c *Client) tryWrite(ctx context.Context, plugin, name, key string, refs []Ref) error {
	if refs == nil {
		refs = []Ref{}
	}
	text, err := json.Marshal(refs)
	if err != nil {
		return err
	}
	maps := c.kube.CoreV1().ConfigMaps(contract.NamespacePlugins)
	m, err := maps.Get(ctx, name, metav1.GetOptions{})
	switch {
	case err == nil:
		if m.Data == nil {
			m.Data = map[string]string{}
		}
		m.Data[key] = string(text)
		_, err = maps.Update(ctx, m, metav1.UpdateOptions{})
		return err
	case !apierrors.IsNotFound(err):
		return err
	}
	space := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: contract.NamespacePlugins, Labels: map[string]string{partOf: "bpa"}}}
	if _, err := c.kube.CoreV1().Namespaces().Create(ctx, space, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	m = &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{contract.LabelPlugin: plugin, partOf: "bpa"}},
		Data:       map[string]string{key: string(text)},
	}
	_, err = maps.Create(ctx, m, metav1.CreateOptions{})
	return err
}

// drop deletes the inventory of a plugin.
func (c *Client) drop(ctx context.Context, plugin string) error {
	err := c.kube.CoreV1().ConfigMaps(contract.NamespacePlugins).Delete(ctx, contract.PluginInventoryName(plugin), metav1.DeleteOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// union returns the objects of both lists, in the order of the second one, with those that only the first
// one has at the end.
func union(a, b []Ref) []Ref { return append(append([]Ref{}, b...), without(a, b)...) }

// without returns the objects of the first list that the second one does not have.
func without(a, b []Ref) (left []Ref) {
	has := map[string]bool{}
	for _, r := range b {
		has[r.id()] = true
	}
	for _, r := range a {
		if !has[r.id()] {
			left = append(left, r)
		}
	}
	return left
}
