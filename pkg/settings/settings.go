package settings

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/akraino-icn/bpa/pkg/admission"
	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
)

// Name and Namespace identify the ConfigMap with the settings. It belongs to the site: config/ does not
// contain it, and the controller creates it without settings if it does not exist.
const (
	Name      = "config-bpa"
	Namespace = "bpa-system"
)

// Depot is the store from which the nodes download binaries and images.
type Depot struct {
	URL       string // without a trailing slash; empty: the nodes use the Internet
	ImageURL  string // address from which Metal3 downloads OS images; empty: URL
	CA        string // PEM certificate of the signing authority; empty: the nodes trust it already
	Connected bool   // missing artifacts may be downloaded from the Internet
	Insecure  bool   // URL may be plain HTTP
}

// Settings are the site's settings.
type Settings struct {
	// Depot applies to Provisionings that do not name a depot.
	Depot Depot
	// MaxAttempts is the maximum number of attempts for one requested state before a user must act,
	// at least 1.
	MaxAttempts int32
	// RunHistory is the number of finished runs that are kept for each Provisioning, at least 1.
	RunHistory int
	// RunHistoryAge is the time after which a finished run is deleted, if it is not one of the newest two of its
	// Provisioning; 0: no limit.
	RunHistoryAge time.Duration
	// MaxRuns is the maximum number of runs at a time on the whole site; 0: no limit.
	MaxRuns int
	// MaxBackups is the maximum number of runs of Backups at a time on the whole site, at least 1. They
	// do not count for MaxRuns: they start no playbook.
	MaxBackups int
	// BackupMinAge is how long the copy of a Backup that was stored stays in the depot, also if a user or the schedule
	// deletes the Backup; 0: no time.
	BackupMinAge time.Duration
	// HealthInterval is the time between two looks at an installed cluster, at least shortestInterval;
	// 0: nothing looks at clusters.
	HealthInterval time.Duration
	// NodeLabels says which labels of hosts become labels of Nodes.
	NodeLabels NodeLabels
}

// Default returns the settings for missing keys.
func Default() Settings {
	return Settings{MaxAttempts: 5, RunHistory: 5, RunHistoryAge: 72 * time.Hour, MaxRuns: 4, MaxBackups: 4, HealthInterval: 15 * time.Second}
}

// shortestInterval is the shortest health-interval. A kubelet renews its lease every 10 s, so more looks
// would see nothing new.
const shortestInterval = 5 * time.Second

// setting describes one key of the ConfigMap.
type setting struct {
	allowed string
	// example is a valid value for the key. It appears in the command that corrects an invalid
	// value. A part in angle brackets stands for a value that only the site knows. If example is
	// empty, the value has many lines, and the user needs an editor.
	example string
	// set parses the value into s. It returns false if the value cannot be parsed.
	set func(s *Settings, value string) bool
}

const (
	aBool      = `"true" or "false"`
	aCount     = "a whole number of at least 1"
	aLimit     = "a whole number; 0 means no limit"
	anAge      = `a time, such as "72h"; "0" means no limit`
	aMinAge    = `a time, such as "168h"; "0" means that the copy of a Backup is deleted with it`
	someLabels = `lines "HOST-LABEL: NODE-LABEL", such as "airshipit.org/rack: topology.kubernetes.io/zone", each label of hosts and each label of nodes once`
	aPause     = `a time of at least 5s, such as "15s" or "2m"; "0" means that nothing looks at the clusters`
)

// keyDepot is the only setting without a default, and internet its value for a site without a depot. A
// site whose settings got lost must not become one whose nodes download from the Internet.
const (
	keyDepot = "depot-url"
	internet = "internet"
)

var known = map[string]setting{
	keyDepot: {
		`the https address at which the nodes reach the depot, without credentials; an http address is allowed only with depot-insecure "true"; "internet": the site has no depot, and the nodes download from the Internet`,
		"<https address of your depot>", readDepot,
	},
	"depot-insecure": {aBool, "false", func(s *Settings, v string) bool { return readBool(v, &s.Depot.Insecure) }},
	"depot-ca": {
		"empty, or the PEM certificates that the depot serves at /ca.crt (only with an https address in " + keyDepot + ")",
		"", func(s *Settings, v string) bool { s.Depot.CA = v; return true },
	},
	"depot-image-url": {
		"empty, or the http or https address at which Metal3 downloads OS images from the same depot, without credentials",
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
	"run-history-age": {anAge, "72h", func(s *Settings, v string) bool {
		d, err := time.ParseDuration(v)
		s.RunHistoryAge = d
		return err == nil && d >= 0
	}},
	"max-runs": {aLimit, "4", func(s *Settings, v string) bool {
		n, err := strconv.ParseInt(v, 10, 32)
		s.MaxRuns = int(n)
		return err == nil && n >= 0
	}},
	"max-backups": {aCount, "4", func(s *Settings, v string) bool {
		n, err := strconv.ParseInt(v, 10, 32)
		s.MaxBackups = int(n)
		return err == nil && n >= 1
	}},
	"backup-min-age": {aMinAge, "168h", func(s *Settings, v string) bool {
		d, err := time.ParseDuration(v)
		s.BackupMinAge = d
		return err == nil && d >= 0
	}},
	"health-interval": {aPause, "15s", func(s *Settings, v string) bool {
		d, err := time.ParseDuration(v)
		s.HealthInterval = d
		return err == nil && (d == 0 || d >= shortestInterval)
	}},
	"node-labels": {someLabels, "", func(s *Settings, v string) bool { return readNodeLabels(v, &s.NodeLabels) }},
}

func readBool(text string, into *bool) bool {
	value, err := strconv.ParseBool(text)
	*into = value
	return err == nil
}

func readDepot(s *Settings, value string) bool {
	if value != internet {
		s.Depot.URL = strings.TrimRight(value, "/")
	}
	return true // Parse checks the address together with the other settings of the depot
}

// depotKeys maps a field of spec.depot to the key of the ConfigMap to which the same rules apply.
var depotKeys = map[string]string{"url": keyDepot, "imageURL": "depot-image-url", "caBundle": "depot-ca"}

// Parse reads the ConfigMap. Its error lists the errors of all keys, and ends with one command that
// corrects them. After an error the returned settings must not be used.
func Parse(cm *corev1.ConfigMap) (Settings, error) {
	s, wrong := read(cm)
	if _, there := cm.Data[keyDepot]; !there {
		wrong.malformed(keyDepot, "it is missing", anyDepot)
	}
	return s, wrong.err(cm)
}

// Check is like Parse, for the webhook. It accepts a ConfigMap without a depot, because the controller
// creates one.
func Check(cm *corev1.ConfigMap) (Settings, error) {
	s, wrong := read(cm)
	return s, wrong.err(cm)
}

// anyDepot stands for a value of depot-url in the command that sets it for the first time.
const anyDepot = "<https address of your depot, or internet>"

// read returns the settings of the keys that exist, and the errors in them.
func read(cm *corev1.ConfigMap) (Settings, faults) {
	s, wrong := Default(), faults{}
	for key, value := range cm.Data {
		if key == exampleKey {
			continue
		}
		if k, ok := known[key]; !ok {
			wrong.unknown(key, false)
		} else if !k.set(&s, value) {
			wrong.malformed(key, fmt.Sprintf("the value is %q", value), k.example)
		}
	}
	for key := range cm.BinaryData {
		wrong.unknown(key, true)
	}
	if value, there := cm.Data[keyDepot]; there && strings.Trim(value, "/") == "" {
		wrong.malformed(keyDepot, "it is empty", anyDepot)
	}
	depot := v1alpha1.DepotSpec{URL: s.Depot.URL, ImageURL: s.Depot.ImageURL, CABundle: s.Depot.CA, Insecure: s.Depot.Insecure}
	for _, err := range admission.CheckDepot(&depot).WrappedErrors() {
		key := depotKeys[strings.Join(err.Paths, "")]
		if _, found := wrong[key]; key == "" || found {
			continue
		}
		fix := known[key].example
		if key == keyDepot {
			fix = cmp.Or(withTLS(s.Depot.URL), fix)
		}
		wrong.malformed(key, err.Message, fix)
	}
	return s, wrong
}
