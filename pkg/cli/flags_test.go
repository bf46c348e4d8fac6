package cli

import (
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
)

// TestFlagsOfKubectlKeepTheirMeaning checks that no command has a flag with the name or the letter of one of kubectl's,
// such as --as: the command would act with other rights, or on another cluster, than the user has asked for.
func TestFlagsOfKubectlKeepTheirMeaning(t *testing.T) {
	root := newRoot(genericclioptions.NewConfigFlags(true), &session{})
	names, letters := map[string]bool{}, map[string]bool{}
	for _, found := range regexp.MustCompile(`(?m)^ +(?:-(\w), )?--([\w-]+)`).FindAllStringSubmatch(root.PersistentFlags().FlagUsages(), -1) {
		letters[found[1]], names[found[2]] = true, true
	}
	delete(letters, "")
	if !names["as"] || !names["context"] || !letters["n"] {
		t.Fatalf("flags of kubectl: %v, letters %v; want --as, --context and -n among them", names, letters)
	}
	commands := 0
	var check func(*cobra.Command)
	check = func(cmd *cobra.Command) {
		commands++
		own := cmd.LocalNonPersistentFlags()
		for name := range names {
			if own.Lookup(name) != nil {
				t.Errorf("%s defines --%s itself, which is a flag of kubectl", cmd.CommandPath(), name)
			}
		}
		for letter := range letters {
			if own.ShorthandLookup(letter) != nil {
				t.Errorf("%s defines -%s itself, which is a flag of kubectl", cmd.CommandPath(), letter)
			}
		}
		for _, sub := range cmd.Commands() {
			check(sub)
		}
	}
	check(root)
	if commands < 20 {
		t.Errorf("only %d commands were checked", commands)
	}
}

// TestBackupAsAnotherUser checks that backup leaves kubectl's impersonation to kubectl.
func TestBackupAsAnotherUser(t *testing.T) {
	for _, line := range []string{"backup edge-1 --as=alice", "--as=alice backup edge-1", "pause edge-1 --as=alice"} {
		flags := genericclioptions.NewConfigFlags(true)
		server := "https://127.0.0.1:1"
		flags.APIServer = &server
		root := newRoot(flags, &session{})
		cmd, rest, err := root.Find(strings.Fields(line))
		if err == nil {
			err = cmd.ParseFlags(rest)
		}
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		config, err := flags.ToRESTConfig()
		if err != nil || config.Impersonate.UserName != "alice" {
			t.Errorf("%s: acts as %q (%v), want alice", line, config.Impersonate.UserName, err)
		}
	}
}
