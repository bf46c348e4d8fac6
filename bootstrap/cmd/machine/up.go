package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/akraino-icn/bpa/bootstrap/internal/build"
	"github.com/akraino-icn/bpa/bootstrap/internal/cluster"
	"github.com/akraino-icn/bpa/bootstrap/internal/config"
	"github.com/akraino-icn/bpa/bootstrap/internal/disk"
	"github.com/akraino-icn/bpa/bootstrap/internal/host"
	"github.com/akraino-icn/bpa/bootstrap/internal/layout"
	"github.com/akraino-icn/bpa/bootstrap/internal/pki"
)

func upCommand(l layout.Layout) *cobra.Command {
	project, noBackup, siteFile := true, false, ""
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Bring the machine up: packages, builds, cluster, DNS, Metal3 CRDs, Tekton and the project",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			source, err := source()
			if err != nil {
				return err
			}
			if err := finishRestore(l); err != nil {
				return err
			}
			var text []byte
			if siteFile != "" {
				var n layout.Network
				if text, n, err = readSite(l, siteFile); err != nil {
					return err
				}
				l.Network = &n
			}
			if err := runSteps(cmd.Context(), l, "up", append([]step{siteStep(l, text)}, upSteps(l, source, project, !noBackup)...)); err != nil {
				return err
			}
			if project {
				printNextSteps(cmd.OutOrStdout(), l)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&project, "project", project, "also deploy this project (see the deploy command)")
	cmd.Flags().StringVar(&siteFile, "site", siteFile, "file with the networks of the site (see check-site), of which the machine keeps a copy")
	cmd.Flags().BoolVar(&noBackup, "no-backup", noBackup, "do not back up the machine first")
	return cmd
}

func deployCommand(l layout.Layout) *cobra.Command {
	return &cobra.Command{
		Use:   "deploy",
		Short: "Build this project's images and apply its config/ (the last step of up)",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			source, err := source()
			if err != nil {
				return err
			}
			progress := &build.Progress{}
			err = runSteps(cmd.Context(), l, "deploy", []step{{title: "project", progress: progress, run: func(ctx context.Context, log io.Writer) (string, error) {
				changed, err := cluster.Cluster{Layout: l, Source: source, Log: log, Progress: progress}.Deploy(ctx)
				return remark(changed), err
			}}, syncStep(l)})
			if err == nil {
				printNextSteps(cmd.OutOrStdout(), l)
			}
			return err
		},
	}
}

func source() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	return build.FindSource(dir)
}

func upSteps(l layout.Layout, source string, project, backup bool) []step {
	steps := []step{{title: "Debian packages", run: func(ctx context.Context, log io.Writer) (string, error) {
		installed, err := host.InstallPackages(ctx, log)
		if len(installed) == 0 {
			return "up to date", err
		}
		return "installed " + strings.Join(installed, " "), err
	}}}
	steps = append(steps, buildSteps(l, source)...)
	if backup {
		steps = append(steps, step{title: "backup", run: func(ctx context.Context, _ io.Writer) (string, error) { return backupBeforeUp(ctx, l) }})
	}
	tekton, projectProgress := &build.Progress{}, &build.Progress{}
	in := func(log io.Writer, progress *build.Progress) cluster.Cluster {
		return cluster.Cluster{Layout: l, Source: source, Log: log, Progress: progress}
	}
	steps = append(steps,
		step{title: "network and firewall", run: func(ctx context.Context, _ io.Writer) (string, error) {
			return "", host.PrepareNetwork(ctx, l.Net())
		}},
		step{title: "keys and configuration", run: func(ctx context.Context, _ io.Writer) (string, error) { return "", configure(ctx, l) }},
		step{title: "start after a reboot", run: func(ctx context.Context, _ io.Writer) (string, error) { return installUnit(ctx, host.MachineUnit, l) }},
		step{title: "control plane and node", run: func(ctx context.Context, _ io.Writer) (string, error) { return start(ctx, l) }},
		step{title: "base images", run: func(ctx context.Context, log io.Writer) (string, error) {
			pushed, err := in(log, nil).PushBaseImages(ctx)
			return remark(pushed > 0), err
		}},
		step{title: "node ready", run: func(ctx context.Context, log io.Writer) (string, error) { return "", in(log, nil).AwaitNode(ctx) }},
		step{title: "DNS and Metal3 CRDs", run: func(ctx context.Context, log io.Writer) (string, error) {
			changed, kept, err := in(log, nil).InstallAddons(ctx)
			if len(kept) > 0 {
				return "left unchanged, owned by another installation: " + strings.Join(kept, ", "), err
			}
			return remark(changed), err
		}},
		step{title: "Tekton Pipelines", progress: tekton, run: func(ctx context.Context, log io.Writer) (string, error) {
			changed, err := in(log, tekton).InstallTekton(ctx)
			return remark(changed), err
		}},
	)
	if project {
		steps = append(steps, step{title: "project", progress: projectProgress, run: func(ctx context.Context, log io.Writer) (string, error) {
			changed, err := in(log, projectProgress).Deploy(ctx)
			if errors.Is(err, cluster.ErrNotDeployed) {
				return err.Error(), nil
			}
			return remark(changed), err
		}})
	}
	return append(steps, syncStep(l))
}

// syncStep stores what the steps before it have written: programs and marks that something is done. After a power cut,
// the machine starts with them, and no build looks at their content again.
func syncStep(l layout.Layout) step {
	return step{title: "sync to disk", run: func(context.Context, io.Writer) (string, error) {
		folder, err := os.Open(l.Root)
		if err != nil {
			return "", err
		}
		return "", errors.Join(unix.Syncfs(int(folder.Fd())), folder.Close())
	}}
}

// configure creates the users of the components, and writes their keys, configuration files, data folders and plan, and
// the administrator's kubeconfig.
func configure(ctx context.Context, l layout.Layout) error {
	if err := host.CheckReach(l.Root); err != nil {
		return err
	}
	if err := host.EnsureUsers(ctx, config.Users(l)); err != nil {
		return err
	}
	if err := pki.Ensure(l.PKI(), identity(l), time.Now()); err != nil {
		return err
	}
	if err := config.Write(config.Files(l, host.Facts())); err != nil {
		return err
	}
	if err := os.MkdirAll(l.DepotDir(), 0o755); err != nil {
		return err
	}
	if err := os.MkdirAll(l.Data(), 0o711); err != nil {
		return err
	}
	if err := config.Plan(l).Write(paths(l).Plan); err != nil {
		return err
	}
	return writeKubeconfig(l)
}

// identity is what the certificates of the machine contain.
func identity(l layout.Layout) pki.Machine {
	m := pki.Machine{Node: layout.NodeName, IPs: []string{l.Net().NodeIP()}, ServiceIP: l.Net().ServiceIP(), Server: l.Net().APIServer()}
	if l.Net().ServeAPI {
		m.Also = l.Net().Hosts()
	}
	return m
}

// writeKubeconfig writes the administrator's kubeconfig, with its present certificate.
func writeKubeconfig(l layout.Layout) error {
	admin, err := os.ReadFile(pki.Kubeconfig(l.PKI(), "admin"))
	if err != nil {
		return err
	}
	if err := disk.WriteFile(l.Kubeconfig(), admin, 0o600); err != nil {
		return fmt.Errorf("write kubeconfig: %w", err)
	}
	return nil
}

// renew renews the certificates of the machine, and reports whether components must restart to use them.
func renew(l layout.Layout, now time.Time) (changed bool, err error) {
	changed, err = pki.Renew(l.PKI(), identity(l), now)
	if changed {
		err = errors.Join(err, writeKubeconfig(l))
	}
	return changed, err
}
