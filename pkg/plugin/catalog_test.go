package plugin

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// catalog has a plugin for each "name: need need", and the retired plugins old (successor a) and gone.
func catalog(t testing.TB, lines ...string) Catalog {
	t.Helper()
	all := fstest.MapFS{
		"old/plugin.yaml":  {Data: []byte("name: old\ndescription: d\nstatus: retired\nsuccessor: a\nreason: it is old\n")},
		"gone/plugin.yaml": {Data: []byte("name: gone\ndescription: d\nstatus: retired\nreason: it is gone\n")},
		"README.md":        {},
	}
	for _, line := range lines {
		name, needs, _ := strings.Cut(line, ":")
		all[name+"/plugin.yaml"] = &fstest.MapFile{Data: []byte("name: " + name + "\nversion: v1\ndescription: d\nnodes: {sriov: " +
			boolText(strings.HasPrefix(name, "sriov")) + "}\nneeds: [" + strings.Join(strings.Fields(needs), ", ") +
			"]\nparameters: {type: object, properties: {size: {type: integer, default: 1}}}\n")}
		all[name+"/configure.yml"] = &fstest.MapFile{Data: []byte("- hosts: all\n")}
	}
	c, err := LoadAll(all)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func boolText(b bool) string {
	if b {
		return "true"
	}
	return "false"
}

func namesOf(plugins []Plugin) string {
	var names []string
	for _, p := range plugins {
		names = append(names, p.Name)
	}
	return strings.Join(names, " ")
}

func TestOrder(t *testing.T) {
	c := catalog(t, "a", "b: a", "c: b a", "d: b", "ring1: ring2", "ring2: ring3", "ring3: ring1", "bad: missing", "worse: old")
	for asked, want := range map[string]string{
		"":      "",
		"a":     "a",
		"c":     "a b c",
		"d c":   "a b d c",
		"b a b": "a b",
		"ring1": `plugins need each other: ring1 needs ring2 needs ring3 needs ring1; remove one of these needs in a plugin.yaml`,
		"bad":   `plugin bad needs plugin "missing", which does not exist; use one of a, b, bad, c, d, ring1, ring2, ring3, worse`,
		"old":   "old",
		"worse": "old worse",
	} {
		got, err := c.Order(strings.Fields(asked)...)
		text := namesOf(got)
		if err != nil {
			text = err.Error()
		}
		if diff := cmp.Diff(want, text); diff != "" {
			t.Errorf("%q (-want +got):\n%s", asked, diff)
		}
	}
}

func TestValidate(t *testing.T) {
	c := catalog(t, "multus", "sriov-network: multus", "ring1: ring2", "ring2: ring1")
	ask := func(names ...string) (all []Asked) {
		for _, name := range names {
			all = append(all, Asked{Name: name})
		}
		return all
	}
	for name, tc := range map[string]struct {
		asked []Asked
		want  []string
	}{
		"good":                   {ask("sriov-network", "multus"), nil},
		"unknown":                {ask("mltus"), []string{`Unknown: plugin "mltus" does not exist; use multus`}},
		"far off":                {ask("database"), []string{`Unknown: plugin "database" does not exist; use one of multus, ring1, ring2, sriov-network`}},
		"duplicate":              {ask("multus", "multus"), []string{`Duplicate: plugin "multus" is listed twice; list each plugin once`}},
		"retired":                {ask("old", "gone"), nil},
		"retired, with settings": {[]Asked{{Name: "old", Version: "v2", Parameters: json.RawMessage(`{"size":1}`)}}, nil},
		"retired, twice":         {ask("old", "old"), []string{`Duplicate: plugin "old" is listed twice; list each plugin once`}},
		"circle":                 {ask("ring1"), []string{"Circle: plugins need each other: ring1 needs ring2 needs ring1; remove one of these needs in a plugin.yaml"}},
		"version":                {[]Asked{{Name: "multus", Version: "v2"}}, []string{`Version: plugin multus has no version "v2"; use version v1, or leave the version out`}},
		"parameter": {[]Asked{{Name: "multus", Parameters: json.RawMessage(`{"size":"big"}`)}},
			[]string{`Parameter: parameter size of plugin multus: must be of type integer: "string"; see "kubectl bpa plugins show multus"`}},
		"several": {[]Asked{{Name: "old"}, {Name: "multus", Parameters: json.RawMessage(`{"sise":1}`)}},
			[]string{"Parameter: parameter sise of plugin multus: there is no such parameter; use size"}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, p := range c.Validate(tc.asked) {
				got = append(got, string(p.Kind)+": "+p.String())
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestChoose(t *testing.T) {
	c := catalog(t, "multus", "nfd", "sriov-network: multus nfd", "app: sriov-network", "other", "worse: old multus")
	skip := func(reason string) func(Definition) string {
		return func(d Definition) string {
			if d.Nodes.SRIOV {
				return reason
			}
			return ""
		}
	}
	one := json.RawMessage(`{"size":1}`)
	plugin := func(name, skip string, neededBy ...string) contract.Plugin {
		return contract.Plugin{Name: name, Version: "v1", Parameters: one, Skip: skip, NeededBy: neededBy}
	}
	const old = "it is retired: it is old; use a instead"
	for name, tc := range map[string]struct {
		asked, reason string
		want          []contract.Plugin
	}{
		"needs are added":              {"sriov-network", "", []contract.Plugin{plugin("multus", "", "sriov-network"), plugin("nfd", "", "sriov-network"), plugin("sriov-network", "")}},
		"asked and needed":             {"nfd sriov-network", "", []contract.Plugin{plugin("nfd", ""), plugin("multus", "", "sriov-network"), plugin("sriov-network", "")}},
		"no needs of a skipped plugin": {"multus sriov-network", "no node has SR-IOV", []contract.Plugin{plugin("multus", ""), plugin("sriov-network", "no node has SR-IOV")}},
		"what needs a skipped plugin":  {"app other", "no node has SR-IOV", []contract.Plugin{plugin("app", "it needs sriov-network, which is skipped: no node has SR-IOV"), plugin("other", "")}},
		"nothing":                      {"", "", []contract.Plugin{}},
		"retired":                      {"gone other old", "", []contract.Plugin{{Name: "gone", Skip: "it is retired: it is gone"}, plugin("other", ""), {Name: "old", Skip: old}}},
		"what needs a retired plugin":  {"worse", "", []contract.Plugin{plugin("worse", "it needs old, which is skipped: "+old)}},
	} {
		t.Run(name, func(t *testing.T) {
			var asked []Asked
			for _, name := range strings.Fields(tc.asked) {
				asked = append(asked, Asked{Name: name})
			}
			got, problems := c.Choose(asked, skip(tc.reason))
			if diff := cmp.Diff(tc.want, got, cmpopts.IgnoreFields(contract.Plugin{}, "Digest")); len(problems) > 0 || diff != "" {
				t.Errorf("%v (-want +got):\n%s", problems, diff)
			}
		})
	}
	if _, problems := c.Choose([]Asked{{Name: "none"}}, skip("")); len(problems) != 1 {
		t.Errorf("problems %v", problems)
	}
}

func TestLoadAllChecksNames(t *testing.T) {
	_, err := LoadAll(fstest.MapFS{"other/plugin.yaml": small()["plugin.yaml"], "other/configure.yml": {Data: []byte("- hosts: all\n")}})
	if err == nil || err.Error() != "plugin other: its plugin.yaml has the name small" {
		t.Errorf("got %v", err)
	}
}

// TestShipped checks what a single plugin cannot know: that all that it names is there.
func TestShipped(t *testing.T) {
	all := Shipped()
	if len(all) < 10 {
		t.Errorf("only %d plugins", len(all))
	}
	for name, p := range all {
		if _, err := all.Order(name); p.Status == Live && err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, need := range p.Needs {
			if all[need].Status == Retired {
				t.Errorf("%s needs %s, which is retired", name, need)
			}
		}
		if why := p.WhyRetired(); (why != "") != (p.Status == Retired) || !strings.Contains(why, p.Successor) || len(why) > 400 {
			t.Errorf("%s: %d bytes: %q", name, len(why), why) // status.plugins shows at most 512 bytes
		}
		if p.Successor != "" && all[p.Successor].Status != Live {
			t.Errorf("%s: its successor %s cannot be installed", name, p.Successor)
		}
		if p.Upstream != "" && !strings.HasPrefix(p.Upstream, "https://") {
			t.Errorf("%s: upstream is %q", name, p.Upstream)
		}
		if p.Status == Live && (p.Upstream == "" || p.License == "") {
			t.Errorf("%s: it names no upstream or no license", name)
		}
		if _, problems := p.Complete(nil); p.Status == Live && len(problems) > 0 {
			t.Errorf("%s cannot be installed without parameters: %v", name, problems)
		}
	}
}
