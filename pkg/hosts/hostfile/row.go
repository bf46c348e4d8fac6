package hostfile

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
)

// Row is one server of a file.
type Row struct {
	Line int // of the file, from 1, where the server begins
	Name string
	// Address is that of the BMC, with a scheme, such as redfish-virtualmedia+https://10.0.0.5/redfish/v1/Systems/1. A file
	// can leave the scheme ipmi:// out, as ICN's files do.
	Address            string
	Username, Password string
	// NoVerify: the certificate of the BMC is not verified.
	NoVerify bool
	BootMAC  string // lower case, with colons; empty: unknown
	BootMode metal3.BootMode
	Labels   map[string]string
	// Online is the power state that Metal3 keeps; nil: on when the host is created, and then as it is.
	Online                *bool
	ExternallyProvisioned bool
	RootDeviceHints       *metal3.RootDeviceHints
	// NetworkData is what the operating system gets, RamdiskNetworkData what Metal3's ramdisk gets, both as OpenStack's
	// network_data in JSON; nil: none. Without NetworkData, the operating system gets that of the ramdisk.
	NetworkData, RamdiskNetworkData []byte

	fields  map[string]place // by the path of the field
	macs    []mac            // of the links of the network data
	icnBoot mac              // of the link by which ICN boots a server
}

// place is where a field of a row stands.
type place struct {
	name string // as the file writes it
	line int
}

// mac is a MAC address of a row.
type mac struct {
	text string // normalized; as written if it is wrong
	ok   bool
	place
}

// at returns the place of a field, or that of the row with the field's usual name.
func (r *Row) at(path string) place {
	if p, ok := r.fields[path]; ok {
		return p
	}
	return place{name: path, line: r.Line}
}

// Finding is a reason why a file is not imported.
type Finding struct {
	Line    int    // 0: the whole file
	Host    string // name of the row; empty: unknown
	Field   string // as the file writes it; empty: the whole row
	Problem string // what is wrong
	Remedy  string // what to do
}

func (f Finding) String() string {
	text := ""
	if f.Line > 0 {
		text = fmt.Sprintf("line %d: ", f.Line)
	}
	for _, part := range []string{f.Host, f.Field} {
		if part != "" {
			text += part + ": "
		}
	}
	return text + f.Problem + ": " + f.Remedy
}

// finding returns a finding about a field of the row.
func (r *Row) finding(path, problem, remedy string) Finding {
	p := r.at(path)
	return Finding{Line: p.line, Host: shown(r.Name), Field: p.name, Problem: problem, Remedy: remedy}
}

// longest is the maximum length of a value in a message.
const longest = 64

// shown returns a value that is no secret for a message: shortened, and without control characters.
func shown(text string) string {
	if len(text) > longest {
		text = text[:longest] + "..."
	}
	quoted := fmt.Sprintf("%q", text)
	return quoted[1 : len(quoted)-1]
}

// missing is the problem of a field that is not there.
const missing = "it is missing"

// Together returns the findings of Parse and of Validate, sorted by line. It leaves out that a field is missing, if it has
// another finding.
func Together(all ...[]Finding) []Finding {
	findings := slices.Concat(all...)
	kept := slices.DeleteFunc(slices.Clone(findings), func(f Finding) bool {
		return f.Problem == missing && slices.ContainsFunc(findings, func(g Finding) bool {
			return g.Problem != missing && g.Line == f.Line && g.Field == f.Field
		})
	})
	slices.SortStableFunc(kept, func(a, b Finding) int { return cmp.Compare(a.Line, b.Line) })
	return kept
}

// Hide replaces the password of the row in a text of others, such as an error of a webhook, also in base64.
func (r *Row) Hide(text string) string {
	const tooShort = 4 // to be a password; the text would be unreadable without it
	if len(r.Password) < tooShort {
		return text
	}
	return strings.NewReplacer(r.Password, "***", base64.StdEncoding.EncodeToString([]byte(r.Password)), "***").Replace(text)
}
