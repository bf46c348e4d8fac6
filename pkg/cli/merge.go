package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// merge adds the kubeconfig to the user's own: one cluster, one user and one
// context, all of the same name, so that removing them is easy too.
func (s *session) merge(site *site, data []byte, o kubeconfigOptions) error {
	added, err := parse(data)
	if err != nil {
		return err
	}
	own, err := site.access.GetStartingConfig()
	if err != nil {
		return fmt.Errorf("read your kubeconfig: %w", err)
	}
	if err := mergeInto(own, added, o); err != nil {
		return err
	}
	if err := clientcmd.ModifyConfig(site.access, *own, true); err != nil {
		return fmt.Errorf("write your kubeconfig: %w", err)
	}
	_, err = fmt.Fprintf(s.ErrOut, "added context %s to %s; use it:\n  kubectl --context=%s get nodes\n",
		o.entry, site.access.GetDefaultFilename(), o.entry)
	return err
}

func mergeInto(own, added *clientcmdapi.Config, o kubeconfigOptions) error {
	current := added.Contexts[added.CurrentContext]
	cluster, user := added.Clusters[current.Cluster], added.AuthInfos[current.AuthInfo]
	if leads := serverOf(own, o.entry); leads != "" && leads != cluster.Server && !o.overwrite {
		return fmt.Errorf("your kubeconfig has an entry %s already, and it leads to %s, not to %s: choose another name with --context-name, or replace it with --overwrite",
			o.entry, leads, cluster.Server)
	}
	own.Clusters[o.entry], own.AuthInfos[o.entry] = cluster, user
	own.Contexts[o.entry] = &clientcmdapi.Context{Cluster: o.entry, AuthInfo: o.entry, Namespace: current.Namespace}
	// Entries that were read from a file are written back to it; new ones go to the default file.
	cluster.LocationOfOrigin, user.LocationOfOrigin = "", ""
	return nil
}

// serverOf returns where an entry of this name leads now: by the context, or
// by a cluster of that name that another context may use.
func serverOf(config *clientcmdapi.Config, name string) string {
	if context := config.Contexts[name]; context != nil {
		if cluster := config.Clusters[context.Cluster]; cluster != nil {
			return cluster.Server
		}
		return "nowhere"
	}
	if cluster := config.Clusters[name]; cluster != nil {
		return cluster.Server
	}
	return ""
}

// writePrivate replaces a file all or nothing; at no moment can others read it.
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
