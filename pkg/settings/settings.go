package settings

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
)

// Name and Namespace are those of the ConfigMap as config/ installs it.
const (
	Name      = "config-bpa"
	Namespace = "bpa-system"
)

// Depot is where the nodes' binaries and images come from.
type Depot struct {
	URL       string // without a trailing slash; empty: the Internet
	ImageURL  string // where Metal3 fetches OS images; empty: URL
	CA        string // PEM of who signs its certificate; empty: nodes know it
	Connected bool   // what it lacks may be fetched from the Internet
	Insecure  bool   // URL may be plain HTTP
}

// Settings are the site's.
type Settings struct {
	// Depot is that of Provisionings that name none.
	Depot Depot
	// MaxAttempts is how often the controller tries by itself for one wanted state, at least 1.
	MaxAttempts int32
	// RunHistory is how many finished runs of a Provisioning are kept, at least 1.
	RunHistory int
}

// Default holds where the ConfigMap says nothing.
func Default() Settings { return Settings{MaxAttempts: 5, RunHistory: 5} }

// setting is one key of the ConfigMap.
type setting struct {
	allowed string
	// example is a good value for the command that fixes a bad one, or a text in angle brackets for what only the site knows; empty: the value has
	// many lines and wants an editor.
	example string
	// set takes a value over; false: it cannot be read.
	set func(s *Settings, value string) bool
}

const (
	aBool  = `"true" or "false"`
	aCount = "a whole number from 1"
)

var known = map[string]setting{
	"depot-url": {
		`the https address of the depot as the nodes reach it, without credentials; an http address only with depot-insecure "true"; empty for the Internet`,
		"<https address of your depot>", func(s *Settings, v string) bool { s.Depot.URL = strings.TrimRight(v, "/"); return true },
	},
	"depot-insecure": {aBool, "false", func(s *Settings, v string) bool { return readBool(v, &s.Depot.Insecure) }},
	"depot-ca": {
		"certificates in PEM, as the depot gives them out at /ca.crt, with the https address of the depot in depot-url; or empty",
		"", func(s *Settings, v string) bool { s.Depot.CA = v; return true },
	},
	"depot-image-url": {
		"the http or https address at which Metal3 fetches OS images from the same depot, without credentials; or empty",
		"<address of your depot for Metal3>", func(s *Settings, v string) bool { s.Depot.ImageURL = strings.TrimRight(v, "/"); return true },
	},
	"depot-connected": {aBool, "false", func(s *Settings, v string) bool { return readBool(v, &s.Depot.Connected) }},
	"max-attempts": {aCount, "5", func(s *Settings, v string) bool {
		n, err := strconv.ParseInt(v, 10, 32)
		s.MaxAttempts = int32(n)
		return err == nil && n >= 1
	}},
	"run-history": {aCount, "5", func(s *Settings, v string) bool {
		n, err := strconv.ParseInt(v, 10, 32)
		s.RunHistory = int(n)
		return err == nil && n >= 1
	}},
}

func readBool(text string, into *bool) bool {
	value, err := strconv.ParseBool(text)
	*into = value
	return err == nil
}

// depotKeys are the keys by the fields of spec.depot that have the same rules.
var depotKeys = map[string]string{"url": "depot-url", "imageURL": "depot-image-url", "caBundle": "depot-ca"}

// Parse reads the ConfigMap. Its error lists everything that is wrong, by key, and ends with one command that fixes all of it; the settings that come
// with it must not be used.
func Parse(cm *corev1.ConfigMap) (Settings, error) {
	s, wrong := Default(), faults{}
	for key, value := range cm.Data {
		if k, ok := known[key]; !ok {
			wrong.unknown(key, false)
		} else if !k.set(&s, value) {
			wrong.malformed(key, fmt.Sprintf("the value is %q", value), k.example)
		}
	}
	for key := range cm.BinaryData {
		wrong.unknown(key, true)
	}
	depot := v1alpha1.DepotSpec{URL: s.Depot.URL, ImageURL: s.Depot.ImageURL, CABundle: s.Depot.CA, Insecure: s.Depot.Insecure}
	for _, err := range depot.Validate().WrappedErrors() {
		key := depotKeys[strings.Join(err.Paths, "")]
		if _, found := wrong[key]; key == "" || found {
			continue
		}
		fix := known[key].example
		if key == "depot-url" {
			fix = cmp.Or(withTLS(s.Depot.URL), fix)
		}
		wrong.malformed(key, err.Message, fix)
	}
	return s, wrong.err(cm)
}
