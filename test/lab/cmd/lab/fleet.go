package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/client-go/tools/clientcmd"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/akraino-icn/bpa/test/lab/artifacts"
	"github.com/akraino-icn/bpa/test/lab/fleet"
)

// fleetCommand returns a command that operates on the machines of one namespace.
func fleetCommand(use, short string, args cobra.PositionalArgs, run func(c *cobra.Command, f *fleet.Fleet, args []string) error) *cobra.Command {
	c := &cobra.Command{Use: use, Short: short, Args: args}
	namespace := c.Flags().StringP("namespace", "n", "default", "namespace of the BareMetalHosts and of the Provisioning that uses them")
	depot := c.Flags().String("depot", "10.60.0.1:5000", "host:port of the depot")
	c.RunE = func(c *cobra.Command, args []string) error {
		f, err := newFleet(*namespace, *depot)
		if err != nil {
			return err
		}
		return run(c, f, args)
	}
	return c
}

func newFleet(namespace, depot string) (*fleet.Fleet, error) {
	ctrllog.SetLogger(logr.Discard())
	path := envOr("KUBECONFIG", filepath.Join(envOr("BPA_STATE", "/var/lib/bpa"), "kubeconfig"))
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		return nil, fmt.Errorf("read kubeconfig of the bootstrap cluster: %w", err)
	}
	config.QPS, config.Burst = 50, 100
	client, err := fleet.NewClient(config)
	if err != nil {
		return nil, err
	}
	nameserver, _, _ := strings.Cut(depot, ":") // there is no DNS server at this address: a lab node resolves only its own names
	return &fleet.Fleet{Client: client, Namespace: namespace, Image: artifacts.NodeImage(depot), Nameserver: nameserver, Log: os.Stderr}, nil
}

func upCommand() *cobra.Command {
	var nodes, misfits int
	var reboots *bool
	c := fleetCommand("up", "Create machines: host-1... satisfy a request for 8 CPUs and 16Gi, misfit-1... do not", cobra.NoArgs,
		func(c *cobra.Command, f *fleet.Fleet, _ []string) error {
			f.Reboots = *reboots
			return f.Up(c.Context(), fleet.Shapes(nodes, misfits)...)
		})
	c.Flags().IntVar(&nodes, "nodes", 3, "number of hosts that fit; of every three, two have 8 CPUs and 16Gi, the third has 16 CPUs and 32Gi")
	c.Flags().IntVar(&misfits, "misfits", 0, "number of hosts that do not fit; of every two, the first has 2 CPUs and 4Gi, the second has 32 CPUs and 128Gi but is in error")
	reboots = rebootsFlag(c)
	return c
}

func rebootsFlag(c *cobra.Command) *bool {
	return c.Flags().Bool("reboots", false, "machines can reboot by systemctl reboot, which gives them another boot ID")
}

func addCommand() *cobra.Command {
	var s fleet.Shape
	var reboots *bool
	c := fleetCommand("add HOST", "Create one more machine", cobra.ExactArgs(1),
		func(c *cobra.Command, f *fleet.Fleet, args []string) error {
			f.Reboots = *reboots
			s.Name = args[0]
			return f.Up(c.Context(), s)
		})
	c.Flags().IntVar(&s.CPU, "cpu", 8, "number of CPUs in its BareMetalHost")
	c.Flags().IntVar(&s.RAMGiB, "memory", 16, "memory in its BareMetalHost, in GiB")
	c.Flags().BoolVar(&s.Broken, "broken", false, "set its BareMetalHost in error")
	reboots = rebootsFlag(c)
	return c
}

func downCommand() *cobra.Command {
	return fleetCommand("down", "Remove all machines of the namespace, their BareMetalHosts and the SSH key", cobra.NoArgs,
		func(c *cobra.Command, f *fleet.Fleet, _ []string) error { return f.Down(c.Context()) })
}

func removeCommand() *cobra.Command {
	return fleetCommand("remove HOST...", "Remove machines and their BareMetalHosts", cobra.MinimumNArgs(1),
		func(c *cobra.Command, f *fleet.Fleet, args []string) error { return f.Down(c.Context(), args...) })
}

func resetCommand() *cobra.Command {
	return fleetCommand("reset [HOST...]", "Recreate machines: blank disks, new addresses, new BareMetalHosts of the same size", cobra.ArbitraryArgs,
		func(c *cobra.Command, f *fleet.Fleet, args []string) error { return f.Reset(c.Context(), args...) })
}

func sshCommand() *cobra.Command {
	c := fleetCommand("ssh HOST COMMAND...", "Run a command on a machine as root", cobra.MinimumNArgs(2),
		func(c *cobra.Command, f *fleet.Fleet, args []string) error {
			out, err := f.Run(c.Context(), args[0], strings.Join(args[1:], " "))
			fmt.Print(out)
			return err
		})
	c.Flags().SetInterspersed(false) // flags after the host belong to the command
	return c
}
