package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/akraino-icn/bpa/pkg/access"
)

// merge adds the kubeconfig to the user's kubeconfig as a cluster, a user and a
// context. All three have the same name, so that they are easy to remove.
func (s *session) merge(site *site, data []byte, o kubeconfigOptions) error {
	k, err := access.ParseKubeconfig(data)
	if err != nil {
		return err
	}
	own, err := site.access.GetStartingConfig()
	if err != nil {
		return fmt.Errorf("read your kubeconfig: %w", err)
	}
	if err := mergeInto(own, k.Config(), o); err != nil {
		return err
	}
	if err := clientcmd.ModifyConfig(site.access, *own, true); err != nil {
		return fmt.Errorf("write your kubeconfig: %w", err)
	}
	_, err = fmt.Fprintf(s.ErrOut, "added context %s to %s%s; use it:\n  kubectl --context=%s get nodes\n",
		o.entry, site.access.GetDefaultFilename(), describeUser(data), o.entry)
	return err
}

func mergeInto(own, added *clientcmdapi.Config, o kubeconfigOptions) error {
	current := added.Contexts[added.CurrentContext]
	cluster, user := added.Clusters[current.Cluster], added.AuthInfos[current.AuthInfo]
	if server := serverOf(own, o.entry); server != "" && server != cluster.Server && !o.overwrite {
		return fmt.Errorf("your kubeconfig already has an entry %s, which is for %s and not for %s: choose another name with --context-name, or replace the entry with --overwrite",
			o.entry, server, cluster.Server)
	}
	own.Clusters[o.entry], own.AuthInfos[o.entry] = cluster, user
	own.Contexts[o.entry] = &clientcmdapi.Context{Cluster: o.entry, AuthInfo: o.entry, Namespace: current.Namespace}
	// LocationOfOrigin is the file from which an entry was read, and to which it would be written
	// back. Without it, the entries are written to the user's default file.
	cluster.LocationOfOrigin, user.LocationOfOrigin = "", ""
	return nil
}

// serverOf returns the server of the context with this name. If there is no such context, serverOf
// returns the server of the cluster with this name, because a context with another name may use
// that cluster. If there is neither, it returns an empty string. If the context refers to a cluster
// that config lacks, it returns a text for the error message.
func serverOf(config *clientcmdapi.Config, name string) string {
	if context := config.Contexts[name]; context != nil {
		if cluster := config.Clusters[context.Cluster]; cluster != nil {
			return cluster.Server
		}
		return "a cluster that this kubeconfig does not contain"
	}
	if cluster := config.Clusters[name]; cluster != nil {
		return cluster.Server
	}
	return ""
}

// writePrivate writes a file that other users can never read. After an error, the old content is
// unchanged.
func writePrivate(name string, data []byte) error {
	temp, err := os.CreateTemp(filepath.Dir(name), ".kubeconfig-*") // mode 0600
	if err != nil {
		return err
	}
	_, err = temp.Write(data)
	if err == nil {
		err = temp.Sync()
	}
	err = errors.Join(err, temp.Close())
	if err == nil {
		err = os.Rename(temp.Name(), name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(temp.Name()))
	}
	return nil
}
