// Package bpa holds the name of BPA's API group; its versions are the packages below. It imports nothing but apimachinery.
package bpa

import "k8s.io/apimachinery/pkg/runtime/schema"

// GroupName is the API group of ICN's Binary Provisioning Agent, kept so that its samples apply unchanged.
const GroupName = "bpa.akraino.org"

// ProvisioningResource is the resource that a person applies to get a cluster.
var ProvisioningResource = schema.GroupResource{Group: GroupName, Resource: "provisionings"}
