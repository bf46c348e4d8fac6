// Package manifests holds what the machine applies to its cluster as it is. It must stay free of code.
package manifests

import _ "embed"

// CoreDNS is the cluster's DNS. IMAGE stands for the image, SUM for a hash of this text.
//
//go:embed coredns.yaml
var CoreDNS []byte

// Metal3 are the CRDs of Metal3 that BPA reads.
//
//go:embed metal3-crds.yaml
var Metal3 []byte

// DepotRights let the machine's depot ask who a token is and what they may do.
//
//go:embed depot-rights.yaml
var DepotRights []byte

// DepotService leads the cluster's pods to the machine's depot by the name that it has where it runs in a pod.
//
//go:embed depot-service.yaml
var DepotService []byte
