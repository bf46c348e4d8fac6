package settings

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"sigs.k8s.io/yaml"
)

func configMap(data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: Name}, Data: data}
}

// online returns data of a site without a depot.
func online(data map[string]string) map[string]string {
	data["depot-url"] = "internet"
	return data
}

func TestParse(t *testing.T) {
	for name, test := range map[string]struct {
		data map[string]string
		want Settings
	}{
		"the Internet": {map[string]string{"depot-url": "internet"}, Default()},
		"an example":   {map[string]string{"_example": "depot-uri: x", "depot-url": "internet"}, Default()},
		"all": {
			map[string]string{"depot-url": "https://10.60.0.1:5443/", "depot-image-url": "http://10.60.0.1:5000", "depot-connected": "true", "max-attempts": "2", "run-history": "9", "run-history-age": "0", "max-runs": "0", "max-backups": "9", "backup-min-age": "168h", "health-interval": "2m",
				"node-labels": "# racks\nairshipit.org/rack: topology.kubernetes.io/zone\n\n a:b \n"},
			Settings{NodeLabels: "a: b\nairshipit.org/rack: topology.kubernetes.io/zone", Depot: Depot{URL: "https://10.60.0.1:5443", ImageURL: "http://10.60.0.1:5000", Connected: true}, MaxAttempts: 2, RunHistory: 9, MaxBackups: 9, BackupMinAge: 168 * time.Hour, HealthInterval: 2 * time.Minute},
		},
		"plain HTTP that is accepted": {
			map[string]string{"depot-url": "http://10.60.0.1:5000", "depot-insecure": "true"},
			Settings{Depot: Depot{URL: "http://10.60.0.1:5000", Insecure: true}, MaxAttempts: 5, RunHistory: 5, RunHistoryAge: 72 * time.Hour, MaxRuns: 4, MaxBackups: 4, HealthInterval: 15 * time.Second},
		},
		"no health": {map[string]string{"depot-url": "internet", "health-interval": "0"}, Settings{MaxAttempts: 5, RunHistory: 5, RunHistoryAge: 72 * time.Hour, MaxRuns: 4, MaxBackups: 4}},
	} {
		got, err := Parse(configMap(test.data))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// Each error names the key, the value, the allowed values and the command that fixes it.
func TestParseRefuses(t *testing.T) {
	for name, test := range map[string]struct {
		data map[string]string
		want []string
	}{
		"no number": {online(map[string]string{"max-attempts": "many"}), []string{"max-attempts", `"many"`, "a whole number of at least 1",
			`kubectl patch configmap config-bpa -n bpa-system --type merge -p '{"data":{"max-attempts":"5"}}'`}},
		"no attempts":              {online(map[string]string{"max-attempts": "0"}), []string{`"0"`}},
		"fewer than no runs":       {online(map[string]string{"max-runs": "-1"}), []string{"max-runs", `"-1"`, "a whole number; 0 means no limit", `{"data":{"max-runs":"4"}}`}},
		"no backups at all":        {online(map[string]string{"max-backups": "0"}), []string{"max-backups", `"0"`, "a whole number of at least 1", `{"data":{"max-backups":"4"}}`}},
		"an interval without unit": {online(map[string]string{"health-interval": "15"}), []string{"health-interval", `"15"`, `such as "15s"`, `{"data":{"health-interval":"15s"}}`}},
		"a label of the kubelet":   {online(map[string]string{"node-labels": "rack: kubernetes.io/hostname"}), []string{"node-labels", "HOST-LABEL: NODE-LABEL", "kubectl edit configmap config-bpa -n bpa-system"}},
		"a label for two":          {online(map[string]string{"node-labels": "rack: zone\nrow: zone"}), []string{"node-labels"}},
		"a label twice":            {online(map[string]string{"node-labels": "rack: zone\nrack: row"}), []string{"node-labels"}},
		"a line without a colon":   {online(map[string]string{"node-labels": "rack zone"}), []string{"node-labels"}},
		"too short an interval":    {online(map[string]string{"health-interval": "1s"}), []string{"health-interval", "at least 5s"}},
		"a time in the past":       {online(map[string]string{"health-interval": "-15s"}), []string{"health-interval"}},
		"no history":               {online(map[string]string{"run-history": "0"}), []string{"run-history"}},
		"a word for a bool": {online(map[string]string{"depot-connected": "no thanks"}), []string{"depot-connected", `"no thanks"`, `"true" or "false"`,
			`'{"data":{"depot-connected":"false"}}'`}},
		"an unknown key": {online(map[string]string{"depot-uri": "https://d"}), []string{"depot-uri", "depot-url, ",
			`kubectl patch configmap config-bpa -n bpa-system --type merge -p '{"data":{"depot-uri":null}}'`}},
		"plain HTTP":            {map[string]string{"depot-url": "http://d:5000"}, []string{"depot-url", `"http://d:5000"`, "plain HTTP", `depot-insecure "true"`}},
		"credentials":           {map[string]string{"depot-image-url": "http://u:p@d"}, []string{"depot-image-url", "credentials"}},
		"a CA that is none":     {map[string]string{"depot-url": "https://d", "depot-ca": "PEM"}, []string{"depot-ca", "/ca.crt", "kubectl edit configmap config-bpa -n bpa-system"}},
		"a CA without a depot":  {map[string]string{"depot-ca": "PEM"}, []string{"depot-ca"}},
		"two of them, by key":   {map[string]string{"run-history": "x", "depot-url": "ftp://d"}, []string{"depot-url", "run-history"}},
		"quotes in an address":  {map[string]string{"depot-url": `https://d/"`}, []string{"depot-url"}},
		"an address of nothing": {map[string]string{"depot-url": "true"}, []string{"depot-url"}},
		"no depot": {nil, []string{"setting depot-url: it is missing", "https address", `"internet"`, "download from the Internet",
			`kubectl patch configmap config-bpa -n bpa-system --type merge -p '{"data":{"depot-url":"<https address of your depot, or internet>"}}'`}},
		"an empty depot":        {map[string]string{"depot-url": "", "max-attempts": "2"}, []string{"setting depot-url: it is empty", `"internet"`, "kubectl patch"}},
		"only slashes":          {map[string]string{"depot-url": "//"}, []string{"setting depot-url"}},
		"a CA for the Internet": {map[string]string{"depot-url": "internet", "depot-ca": "PEM"}, []string{"depot-ca"}},
	} {
		_, err := Parse(configMap(test.data))
		if err == nil {
			t.Errorf("%s: accepted", name)
			continue
		}
		rest := err.Error()
		for _, want := range test.want {
			_, after, found := strings.Cut(rest, want)
			if !found {
				t.Errorf("%s: got\n%s\nwithout %s in its place", name, err, want)
				continue
			}
			rest = after
		}
	}
}

// The example lists every setting, and is valid settings itself. The ConfigMap that the controller
// creates has it, and no setting.
func TestExample(t *testing.T) {
	var data map[string]string
	if err := yaml.UnmarshalStrict([]byte(example), &data); err != nil {
		t.Fatal(err)
	}
	if got, err := Parse(configMap(data)); err != nil || got != Default() {
		t.Errorf("%+v, %v; want the defaults", got, err)
	}
	for key := range known {
		if _, ok := data[key]; !ok {
			t.Errorf("the example does not have %s", key)
		}
	}
	fresh := New()
	if len(fresh.Data) != 1 || fresh.Data[exampleKey] != example || fresh.Name != Name || fresh.Namespace != Namespace {
		t.Errorf("new ConfigMap: %+v", fresh)
	}
	if _, err := Parse(fresh); err == nil || !strings.Contains(err.Error(), "depot-url") {
		t.Errorf("a ConfigMap without settings is accepted: %v", err)
	}
}

// The webhook accepts a ConfigMap without depot-url, because the controller creates one. It rejects
// every other error, also a depot-url that is empty.
func TestCheck(t *testing.T) {
	for name, test := range map[string]struct {
		data map[string]string
		ok   bool
	}{
		"of the controller":       {New().Data, true},
		"without a depot":         {map[string]string{"max-runs": "2"}, true},
		"a depot":                 {map[string]string{"depot-url": "https://d"}, true},
		"an empty depot":          {map[string]string{"depot-url": ""}, false},
		"unknown":                 {map[string]string{"depot-uri": "https://d"}, false},
		"a value without a depot": {map[string]string{"max-runs": "two"}, false},
	} {
		if _, err := Check(configMap(test.data)); (err == nil) != test.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The command at the end of an error corrects all errors at once, because the webhook rejects a
// change that leaves one. The command never contains an invented address: it uses the site's own
// address or a placeholder.
func TestTheCommandFixesAll(t *testing.T) {
	const (
		patch = "kubectl patch configmap config-bpa -n bpa-system --type merge -p '"
		edit  = "kubectl edit configmap config-bpa -n bpa-system"
	)
	for name, test := range map[string]struct {
		data   map[string]string
		binary map[string][]byte
		want   string // the patch in the command; empty: the command opens an editor
	}{
		"one":               {data: online(map[string]string{"max-attempts": "0"}), want: `{"data":{"max-attempts":"5"}}`},
		"unknown and plain": {data: map[string]string{"depot-url": "http://10.1.1.1:5000", "depot-ca-file": "x"}, want: `{"data":{"depot-ca-file":null,"depot-url":"https://10.1.1.1:5000"}}`},
		"all kinds": {
			data: map[string]string{"depot-url": "http://d", "depot-insecure": "no", "run-history": "", "depot-connected": "maybe", "x": "y"},
			want: `{"data":{"depot-connected":"false","depot-insecure":"false","depot-url":"https://d","run-history":"5","x":null}}`,
		},
		"binary": {
			data: online(map[string]string{"x": "y"}), binary: map[string][]byte{"z": {0}}, want: `{"data":{"x":null},"binaryData":{"z":null}}`,
		},
		"no address that could be meant": {
			data: map[string]string{"depot-url": "ftp://10.1.1.1", "depot-image-url": "true"},
			want: `{"data":{"depot-image-url":"<address of your depot for Metal3>","depot-url":"<https address of your depot>"}}`,
		},
		"no address at all":          {data: map[string]string{"depot-connected": "x"}, want: `{"data":{"depot-connected":"false","depot-url":"<https address of your depot, or internet>"}}`},
		"an empty address":           {data: map[string]string{"depot-url": ""}, want: `{"data":{"depot-url":"<https address of your depot, or internet>"}}`},
		"credentials":                {data: map[string]string{"depot-url": "http://u:p@d"}, want: `{"data":{"depot-url":"<https address of your depot>"}}`},
		"a certificate among others": {data: map[string]string{"depot-url": "https://d", "depot-ca": "PEM", "run-history": "0"}},
	} {
		cm := configMap(test.data)
		cm.BinaryData = test.binary
		_, err := Parse(cm)
		if err == nil {
			t.Errorf("%s: accepted", name)
			continue
		}
		if n := strings.Count(err.Error(), "kubectl"); n != 1 {
			t.Errorf("%s: %d commands in\n%s", name, n, err)
		}
		for _, foreign := range []string{"10.60.0.1", "u:p@"} {
			if strings.Contains(err.Error(), foreign) {
				t.Errorf("%s: %s is in\n%s", name, foreign, err)
			}
		}
		if test.want == "" {
			if !strings.Contains(err.Error(), "`"+edit+"`") {
				t.Errorf("%s: no editor in\n%s", name, err)
			}
			continue
		}
		_, after, _ := strings.Cut(err.Error(), "`"+patch)
		got, _, found := strings.Cut(after, "'`")
		if !found || got != test.want {
			t.Errorf("%s: patch %s, want %s; the error is\n%s", name, got, test.want, err)
			continue
		}
		if strings.Contains(got, "<") {
			if _, err := Parse(patched(t, cm, got)); err == nil {
				t.Errorf("%s: the placeholder is accepted as it is", name)
			}
			got = regexp.MustCompile("<[^>]*>").ReplaceAllString(got, "https://depot.example:5443")
		}
		if _, err := Parse(patched(t, cm, got)); err != nil {
			t.Errorf("%s: after the command: %v", name, err)
		}
	}
}

func patched(t *testing.T, cm *corev1.ConfigMap, patch string) *corev1.ConfigMap {
	t.Helper()
	before, err := json.Marshal(cm)
	if err != nil {
		t.Fatal(err)
	}
	after, err := strategicpatch.StrategicMergePatch(before, []byte(patch), corev1.ConfigMap{}) // for maps of strings, the result is that of a merge patch
	if err != nil {
		t.Fatal(err)
	}
	var made corev1.ConfigMap
	if err := json.Unmarshal(after, &made); err != nil {
		t.Fatal(err)
	}
	return &made
}
