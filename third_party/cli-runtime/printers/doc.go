// Package printers has kubectl's printer for templates and its flags, as k8s.io/cli-runtime has them, with package
// template of this module. The files zz_*.go are copies that hack/third-party.sh makes.
package printers

import (
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/printers"
)

// NoCompatiblePrinterError is here because the copies need it, as the variables.
type NoCompatiblePrinterError = genericclioptions.NoCompatiblePrinterError

var (
	InternalObjectPreventer  = printers.InternalObjectPreventer
	InternalObjectPrinterErr = printers.InternalObjectPrinterErr
)
