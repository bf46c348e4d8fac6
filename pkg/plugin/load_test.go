package plugin

import (
	"io/fs"
	"maps"
	"strings"
	"testing"
	"testing/fstest"
)

// small is the smallest plugin that can be installed, with changes: a file with empty content is left
// out.
func small(change ...string) fstest.MapFS {
	files := fstest.MapFS{
		"plugin.yaml":           {Data: []byte(definition)},
		"manifests/config.yaml": {Data: []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")},
	}
	for i := 0; i < len(change); i += 2 {
		if delete(files, change[i]); change[i+1] != "" {
			files[change[i]] = &fstest.MapFile{Data: []byte(change[i+1])}
		}
	}
	return files
}

const definition = "name: small\nversion: v1.0.0\ndescription: A plugin.\n"

func load(t testing.TB, dir fs.FS) Plugin {
	t.Helper()
	p, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestLoad(t *testing.T) {
	p := load(t, small("plugin.yaml", definition+"needs: [nfd]\nnodes: {sriov: true, cpuFlags: [vmx]}\nimages: ['docker.io/library/busybox:1.37']\n",
		"configure.yml", "- hosts: all\n", "templates/kernel.conf", "x"))
	if p.Status != Live || !p.Nodes.SRIOV || p.Nodes.CPUFlags[0] != "vmx" || p.Needs[0] != "nfd" {
		t.Errorf("got %+v", p.Definition)
	}
	if !p.Has(ManifestsDir) || p.Has(ChartDir) || !p.Has(ConfigureFile) || p.Has(RemoveFile) {
		t.Errorf("files %v", p.Paths())
	}
}

func TestLoadRefuses(t *testing.T) {
	many := fstest.MapFS{}
	maps.Copy(many, small())
	for i := range MaxFiles {
		many["templates/"+strings.Repeat("a", i%100+1)+string(rune('a'+i/100))] = &fstest.MapFile{}
	}
	bomb := "a: &a [x,x,x,x,x,x,x,x,x]\n"
	for i := range 9 {
		next, last := string(rune('b'+i)), string(rune('a'+i))
		bomb += next + ": &" + next + " [" + strings.TrimSuffix(strings.Repeat("*"+last+",", 9), ",") + "]\n"
	}
	with := func(more string) fstest.MapFS { return small("plugin.yaml", definition+more) }
	parameters := func(more string) fstest.MapFS {
		return with("parameters: {type: object, properties: {" + more + "}}\n")
	}
	for name, c := range map[string]struct {
		dir  fstest.MapFS
		want string
	}{
		"no definition":        {small("plugin.yaml", ""), "plugin.yaml: the plugin has no such file"},
		"unknown field":        {with("imagse: []\n"), `unknown field "imagse"`},
		"field twice":          {with("name: small\n"), `key "name" already set`},
		"aliases":              {small("plugin.yaml", bomb), "excessive aliasing"},
		"long definition":      {with("#" + strings.Repeat("x", maxDefinition)), "more than 262144"},
		"name":                 {small("plugin.yaml", strings.Replace(definition, "small", "Small", 1)), `name: "Small" is not a name of a plugin`},
		"version":              {small("plugin.yaml", strings.Replace(definition, "v1.0.0", "1.0+x", 1)), `version: "1.0+x" is not a version`},
		"no description":       {small("plugin.yaml", "name: a\nversion: v1\n"), "description: it is empty"},
		"status":               {with("status: dead\n"), `status: "dead" is not live or retired`},
		"successor":            {with("successor: other\n"), "only a retired plugin has one"},
		"needs itself":         {with("needs: [small]\n"), "needs[0]: the plugin needs itself"},
		"needs twice":          {with("needs: [nfd, nfd]\n"), `needs[1]: "nfd" is listed twice`},
		"short image":          {with("images: ['busybox:1.37']\n"), "has no registry"},
		"image without tag":    {with("images: ['docker.io/library/busybox']\n"), "has neither a tag nor a digest"},
		"image with a port":    {with("images: ['localhost:5000/busybox']\n"), "has neither a tag nor a digest"},
		"image path":           {with("images: ['docker.io/a/../b:1']\n"), "is not a valid repository name"},
		"image twice":          {with("images: ['docker.io/library/a:1']\nindirectImages: ['docker.io/library/a:1']\n"), "is listed twice"},
		"file without sum":     {with("files: [{name: a, url: 'https://a.example/b', sha256: ''}]\n"), "files[0].sha256"},
		"file by http":         {with("files: [{name: a, url: 'http://a.example/b', sha256: ''}]\n"), "files[0].url: \"http://a.example/b\" is not like https://host/path"},
		"file outside":         {with("files: [{name: a, url: 'https://a.example/../b', sha256: ''}]\n"), "files[0].url"},
		"namespace":            {with("namespace: A_b\n"), `namespace: "A_b"`},
		"group":                {with("kubespray: {groups: {a: some}}\n"), `kubespray.groups.a: "some" is not one of`},
		"variable":             {with("kubespray: {vars: {a-b: 1}}\n"), `kubespray.vars: "a-b"`},
		"variable's parameter": {with("kubespray: {vars: {a: $(params.b)}}\n"), "$(params.b): the plugin has no parameters"},
		"schema's type":        {with("parameters: {type: string}\n"), "the type of the parameters is not object"},
		"schema's reference":   {with("parameters: {$ref: 'https://a.example/b'}\n"), `the keyword "$ref" is not supported`},
		"schema's pattern":     {parameters("a: {type: string, pattern: '('}"), "a: pattern"},
		"schema without type":  {parameters("a: {}"), "a: type is not one of"},
		"schema's depth":       {parameters(strings.Repeat("a: {type: object, properties: {", 20) + strings.Repeat("}}", 20)), "levels deep"},
		"default":              {parameters("a: {type: integer, default: x}"), "a: the default does not fit the schema"},
		"default in a list":    {parameters("a: {type: array, items: {type: object, properties: {b: {type: boolean, default: 1}}}}"), "a[].b: the default does not fit"},
		"reserved parameter":   {parameters("plugin_name: {type: string}"), "and not with plugin_"},
		"ansible's parameter":  {parameters("ansible_user: {type: string}"), "or ansible_"},
		"dash in a variable": {small("plugin.yaml", definition+"parameters: {type: object, properties: {a-b: {type: string}}}\n", "configure.yml", "- hosts: all\n"),
			"configure.yml: the parameter a-b cannot be a variable"},
		"manifests and chart":  {small("chart/Chart.yaml", "name: x"), "both manifests/ and chart/"},
		"nothing to do":        {small("manifests/config.yaml", ""), "the plugin does nothing"},
		"playbook":             {small("configure.yml", "hosts: all"), "configure.yml: it is not a list of plays"},
		"empty playbook":       {small("remove.yml", "[]"), "remove.yml: it has no plays"},
		"link":                 {fstest.MapFS{"plugin.yaml": {Data: []byte(definition)}, "manifests/x": {Mode: fs.ModeSymlink}}, "manifests/x: it is not a regular file"},
		"file name":            {small("templates/a b", "x"), "a path in a plugin"},
		"many files":           {many, "more than 500 files"},
		"big":                  {small("templates/a", strings.Repeat("x", MaxSize)), "more than 4194304 bytes"},
		"retired with files":   {small("plugin.yaml", "name: a\ndescription: b\nstatus: retired\nreason: c\n"), "no file but plugin.yaml"},
		"retired with version": {small("plugin.yaml", definition+"status: retired\nreason: c\n"), "a retired plugin has only"},
		"retired for nothing":  {small("plugin.yaml", "name: a\ndescription: b\nstatus: retired\n"), "reason: it is empty"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Load(c.dir)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v\nwant an error with %q", err, c.want)
			}
		})
	}
}

func TestCheckPath(t *testing.T) {
	for _, good := range []string{"plugin.yaml", "chart/templates/_helpers.tpl", ".helmignore", "a/b.c/d-e"} {
		if err := CheckPath(good); err != nil {
			t.Error(err)
		}
	}
	for _, bad := range []string{"", ".", "..", "/a", "a/../b", "../a", "a//b", "a/", "./a", "a\\b", "a\x00b", "ü", strings.Repeat("a", maxPath+1)} {
		if CheckPath(bad) == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}

func TestDigest(t *testing.T) {
	first := load(t, small()).Digest()
	if again := load(t, small()).Digest(); again != first {
		t.Errorf("the same files have the digests %s and %s", first, again)
	}
	for name, other := range map[string]fs.FS{
		"another file": small("README.md", "x"),
		"another text": small("plugin.yaml", definition+"\n"),
	} {
		if load(t, other).Digest() == first {
			t.Errorf("%s: the digest is the same", name)
		}
	}
}

func TestApplied(t *testing.T) {
	p := load(t, small())
	digest := func(parameters string) string {
		t.Helper()
		out, err := p.Applied([]byte(parameters))
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	if digest(`{"a":1,"b":2}`) != digest(`{ "b": 2, "a": 1 }`) || digest("") != digest("{}") {
		t.Error("the form of the parameters counts")
	}
	if digest(`{"a":1}`) == digest(`{"a":2}`) {
		t.Error("the parameters do not count")
	}
}

func FuzzLoad(f *testing.F) {
	f.Add([]byte(definition), "manifests/a.yaml", []byte("kind: x"))
	f.Add([]byte(definition+"parameters: {type: object, properties: {a: {type: array, default: [1], items: {type: integer}}}}\n"), "configure.yml", []byte("- hosts: all"))
	f.Add([]byte("a: &a [*a]"), "../x", []byte("- &x [*x]"))
	f.Fuzz(func(t *testing.T, text []byte, name string, content []byte) {
		p, err := FromContent(map[string][]byte{"plugin.yaml": text, name: content})
		if err != nil {
			return
		}
		if err := CheckName(p.Name); err != nil {
			t.Error(err)
		}
		if err := CheckPath(name); err != nil {
			t.Error(err)
		}
		complete, problems := p.Complete(nil)
		if len(problems) > 0 {
			return
		}
		if _, err := p.KubesprayVars(complete); err != nil && !strings.Contains(err.Error(), "params.") {
			t.Error(err)
		}
		if again, problems := p.Complete(complete); len(problems) > 0 || string(again) != string(complete) {
			t.Errorf("complete parameters %s are not complete: %s, %v", complete, again, problems)
		}
	})
}
