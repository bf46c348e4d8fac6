package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/fluxcd/pkg/ssa/utils"
	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// tool is a way to apply an object, and to compare it with the stored one. Neither method changes its argument.
type tool struct {
	name string
	sync func(ctx context.Context, object *unstructured.Unstructured) error
	// diff returns the difference as text, or "" if there is none.
	diff func(ctx context.Context, object *unstructured.Unstructured) (string, error)
}

// errDiffers means that at least one object differs from its file.
var errDiffers = errors.New("objects differ from their files")

func main() {
	klog.SetLogger(logr.Discard())
	if err := run(context.Background(), os.Args[1:], os.Stdout); err != nil {
		slog.Error("gitops", "error", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	if len(args) < 2 || args[0] != "sync" && args[0] != "diff" {
		return errors.New("usage: gitops sync|diff FILE...")
	}
	objects, err := read(args[1:])
	if err != nil {
		return err
	}
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		return err
	}
	config.QPS, config.Burst = 100, 100
	tools, cleanup, err := newTools(config)
	defer cleanup()
	if err != nil {
		return err
	}
	differs := false
	for _, t := range tools {
		for _, object := range objects {
			object := object.DeepCopy()
			object.SetNamespace(t.name)
			if args[0] == "sync" {
				if err := t.sync(ctx, object); err != nil {
					return fmt.Errorf("%s: %w", t.name, err)
				}
			}
			diff, err := t.diff(ctx, object)
			if err != nil {
				return fmt.Errorf("%s: %w", t.name, err)
			}
			if diff != "" {
				differs = true
				fmt.Fprintf(out, "%s: %s %s: %s\n", t.name, object.GetKind(), object.GetName(), diff)
			}
		}
	}
	if differs {
		return errDiffers
	}
	return nil
}

func newTools(config *rest.Config) (tools []tool, cleanup func(), err error) {
	c, err := client.New(config, client.Options{})
	if err != nil {
		return nil, func() {}, err
	}
	tools, cleanup, err = argoCD(config, c)
	return append(tools, flux(c)), cleanup, err
}

func read(files []string) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		found, err := utils.ReadObjects(bytes.NewReader(raw))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		if len(found) == 0 {
			return nil, fmt.Errorf("%s has no object", file)
		}
		objects = append(objects, found...)
	}
	return objects, nil
}
