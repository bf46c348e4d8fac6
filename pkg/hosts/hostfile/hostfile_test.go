package hostfile

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "write the golden files")

const namespace = "site-a"

// parsed reads a file without findings.
func parsed(t *testing.T, name, text string) File {
	t.Helper()
	f, findings := Parse(FormatOf(name, []byte(text)), []byte(text))
	if findings = Together(findings, Validate(f.Rows, namespace, Site{})); len(findings) > 0 {
		t.Fatalf("%s: %v", name, findings)
	}
	return f
}

// rendered returns the objects of a file as YAML.
func rendered(t *testing.T, f File) string {
	t.Helper()
	var text strings.Builder
	for _, r := range f.Rows {
		o := Render(r, namespace)
		all := []any{map[string]any{"metadata": o.Host.ObjectMeta, "spec": o.Host.Spec}}
		for _, s := range o.Secrets() {
			data := map[string]string{}
			for key, value := range s.Data {
				data[key] = string(value)
			}
			all = append(all, map[string]any{"metadata": s.ObjectMeta, "stringData": data, "type": s.Type})
		}
		for _, object := range all {
			raw, err := yaml.Marshal(object)
			if err != nil {
				t.Fatal(err)
			}
			text.WriteString("---\n" + string(raw))
		}
	}
	return text.String()
}

// golden compares with a file. go test -update writes it.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if diff := cmp.Diff(string(want), got); err != nil || diff != "" {
		t.Errorf("%s: %v (-want +got):\n%s", path, err, diff)
	}
}

// TestExamples renders the examples of the documentation.
func TestExamples(t *testing.T) {
	for _, name := range []string{"nodes.json", "hosts.yaml", "hosts.csv"} {
		text, err := os.ReadFile(filepath.Join("../../../docs/examples/hosts", name))
		if err != nil {
			t.Fatal(err)
		}
		golden(t, name+".objects.yaml", rendered(t, parsed(t, name, string(text))))
		if stdin := FormatOf("-", text); stdin != FormatOf(name, nil) {
			t.Errorf("%s on stdin is taken as %s", name, stdin)
		}
	}
}

// asSite returns the site after an import.
func asSite(f File) Site {
	s := Site{Secrets: map[string]*corev1.Secret{}}
	for _, r := range f.Rows {
		o := Render(r, namespace)
		s.Hosts = append(s.Hosts, *o.Host)
		for _, secret := range o.Secrets() {
			s.Secrets[secret.Name] = secret
		}
	}
	return s
}

// TestImportIsIdempotent: for files with many combinations of fields, in each format, a second import finds nothing wrong and
// changes nothing, and an import that was interrupted at any object goes on.
func TestImportIsIdempotent(t *testing.T) {
	for seed := 0; seed < 256; seed += 5 {
		rows := []map[string]any{server(seed, 1), server(seed*7%256, 2)}
		inCSV := asSite(parsed(t, "f.csv", asCSV(t, rows)))
		for name, text := range map[string]string{"f.json": asJSON(t, rows), "f.yaml": asYAML(t, rows), "f.csv": asCSV(t, rows)} {
			f := parsed(t, name, text)
			again := parsed(t, name, text)
			site := asSite(f)
			if diff := cmp.Diff(site, asSite(again)); diff != "" {
				t.Fatalf("%s: rendered twice (-first +second):\n%s", name, diff)
			}
			if diff := cmp.Diff(inCSV, site); diff != "" {
				t.Fatalf("%s and CSV differ (-CSV +%s):\n%s", name, name, diff)
			}
			if findings := Validate(again.Rows, namespace, site); len(findings) > 0 {
				t.Fatalf("%s: the second import finds %v in\n%s", name, findings, text)
			}
			for _, r := range again.Rows {
				if c := Compare(Render(r, namespace), site); c.HostChanges() || len(c.Write)+len(c.Updated)+len(c.Kept) > 0 {
					t.Fatalf("%s: the second import writes %d Secrets and the host %t, changes %v, keeps %v of\n%s", name, len(c.Write), c.HostChanges(), c.Updated, c.Kept, text)
				}
			}
			interrupted(t, again, site)
		}
	}
}

// interrupted checks that an import goes on if only the first n objects of the site are there.
func interrupted(t *testing.T, f File, whole Site) {
	t.Helper()
	for n := range len(whole.Hosts) {
		part := Site{Hosts: whole.Hosts[:n], Secrets: whole.Secrets}
		if findings := Validate(f.Rows, namespace, part); len(findings) > 0 {
			t.Fatalf("with %d hosts: %v", n, findings)
		}
		for i, r := range f.Rows {
			if c := Compare(Render(r, namespace), part); c.HostChanges() != (i >= n) {
				t.Fatalf("with %d hosts, row %d is written: %t", n, i, c.HostChanges())
			}
		}
	}
}

// server returns a server with the optional fields that the bits of seed select.
func server(seed, n int) map[string]any {
	s := map[string]any{
		"name": fmt.Sprintf("node%d", n), "address": fmt.Sprintf("redfish-virtualmedia://10.0.0.%d/redfish/v1/Systems/1", n), "username": "admin", "password": fmt.Sprintf(`p"a:s,%d;'é`, seed),
	}
	mac := fmt.Sprintf("02:00:00:00:00:%02x", n)
	network := map[string]any{"links": []any{map[string]any{"id": "eno1", "ethernet_mac_address": mac}}, "networks": []any{map[string]any{"id": "n", "type": "ipv4", "link": "eno1", "ip_address": "10.1.0.1", "mtu": 9000}}}
	for bit, set := range []func(){
		func() { s["bootMACAddress"] = strings.ToUpper(mac) },
		func() { s["bootMode"] = "UEFISecureBoot" },
		func() { s["labels"] = map[string]any{"rack": "r1", "empty.example.com/a": "x"} },
		func() { s["online"] = "false" },
		func() { s["externallyProvisioned"] = "true" },
		func() { s["rootDeviceHints"] = map[string]any{"minSizeGigabytes": 48, "rotational": false} },
		func() { s["networkData"] = network },
		func() { s["preprovisioningNetworkData"] = network },
	} {
		if seed>>bit&1 == 1 {
			set()
		}
	}
	return s
}

func asJSON(t *testing.T, rows []map[string]any) string {
	t.Helper()
	raw, err := json.MarshalIndent(map[string]any{"nodes": rows}, "", "\t")
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func asYAML(t *testing.T, rows []map[string]any) string {
	t.Helper()
	raw, err := yaml.Marshal(map[string]any{"nodes": rows})
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func asCSV(t *testing.T, rows []map[string]any) string {
	t.Helper()
	columns := []string{"name", "address", "username", "password", "bootMACAddress", "bootMode", "labels.rack", "labels.empty.example.com/a", "online", "externallyProvisioned", "rootDeviceHints", "networkData", "preprovisioningNetworkData"}
	var text strings.Builder
	text.WriteString("\ufeff" + strings.Join(columns, ";") + "\r\n")
	for _, row := range rows {
		var cells []string
		for _, c := range columns {
			value := row[c]
			if label, is := strings.CutPrefix(c, labelColumn); is && row["labels"] != nil {
				value = row["labels"].(map[string]any)[label]
			}
			switch v := value.(type) {
			case nil:
				value = ""
			case map[string]any:
				raw, err := json.Marshal(v)
				if err != nil {
					t.Fatal(err)
				}
				value = string(raw)
			}
			cells = append(cells, `"`+strings.ReplaceAll(fmt.Sprint(value), `"`, `""`)+`"`)
		}
		text.WriteString(strings.Join(cells, ";") + "\r\n")
	}
	return text.String()
}

// TestSchemes compares the list of schemes with Metal3's parser, and with what it says about each.
func TestSchemes(t *testing.T) {
	for _, scheme := range schemes {
		for _, suffix := range []string{"", "+http", "+https"} {
			if suffix != "" && (scheme == "ipmi" || scheme == "libvirt") {
				continue
			}
			if _, problem, _ := driver(scheme + suffix + "://[fd00::5]:8000/redfish/v1/Systems/1"); problem != "" {
				t.Errorf("%s%s: %s", scheme, suffix, problem)
			}
		}
	}
	for _, scheme := range []string{"http", "ilo4", "irmc", "ipmi+https", "xclarity"} {
		if _, problem, _ := driver(scheme + "://10.0.0.5"); !strings.Contains(problem, "no driver for "+scheme) {
			t.Errorf("%s: %q", scheme, problem)
		}
	}
}

// TestSameSystem: which addresses are one server.
func TestSameSystem(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		same bool
	}{
		{"ipmi://10.0.0.5", "ipmi://10.0.0.5:623", true},
		{"ipmi://10.0.0.5:6230", "ipmi://10.0.0.5:6231", false},
		{"redfish://BMC.example/redfish/v1/Systems/1", "idrac-virtualmedia+https://bmc.example:443/redfish/v1/Systems/1/", true},
		{"redfish://10.0.0.5/redfish/v1/Systems/1", "redfish://10.0.0.5/redfish/v1/Systems/2", false},
		{"redfish://10.0.0.5", "redfish-virtualmedia://10.0.0.5/redfish/v1/Systems/2", true},
		{"redfish://10.0.0.5/redfish/v1/", "redfish://10.0.0.5/redfish/v1/Systems/2", true},
		{"redfish+http://10.0.0.5", "redfish+https://10.0.0.5", false},
	} {
		a, okA := endpointOf(tt.a)
		b, okB := endpointOf(tt.b)
		if !okA || !okB || a.same(b) != tt.same || b.same(a) != tt.same {
			t.Errorf("%s and %s: same %t, want %t", tt.a, tt.b, a.same(b), tt.same)
		}
	}
}
