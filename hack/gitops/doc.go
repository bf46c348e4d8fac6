// Gitops applies manifests and compares them with the stored objects as Argo CD and Flux do, with their own libraries:
//
//	KUBECONFIG=FILE gitops sync|diff FILE...
//
// Each tool has a namespace of its own, which has the name of the tool, so that the tools do not share the objects. sync
// applies each object; diff compares only. Both print a line for each object that differs from its file, and end with
// exit code 1 if there is one. TestGitOps of test/integration runs it.
//
// It is a module of its own, so that the dependencies of Argo CD and Flux do not enter the product. The module requires the
// commit of gitops-engine that Argo CD v3.2.0 requires: gitops-engine v0.7.3 has the higher number, but is from 2022.
package main
