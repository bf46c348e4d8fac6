package cli

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// show prints what the import has made, or would make, and returns an error with the exit code if a difference stays.
func (i *hostImport) show(o *importOptions) error {
	for n, c := range i.changes {
		if i.results[n] == "" { // a dry run
			i.results[n] = importResult(c)
		}
	}
	var err error
	if o.output.table() {
		_, err = fmt.Fprint(i.Out, i.page(o))
	} else {
		err = i.print(o)
	}
	if err != nil {
		return err
	}
	return i.stays(o)
}

// print writes the hosts as a file has them. Their Secrets are left out, because of the passwords.
func (i *hostImport) print(o *importOptions) error {
	list := newList()
	for _, c := range i.changes {
		u, err := i.site.printed(c.Host)
		if err != nil {
			return err
		}
		delete(u.Object, "status")
		for _, field := range []string{"creationTimestamp", "managedFields"} {
			unstructured.RemoveNestedField(u.Object, "metadata", field)
		}
		list.Items = append(list.Items, *u)
	}
	return o.output.print(i.Out, list)
}

func (i *hostImport) page(o *importOptions) string {
	rows := [][]string{{"NAME", "BMC", "MAC", "RESULT"}}
	of := map[string]int{}
	for n, c := range i.changes {
		text := i.results[n]
		if len(c.Updated) > 0 && text == hostUpdated {
			text += ": " + strings.Join(c.Updated, ", ")
		}
		rows = append(rows, []string{c.Host.Name, clean(c.Host.Spec.BMC.Address), dash(clean(c.Host.Spec.BootMACAddress)), clean(text)})
		of[i.results[n]]++
	}
	page := columns(rows)
	switch {
	case o.dryRun.value == dryRunClient:
		page += "\nNothing was sent (client dry run).\n"
	case o.dryRun.on():
		page += "\nThe API server accepts this (server dry run: nothing was changed).\n"
	case of[hostUnchanged] == len(i.changes):
		page += fmt.Sprintf("\nNothing was changed: the site has the hosts of %s.\n", i.file)
	case of[hostCreated] > 0 && of[hostFailed] == 0:
		page += fmt.Sprintf("\nMetal3 now registers and inspects the new hosts, if its controller runs. See them:\n  %s\n", i.site.kubectl("bpa hosts", ""))
	}
	return page
}

// stays returns the differences between the file and the site that the import leaves.
func (i *hostImport) stays(o *importOptions) error {
	var notes []string
	for _, c := range i.changes {
		for _, kept := range c.Kept {
			notes = append(notes, fmt.Sprintf("\n  line %d: %s: %s", c.Row.Line, c.Row.Name, clean(kept)))
		}
	}
	if len(notes) == 0 {
		return nil
	}
	return exitf(codeNotYet, "%s of %s %s not changed in the site:%s", counted(len(notes), "difference"), o.file, areOrIs(len(notes)), strings.Join(notes, ""))
}

func areOrIs(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}
