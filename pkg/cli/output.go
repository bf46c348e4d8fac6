package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/printers"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	gotemplate "github.com/akraino-icn/bpa/third_party/cli-runtime/printers"
)

// reportVersion is the apiVersion of what a command makes itself, such as a plan. A script can refuse another one.
var reportVersion = schema.GroupVersion{Group: "cli.bpa.akraino.org", Version: "v1alpha1"}

// The kinds of the reports.
const (
	reportCheck    = "CheckReport"
	reportDiff     = "DiffReport"
	reportHistory  = "HistoryReport"
	reportHosts    = "HostReport"
	reportPlan     = "PlanReport"
	reportPlugins  = "PluginReport"
	reportSoftware = "SoftwareReport"
	reportUsage    = "DepotUsageReport"
)

// The formats of -o that not every command has: names need objects, and wide needs a table that leaves something out.
const (
	formatName = "name"
	formatWide = "wide"
)

// output is the flag -o of a command that reads. Its printers are kubectl's.
type output struct {
	flags *genericclioptions.PrintFlags
	wide  bool
}

// add adds -o with the formats of all commands and these ones.
func (o *output) add(cmd *cobra.Command, more ...string) {
	o.flags = genericclioptions.NewPrintFlags("")
	if !slices.Contains(more, formatName) {
		o.flags.NamePrintFlags = nil
	}
	o.wide = slices.Contains(more, formatWide)
	o.flags.AddFlags(cmd)
	for _, name := range []string{"allow-missing-template-keys", "template"} { // kubectl has them too, and nobody reads them here
		_ = cmd.Flags().MarkHidden(name) // cannot fail: AddFlags has added the flag
	}
	cmd.Flags().Lookup("output").Usage = "output format: " + strings.Join(o.formats(), ", ")
	complete(cmd, "output", func(*cobra.Command, []string) []string { return o.formats() })
}

// formats lists the formats for people. kubectl has more notations of templates, which work too.
func (o *output) formats() []string {
	all := []string{"json", "yaml", "jsonpath=TEMPLATE", "go-template=TEMPLATE"}
	if o.flags.NamePrintFlags != nil {
		all = append(all, formatName)
	}
	if o.wide {
		all = append(all, formatWide)
	}
	return all
}

// check returns a usage error for a format that the command does not have.
func (o *output) check() error {
	if o.table() {
		return nil
	}
	if _, err := o.printer(); genericclioptions.IsNoCompatiblePrinterError(err) {
		return usageError(fmt.Errorf("--output is %q: the formats are %s", *o.flags.OutputFormat, strings.Join(o.formats(), ", ")))
	} else if err != nil {
		return usageError(fmt.Errorf("--output: %w", err))
	}
	return nil
}

// table reports whether the command shows its own text: no format is requested, or the wide text.
func (o *output) table() bool {
	format := *o.flags.OutputFormat
	return format == "" && *o.flags.TemplatePrinterFlags.TemplateArgument == "" || o.isWide()
}

func (o *output) isWide() bool { return o.wide && *o.flags.OutputFormat == formatWide }

// cell returns a message for a cell of a table: whole in the wide one.
func (o *output) cell(message string) string {
	if o.isWide() {
		return message
	}
	return shorten(message, longestCell)
}

func (o *output) isName() bool { return *o.flags.OutputFormat == formatName }

// print writes an object in the requested format.
func (o *output) print(out io.Writer, object runtime.Object) error {
	printer, err := o.printer()
	if err != nil {
		return err
	}
	return printer.PrintObj(object, out)
}

// printer returns the printer of the requested format, as ToPrinter of the flags does. That one is not used because its templates
// are executed by text/template (see the doc of third_party/go/template).
func (o *output) printer() (printers.ResourcePrinter, error) {
	f := o.flags
	format := *f.OutputFormat
	if *f.TemplatePrinterFlags.TemplateArgument != "" && !f.OutputFlagSpecified() {
		format = "go-template"
	}
	if p, err := f.JSONYamlPrintFlags.ToPrinter(format); !genericclioptions.IsNoCompatiblePrinterError(err) {
		return p, err
	}
	if f.NamePrintFlags != nil {
		if p, err := f.NamePrintFlags.ToPrinter(format); !genericclioptions.IsNoCompatiblePrinterError(err) {
			return p, err
		}
	}
	if p, err := f.TemplatePrinterFlags.JSONPathPrintFlags.ToPrinter(format); !genericclioptions.IsNoCompatiblePrinterError(err) {
		return p, err
	}
	return (*gotemplate.GoTemplatePrintFlags)(f.TemplatePrinterFlags.GoTemplatePrintFlags).ToPrinter(format)
}

// report returns what a command has made, with a kind of its own.
func report(kind string, view any) (*unstructured.Unstructured, error) {
	raw, err := json.Marshal(view)
	if err != nil {
		return nil, err
	}
	u := &unstructured.Unstructured{}
	if err := utiljson.Unmarshal(raw, &u.Object); err != nil { // keeps whole numbers whole
		return nil, err
	}
	u.SetGroupVersionKind(reportVersion.WithKind(kind))
	return u, nil
}

// printReport writes what a command has made.
func (o *output) printReport(out io.Writer, kind string, view any) error {
	u, err := report(kind, view)
	if err != nil {
		return err
	}
	return o.print(out, u)
}

// printReports writes several reports as one list.
func printReports[T any](o *output, out io.Writer, kind string, views []T) error {
	list := newList()
	for _, view := range views {
		u, err := report(kind, view)
		if err != nil {
			return err
		}
		list.Items = append(list.Items, *u)
	}
	return o.print(out, list)
}

// printed returns an object as kubectl prints it, with its kind. The typed client leaves the kind out.
func (s *site) printed(object client.Object) (*unstructured.Unstructured, error) {
	kind, err := apiutil.GVKForObject(object, s.client.Scheme())
	if err != nil {
		return nil, err
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, err
	}
	u := &unstructured.Unstructured{Object: content}
	u.SetGroupVersionKind(kind)
	return u, nil
}

// printedList returns objects as kubectl prints several of them.
func printedList[T client.Object](s *site, objects []T) (runtime.Object, error) {
	list := newList()
	for _, object := range objects {
		u, err := s.printed(object)
		if err != nil {
			return nil, err
		}
		list.Items = append(list.Items, *u)
	}
	return list, nil
}

// newList returns an empty list as kubectl prints it.
func newList() *unstructured.UnstructuredList {
	return &unstructured.UnstructuredList{Object: map[string]any{
		"apiVersion": "v1", "kind": "List", "metadata": map[string]any{"resourceVersion": ""},
	}}
}
