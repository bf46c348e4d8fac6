// Package fmtsort is Go's internal/fmtsort, which package template uses. The files zz_*.go are copies that
// hack/third-party.sh makes.
package fmtsort
