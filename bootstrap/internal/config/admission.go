package config

import "fmt"

// metal3Namespace is the namespace of Metal3's manifests. They give it no label, and Ironic serves DHCP on the
// network of the host. This machine creates no such namespace, but a site may install Metal3 on it.
const metal3Namespace = "baremetal-operator-system"

// admission returns the API server's AdmissionConfiguration. Pods must be restricted in every namespace whose
// label pod-security.kubernetes.io/enforce does not say otherwise, because a privileged pod is root on this
// machine: it reads the keys of the cluster and the content of the depot. Only administrators can label
// namespaces. The lab labels its own; CoreDNS, Tekton, BPA and its tasks are restricted.
func admission() string {
	return fmt.Sprintf(`apiVersion: apiserver.config.k8s.io/v1
kind: AdmissionConfiguration
plugins:
- name: PodSecurity
  configuration:
    apiVersion: pod-security.admission.config.k8s.io/v1
    kind: PodSecurityConfiguration
    defaults: {enforce: restricted, enforce-version: latest, warn: restricted, warn-version: latest}
    exemptions:
      namespaces: [%s]
`, metal3Namespace)
}
