package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/spf13/cobra"
)

const metal3Header = "# The Metal3 CRDs that BPA reads. Generated from Metal3's Go types by `machine generate` (make generate). Do not edit.\n"

// generateCommand returns the command that generates the Metal3 CRDs, because Metal3's Go module
// has the types but not the manifests. It sets allowDangerousTypes, because controller-gen
// otherwise rejects the floating point fields of the types.
func generateCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "generate",
		Short: "Generate manifests/metal3-crds.yaml from Metal3's Go types",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			source, err := source()
			if err != nil {
				return err
			}
			dir, err := os.MkdirTemp("", "metal3-")
			if err != nil {
				return err
			}
			defer os.RemoveAll(dir)
			run := exec.CommandContext(cmd.Context(), "go", "run", "sigs.k8s.io/controller-tools/cmd/controller-gen",
				"crd:allowDangerousTypes=true", "paths=github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1", "output:crd:dir="+dir)
			run.Dir = filepath.Join(source, "modules", "metal3")
			run.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
			if out, err := run.CombinedOutput(); err != nil {
				return fmt.Errorf("controller-gen: %w: %s", err, out)
			}
			text := []byte(metal3Header)
			for _, kind := range []string{"baremetalhosts", "hardwaredata", "hostdeploypolicies"} {
				crd, err := os.ReadFile(filepath.Join(dir, "metal3.io_"+kind+".yaml"))
				if err != nil {
					return err
				}
				text = append(text, crd...)
			}
			return os.WriteFile(filepath.Join(source, "manifests", "metal3-crds.yaml"), text, 0o644)
		},
	}
}
