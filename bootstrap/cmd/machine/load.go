package main

import (
	"fmt"

	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/spf13/cobra"

	"github.com/akraino-icn/bpa/bootstrap/internal/images"
	"github.com/akraino-icn/bpa/bootstrap/internal/layout"
)

func loadCommand(l layout.Layout) *cobra.Command {
	return &cobra.Command{
		Use:   "load ARCHIVE NAME",
		Short: "Push an image archive (docker save, ko --tarball) to the depot as NAME, such as tools/busybox:1.36",
		Args:  cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			img, err := tarball.ImageFromPath(args[0], nil)
			if err != nil {
				return fmt.Errorf("read %s: %w", args[0], err)
			}
			login, err := images.Login(l.DepotToken())
			if err != nil {
				return err
			}
			ref := l.Pull(args[1])
			pushed, err := images.Push(cmd.Context(), layout.Push(args[1]), img, login)
			if err == nil {
				fmt.Println(ref, remark(pushed))
			}
			return err
		},
	}
}
