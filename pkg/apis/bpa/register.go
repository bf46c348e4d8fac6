// Package bpa holds the name of BPA's API group. The versions of the API are the packages below it.
// It imports only apimachinery.
package bpa

import "k8s.io/apimachinery/pkg/runtime/schema"

// GroupName is the API group of ICN's Binary Provisioning Agent. It is unchanged so that ICN's
// samples apply without edits.
const GroupName = "bpa.akraino.org"

// ProvisioningResource is the resource that a user applies to get a cluster.
var ProvisioningResource = schema.GroupResource{Group: GroupName, Resource: "provisionings"}
