// Package v1alpha1 is the API that people write: Provisioning, its defaults, its validation and the conditions of its status.
//
// The fields of ICN's original (masters, workers, KUDPlugins, PodSubnet) keep their names and shapes to the letter; whatever
// is added is optional and defaulted. The package is pure: no client, no clock, no disk.
//
// +k8s:deepcopy-gen=package
// +groupName=bpa.akraino.org
package v1alpha1
