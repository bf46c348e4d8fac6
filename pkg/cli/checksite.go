package cli

import "github.com/spf13/cobra"

func newCheckSite(s *session) *cobra.Command { return &cobra.Command{Use: "site"} }
