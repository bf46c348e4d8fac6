package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/akraino-icn/bpa/test/lab/artifacts"
)

func siteFlags(c *cobra.Command) *artifacts.Site {
	s := &artifacts.Site{Log: os.Stderr}
	f := c.Flags()
	f.StringVar(&s.State, "state", envOr("BPA_STATE", "/var/lib/bpa"), "the machine's state folder ($BPA_STATE)")
	f.StringVar(&s.Source, "source", ".", "this repository")
	f.StringVar(&s.Registry, "depot", "10.60.0.1:5000", "host:port of the depot, as images are named")
	f.StringVar(&s.PushTo, "push-to", "127.0.0.1:5000", "host:port of the depot's door for this machine, which asks for the token in its folder")
	f.StringVar(&s.Kubespray, "kubespray", os.Getenv("KUBESPRAY"), "a checkout of kubespray "+artifacts.KubesprayRelease+", which gets an image beside that of test/playbooks ($KUBESPRAY)")
	return s
}

func artifactsCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "artifacts",
		Short: "Build and pack all that an offline cluster needs, and put it into the depot",
		Args:  cobra.NoArgs,
	}
	site := siteFlags(c)
	c.RunE = func(c *cobra.Command, _ []string) error { return artifacts.Make(c.Context(), site) }
	return c
}

func varsCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "vars",
		Short: "Print the kubespray variables that a Provisioning of this lab needs: checksums, and what containers need in place of machines",
		Args:  cobra.NoArgs,
	}
	site := siteFlags(c)
	c.RunE = func(*cobra.Command, []string) error {
		b, err := os.ReadFile(site.VarsFile())
		if err != nil {
			return fmt.Errorf("%w; call lab artifacts first", err)
		}
		vars := map[string]any{}
		if err := yaml.Unmarshal(b, &vars); err != nil {
			return err
		}
		for _, fromDepot := range []string{"dl_k8s_io_url", "github_url", "containerd_registries_mirrors"} { // BPA renders them
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
