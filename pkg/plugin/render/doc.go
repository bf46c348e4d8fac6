// Package render makes the objects of a plugin from its manifests or its Helm chart.
//
// Invariant: the same plugin, parameters and facts about the cluster give the same objects in the same
// order, unless a chart uses one of Helm's functions for random values. Rendering reaches no network
// and no cluster. A chart is a program that can use much time and memory, so only tasks and kubectl bpa
// render; the controller and the webhook must not import this package.
package render
