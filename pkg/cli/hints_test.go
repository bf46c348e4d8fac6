package cli

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"sigs.k8s.io/yaml"
)

// TestCommandsInTextsExist: each command that a message, a hint, the help or a page of the documentation names
// exists: the commands and flags of kubectl bpa, the targets of make, and the verbs and kinds of kubectl.
func TestCommandsInTextsExist(t *testing.T) {
	known := newKnown(t)
	n := 0
	check := func(where, text string) {
		if m := regexp.MustCompile("(^|[`\"' ])tkn (pr|pipelinerun|tr|taskrun) [a-z]+").FindString(text); m != "" {
			t.Errorf("%s: %s: nothing brings tkn to a site: name kubectl bpa logs, history or events", where, m)
		}
		for _, c := range commandsIn(text) {
			n++
			if err := known.check(c); err != nil {
				t.Errorf("%s: `%s %s`: %v", where, c.program, strings.Join(c.words, " "), err)
			}
		}
	}
	for _, root := range []string{"../../pkg", "../../cmd"} {
		stringsIn(t, root, check)
	}
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range append(pages, "../../README.md") {
		raw, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(string(raw), "\n") {
			if strings.Contains(line, "│") { // a picture
				continue
			}
			if strings.HasPrefix(line, "|") { // a row of measurements has the target of its day
				line = strings.ReplaceAll(line, "`make ", "`")
			}
			check(fmt.Sprintf("%s:%d", page, i+1), line)
		}
	}
	if n < 300 {
		t.Errorf("only %d commands were found in the texts", n)
	}
}

func TestCommandsInTexts(t *testing.T) {
	for text, want := range map[string]string{
		"fix it, then `kubectl bpa retry -n %s %s`":        "retry -n X X",
		"kubectl bpa restore %s --from %s --force":         "restore X --from X --force",
		"see kubectl bpa status NAME. It shows more":       "status NAME",
		"(kubectl bpa backups %s), or do nothing":          "backups X",
		"push it with \"kubectl bpa plugins push\"":        "plugins push",
		"kubectl bpa shows it":                             "shows it",
		"kubectl get pods -n bpa-system | grep x":          "get pods -n bpa-system",
		"run `make kubespray`":                             "kubespray",
		"make an API client":                               "",
		"kubectl patch provisioning a --type=merge -p 'x'": "patch provisioning a --type=merge -p",
	} {
		var got []string
		for _, c := range commandsIn(text) {
			got = append(got, strings.Join(c.words, " "))
		}
		if strings.Join(got, "|") != want {
			t.Errorf("%s: %q, want %s", text, got, want)
		}
	}
	known := newKnown(t)
	for text, right := range map[string]bool{
		"`kubectl bpa retry X`": true, "`kubectl bpa retry X --soon`": false, "`kubectl bpa again X`": false, "`kubectl bpa retry`": true, "`kubectl bpa retry -n X`": false, "`kubectl bpa hosts rest X`": false,
		"`make demo`": true, "`make coffee`": false, "`kubectl get bpa`": true, "`kubectl obtain bpa`": false, "`kubectl get provision`": false,
		"`kubectl get backups`": false, "`kubectl get backups.bpa.akraino.org`": true, "`kubectl annotate -n X provisioning X`": false,
	} {
		for _, c := range commandsIn(text) {
			if err := known.check(c); (err == nil) != right {
				t.Errorf("%s: %v", text, err)
			}
		}
	}
}

// command is a command in a text.
type command struct {
	program string // "kubectl bpa", "kubectl" or "make"
	words   []string
	quoted  bool // the end is known, so it has all of its arguments
}

var (
	inText = regexp.MustCompile("(^|[`\"'(\\s])(kubectl bpa|kubectl|make) ([^`\"'|;\\n\\\\>]*)")
	verbs  = regexp.MustCompile(`%[-+#0-9.\[\]]*[a-zA-Z]`)
	// ends is the end of a command in a sentence.
	ends = regexp.MustCompile(`([.,:]\s|[.,:]$|[)?]|\s[<(&#]|\$\().*`)
)

// commandsIn returns the commands in a text. Values that the program fills in are X.
func commandsIn(text string) (all []command) {
	text = verbs.ReplaceAllString(text, "X")
	for _, m := range inText.FindAllStringSubmatchIndex(text, -1) {
		before, program, rest := text[m[2]:m[3]], text[m[4]:m[5]], text[m[6]:m[7]]
		quoted := (before == "`" || before == `"`) && strings.HasPrefix(text[m[7]:], before)
		if program == "make" && before != "`" {
			continue // a word of English
		}
		if !quoted {
			rest = ends.ReplaceAllString(rest, "")
		}
		words := strings.Fields(rest)
		prose := program == "kubectl" && !quoted && len(words) > 0 && !slices.Contains(slices.Concat(onKinds, otherVerbs), words[0])
		if len(words) > 0 && !prose && !slices.Equal(words, []string{"bpa"}) {
			all = append(all, command{program, words, quoted})
		}
	}
	return all
}

// known has what commands can name.
type known struct {
	targets []string // of make
	kinds   []string // of Kubernetes, in all their names
}

func newKnown(t *testing.T) known {
	t.Helper()
	var k known
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(?m)^([a-z0-9 _-]+):([^=]|$)`).FindAllStringSubmatch(string(makefile), -1) {
		k.targets = append(k.targets, strings.Fields(m[1])...)
	}
	k.kinds = strings.Fields("pod pods secret secrets configmap cm namespace namespaces ns node nodes event events pdb deployment deployments deploy daemonset job jobs service svc " +
		"serviceaccount sa clusterrolebinding rolebindings rolebinding role clusterrole lease leases crd crds csr pv pvc sc statefulset all ds " +
		"baremetalhost baremetalhosts bmh hostfirmwaresettings hfs task tasks taskrun taskruns tr pipeline pipelines pipelinerun pipelineruns pr " +
		"validatingadmissionpolicy validatingadmissionpolicies validatingwebhookconfiguration mutatingwebhookconfiguration X KIND")
	files, err := filepath.Glob("../../config/300-*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d CRDs, %v", len(files), err)
	}
	for _, file := range files {
		var crd struct {
			Spec struct {
				Names struct {
					Plural, Singular string
					ShortNames       []string
				}
			}
		}
		raw, err := os.ReadFile(file)
		if err != nil || yaml.Unmarshal(raw, &crd) != nil {
			t.Fatal(file, err)
		}
		k.kinds = append(append(k.kinds, crd.Spec.Names.Plural, crd.Spec.Names.Singular), crd.Spec.Names.ShortNames...)
	}
	return k
}

func (k known) check(c command) error {
	switch c.program {
	case "make":
		if !slices.Contains(k.targets, c.words[0]) {
			return fmt.Errorf("the Makefile has no target %s", c.words[0])
		}
		return nil
	case "kubectl":
		return k.kubectl(c)
	}
	root := newRoot(genericclioptions.NewConfigFlags(true), &session{}) // a new one, because flags keep their values
	cmd, rest, err := root.Find(c.words)
	if err != nil || cmd == root && !strings.HasPrefix(c.words[0], "-") {
		return fmt.Errorf("there is no such command")
	}
	args, err := arguments(cmd, rest)
	if err == nil && c.quoted && len(args) > 0 && !cmd.Runnable() {
		return fmt.Errorf("%s has no command %s", cmd.CommandPath(), args[0])
	}
	if err == nil && c.quoted && len(args)+len(rest) > 0 { // `kubectl bpa retry` in prose names the command only
		err = cmd.ValidateArgs(args)
	}
	return err
}

// arguments returns the words that are neither flags nor values of flags.
func arguments(cmd *cobra.Command, words []string) (args []string, err error) {
	cmd.InheritedFlags() // adds the flags of the parents
	for i := 0; i < len(words); i++ {
		name, value, hasValue := strings.Cut(words[i], "=")
		long, isLong := strings.CutPrefix(name, "--")
		if !strings.HasPrefix(name, "-") || name == "-" {
			args = append(args, words[i])
			continue
		}
		flag := cmd.Flags().Lookup(long)
		if !isLong {
			flag = cmd.Flags().ShorthandLookup(name[1:2])
		}
		if flag == nil && name != "--help" && name != "-h" {
			return nil, fmt.Errorf("%s has no flag %s", cmd.CommandPath(), name)
		}
		if flag != nil && !hasValue && flag.NoOptDefVal == "" && i+1 < len(words) {
			i++
			value = words[i]
		}
		if flag != nil {
			_ = flag.Value.Set(value) // the check of the arguments can depend on it; X is not always valid
		}
	}
	return args, nil
}

// onKinds are the commands of kubectl whose first argument is a kind. otherVerbs are the others that texts use.
var (
	onKinds    = []string{"get", "describe", "annotate", "patch", "edit", "delete", "label"}
	otherVerbs = []string{"events", "apply", "create", "replace", "logs", "exec", "wait", "rollout", "cordon", "uncordon", "drain", "config", "version", "auth", "run", "port-forward", "plugin", "explain"}
)

// kubectl checks the verb, and the kind if the verb needs one. kubectl is no dependency of this module, so
// that its flags are not checked.
func (k known) kubectl(c command) error {
	words := slices.Clone(c.words)
	for len(words) > 1 && strings.HasPrefix(words[0], "-") { // flags before the verb
		words = words[min(len(words)-1, 1+oneIfNoValue(words[0])):]
	}
	verb, words := words[0], words[1:]
	switch {
	case slices.Contains(otherVerbs, verb) || verb == "X" || strings.HasPrefix(verb, "-"):
		return nil
	case !slices.Contains(onKinds, verb):
		return fmt.Errorf("kubectl has no command %s", verb)
	}
	for len(words) > 0 && strings.HasPrefix(words[0], "-") {
		if words[0] == "-f" || words[0] == "--filename" || words[0] == "-k" {
			return nil
		}
		words = words[min(len(words), 1+oneIfNoValue(words[0])):]
	}
	if len(words) == 0 {
		return nil // prose that names the verb only
	}
	for kind := range strings.SplitSeq(words[0], ",") {
		full, _, _ := strings.Cut(strings.ToLower(kind), "/")
		kind, _, _ = strings.Cut(full, ".")
		if group := strings.HasPrefix(full, kind+"."); !group && slices.Contains([]string{"provisioning", "provisionings", "backup", "backups"}, kind) {
			return fmt.Errorf("%s is also a kind of Metal3's or Velero's: write bpa or bpabackup", kind)
		}
		if !slices.Contains(k.kinds, kind) && !slices.Contains(k.kinds, strings.ToUpper(kind)) {
			return fmt.Errorf("there is no kind %s", kind)
		}
	}
	return nil
}

// oneIfNoValue returns 1 if the next word is the value of this flag.
func oneIfNoValue(flag string) int {
	if slices.Contains([]string{"-n", "--namespace", "--kubeconfig", "--context", "-o", "--output", "-l", "--selector", "--server"}, flag) {
		return 1
	}
	return 0
}

// stringsIn calls check for each text in the Go files of a folder that are neither tests nor generated. A
// text that is joined of several parts is checked as a whole; its parts that are no literals are X.
func stringsIn(t *testing.T, root string, check func(where, text string)) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && entry.Name() == "client" {
			return fs.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.HasPrefix(entry.Name(), "zz_generated") {
			return nil
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			e, is := n.(ast.Expr)
			if !is {
				return true
			}
			text, is := joined(e)
			if is {
				check(files.Position(n.Pos()).String(), text)
			}
			return !is
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// joined returns the text of a literal, or of several that are added. It returns false for other expressions.
func joined(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind != token.STRING {
			return "", false
		}
		text, err := strconv.Unquote(e.Value)
		return text, err == nil
	case *ast.BinaryExpr:
		if e.Op != token.ADD {
			return "", false
		}
		left, is := joined(e.X)
		right, also := joined(e.Y)
		if !is && !also {
			return "", false
		}
		if !is {
			left = "X"
		}
		if !also {
			right = "X"
		}
		return left + right, true
	}
	return "", false
}
