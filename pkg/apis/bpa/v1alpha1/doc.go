// Package v1alpha1 is the API that users write: Provisioning, its defaults, its validation and its
// status conditions.
//
// The fields of ICN's original (masters, workers, KUDPlugins, PodSubnet) keep their exact names and
// shapes. All other fields are optional and have defaults. The package is pure: it uses no client,
// no clock and no disk.
//
// +k8s:deepcopy-gen=package
// +groupName=bpa.akraino.org
package v1alpha1
