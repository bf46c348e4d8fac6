package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/akraino-icn/bpa/test/lab/artifacts"
)

// builderFlags adds the flags of a Builder to the command.
func builderFlags(c *cobra.Command) *artifacts.Builder {
	s := &artifacts.Builder{Log: os.Stderr}
	f := c.Flags()
	f.StringVar(&s.State, "state", envOr("BPA_STATE", "/var/lib/bpa"), "state folder of the bootstrap machine ($BPA_STATE)")
	f.StringVar(&s.Source, "source", ".", "checkout of this repository")
	f.StringVar(&s.Registry, "depot", "10.60.0.1:5000", "host:port of the depot in image references")
	f.StringVar(&s.PushTo, "push-to", "127.0.0.1:5000", "host:port of the depot's local listener, for pushes with the token in the depot's folder")
	f.StringVar(&s.Kubespray, "kubespray", os.Getenv("KUBESPRAY"), "checkout of kubespray "+artifacts.KubesprayRelease+", for an additional image with its playbooks ($KUBESPRAY)")
	return s
}

func artifactsCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "artifacts",
		Short: "Build all artifacts that an offline cluster needs, and store them in the depot",
		Args:  cobra.NoArgs,
	}
	builder := builderFlags(c)
	known := strings.Join(artifacts.OlderKubernetes, " or ")
	kubernetes := c.Flags().String("kubernetes", "", "also build an older version of Kubernetes, for an upgrade: "+known)
	vip := c.Flags().Bool("vip", false, "also build the image for an address of the API servers that moves")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if *kubernetes != "" && !slices.Contains(artifacts.OlderKubernetes, *kubernetes) {
			return fmt.Errorf("--kubernetes=%s: the lab can build only %s", *kubernetes, known)
		}
		if err := artifacts.Make(c.Context(), builder); err != nil {
			return err
		}
		if *vip {
			if err := artifacts.MakeKeepalived(c.Context(), builder); err != nil {
				return err
			}
		}
		if *kubernetes == "" {
			return nil
		}
		return artifacts.MakeOlder(c.Context(), builder, *kubernetes)
	}
	return c
}

func varsCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "vars",
		Short: "Print the kubespray variables for a Provisioning in this lab: checksums, and settings for nodes that are containers",
		Args:  cobra.NoArgs,
	}
	builder := builderFlags(c)
	c.RunE = func(*cobra.Command, []string) error {
		b, err := os.ReadFile(builder.VarsFile())
		if err != nil {
			return fmt.Errorf("read the variables: %w: run `lab artifacts` first", err)
		}
		vars := map[string]any{}
		if err := yaml.Unmarshal(b, &vars); err != nil {
			return err
		}
		for _, fromDepot := range []string{"dl_k8s_io_url", "github_url", "containerd_registries_mirrors"} { // BPA sets these itself
			delete(vars, fromDepot)
		}
		if b, err = yaml.Marshal(vars); err != nil {
			return err
		}
		_, err = os.Stdout.Write(b)
		return err
	}
	return c
}

func envOr(name, fallback string) string {
	if v := os.Getenv(name); v != "" {
		return v
	}
	return fallback
}
