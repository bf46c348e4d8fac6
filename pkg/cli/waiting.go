package cli

import (
	"time"

	"github.com/spf13/cobra"
)

// waitFlags are the flags --wait and --timeout of a command that changes something, as kubectl delete has them.
type waitFlags struct {
	wait    bool
	timeout time.Duration // 0: no limit
}

// add adds the flags. end completes "wait until ...". example is a time that fits.
func (w *waitFlags) add(cmd *cobra.Command, end, example string) { w.addP(cmd, "", end, example) }

// addP is add with a letter that --wait had in an earlier release.
func (w *waitFlags) addP(cmd *cobra.Command, letter, end, example string) {
	cmd.Flags().BoolVarP(&w.wait, "wait", letter, w.wait, "wait until "+end)
	if letter != "" {
		_ = cmd.Flags().MarkShorthandDeprecated("wait", "use --wait") // cannot fail: the flag is there
	}
	cmd.Flags().DurationVar(&w.timeout, "timeout", 0, "with --wait: stop waiting after this time, such as "+example+"; 0: no limit")
}

// was lets an earlier name of --wait work for one more release, with a notice.
func (w *waitFlags) was(cmd *cobra.Command, name, letter string) {
	cmd.Flags().BoolVarP(&w.wait, name, letter, false, "")
	_ = cmd.Flags().MarkDeprecated(name, "use --wait") // cannot fail: the flag is there
}

func (w *waitFlags) check() error { return checkTimeout(w.timeout, "--wait", w.wait) }
