// Package tekton has the fields of Tekton's kinds PipelineRun and TaskRun that BPA reads and writes, with the names that
// they have in Tekton's package pipeline/v1.
//
// Invariant: what this package encodes, Tekton's types decode to the same values, and the other way round for the fields that are
// here. An object that was read must be changed by a patch, because an update would remove the fields that are not here. The package must not
// import Tekton's types: they import gRPC, CEL and OpenTelemetry, which would be a tenth of kubectl bpa. Package convert
// converts between both.
//
// +k8s:deepcopy-gen=package
package tekton
