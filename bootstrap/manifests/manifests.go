// Package manifests embeds the manifests that the machine applies to its cluster. It must not
// contain logic.
package manifests

import _ "embed"

// CoreDNS is the manifest of the cluster's DNS server. IMAGE is a placeholder for the image, SUM
// for a hash of this text.
//
//go:embed coredns.yaml
var CoreDNS []byte

// Metal3 contains the Metal3 CRDs that BPA reads.
//
//go:embed metal3-crds.yaml
var Metal3 []byte

// DepotRoleBinding lets the machine's depot create token reviews and access reviews, and read
// Softwares.
//
//go:embed depot-rolebinding.yaml
var DepotRoleBinding []byte

// DepotService lets pods reach the machine's depot by the same Service name that a depot in a pod
// has.
//
//go:embed depot-service.yaml
var DepotService []byte
