package cli

import (
	"fmt"

	"github.com/spf13/cobra"
)

func newStatus(s *session) *cobra.Command {
	return &cobra.Command{
		Use:     "status [NAME]",
		Aliases: []string{"get"},
		Short:   "Show a Provisioning on one page: conditions, nodes, run, next step",
		Long: `Show a Provisioning on one page: conditions, nodes, run, next step.

Without NAME the command shows the only Provisioning of the namespace, or a
table if there are several.`,
		Example: "  kubectl bpa status edge-1\n  kubectl bpa get -n site-a",
		Args:    oneName(false),
		RunE: func(cmd *cobra.Command, args []string) error {
			site, err := s.connect()
			if err != nil {
				return err
			}
			if len(args) == 0 {
				all, err := site.list(cmd.Context())
				if err != nil {
					return err
				}
				if len(all) > 1 {
					_, err = fmt.Fprint(s.Out, table(all, s.now()))
					return err
				}
			}
			p, err := site.get(cmd.Context(), first(args))
			if err != nil {
				return err
			}
			software, err := site.softwareFact(cmd.Context(), p)
			if err != nil {
				return err
			}
			_, err = fmt.Fprint(s.Out, site.page(p, software, s.now()))
			return err
		},
	}
}
