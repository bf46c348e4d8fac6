// Package engine renders the templates of charts as helm.sh/helm/v3/pkg/engine does, with package template of this
// module. The files zz_*.go are copies that hack/third-party.sh makes.
package engine
