package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// The token of the site's depot is not sent to a server that the author of a Provisioning names.
func TestTokenIsForTheSitesDepotAlone(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	authors := contract.Request{Spec: contract.Spec{DepotURL: "https://mine.example", DepotCA: "PEM"}}
	sites := contract.Request{Spec: contract.Spec{DepotURL: "https://10.60.0.1:5443", DepotOfSite: true}}
	for name, tc := range map[string]struct {
		request contract.Request
		options options
		want    string
	}{
		"the site's depot":                 {sites, options{tokenFile: file}, file},
		"the author's":                     {authors, options{tokenFile: file}, ""},
		"one address for all, by the Task": {authors, options{tokenFile: file, depotWrite: "https://10.60.0.1:5443"}, file},
		"no token is mounted":              {sites, options{tokenFile: file + ".none"}, ""},
	} {
		if got := tokenFor(tc.request, tc.options); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}
