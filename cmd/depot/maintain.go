package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/akraino-icn/bpa/pkg/depot"
	"github.com/akraino-icn/bpa/pkg/depot/files"
	"github.com/akraino-icn/bpa/pkg/depot/garbage"
	"github.com/akraino-icn/bpa/pkg/depot/registry"
	"github.com/akraino-icn/bpa/pkg/depot/rest"
	"github.com/akraino-icn/bpa/pkg/depot/scrub"
	"github.com/akraino-icn/bpa/pkg/depot/store"
)

// These are the exit statuses of scrub and gc: exitDamage if scrub found damage, exitFailed if the
// command failed.
const (
	exitDamage = 1
	exitFailed = 2
)

// maintain runs the maintenance command that the first argument names: scrub or gc. If the first
// argument is neither, ok is false, and the process must serve as a depot.
func maintain(args []string) (code int, ok bool) {
	if len(args) == 0 {
		return 0, false
	}
	commands := map[string]func(context.Context, []string, io.Writer) (int, error){"scrub": runScrub, "gc": runGC}
	run, ok := commands[args[0]]
	if !ok {
		return 0, false
	}
	registry.RedirectLog(slog.New(slog.DiscardHandler)) // no log: the command returns problems as errors
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	code, err := run(ctx, args[1:], os.Stdout)
	if err != nil {
		fmt.Fprintf(os.Stderr, "depot %s: %v\n", args[0], err)
		return exitFailed, true
	}
	return code, true
}

// runScrub verifies all content of the store. It may run while a depot serves the same store,
// except with --set-aside.
func runScrub(ctx context.Context, args []string, out io.Writer) (int, error) {
	var s storage
	set := flag.NewFlagSet("scrub", flag.ExitOnError)
	root := set.String("root", "", "directory of the store (required)")
	aside := set.Bool("set-aside", false, "move damaged files, and damaged blobs with the manifests and tags that need them, out of the store, so that clients can upload the same content again; stop the depot of this store first")
	s.where(set)
	_ = set.Parse(args) // Parse ends the process on an error
	if *root == "" {
		return 0, fmt.Errorf("--root is empty: give the directory of the store")
	}
	if *aside {
		held, err := lock(*root)
		if err != nil {
			return 0, err
		}
		defer held.Close()
	}
	opened, err := s.open(ctx, *root)
	if err != nil {
		return 0, err
	}
	if *aside {
		alone, release, err := s.alone(ctx, *root, opened)
		if err != nil {
			return 0, err
		}
		defer release()
		ctx = alone
	}
	var damaged []scrub.Damage
	summary, err := scrub.Run(ctx, opened, func(d scrub.Damage) {
		damaged = append(damaged, d)
		_, _ = fmt.Fprintln(out, "damaged:", d)
	})
	if err != nil {
		return 0, err
	}
	var damagedFiles []string
	read, unknown, err := files.Scrub(ctx, *root, func(path, why string) {
		damagedFiles = append(damagedFiles, path)
		_, _ = fmt.Fprintf(out, "damaged: file %s: %s\n", path, why)
	})
	if err != nil {
		return 0, err
	}
	if *aside {
		if err := setAside(ctx, opened, *root, damaged, damagedFiles); err != nil {
			return 0, err
		}
	}
	_, _ = fmt.Fprintf(out, "read %d blobs (%d bytes), %d links, %d manifests and %d files; %d files have no checksum yet; %d damaged\n",
		summary.Blobs, summary.Bytes, summary.Links, summary.Manifests, read, unknown, len(damaged)+len(damagedFiles))
	if len(damaged)+len(damagedFiles) == 0 {
		return 0, nil
	}
	if !*aside {
		_, _ = fmt.Fprintln(out, "Clients do not upload content that the depot lists. To replace the damaged content: stop the depot, run scrub with --set-aside, start the depot and upload the content again.")
	}
	return exitDamage, nil
}

// setAside moves damaged content out of the store, so that clients upload it again.
func setAside(ctx context.Context, s *store.Store, root string, damaged []scrub.Damage, damagedFiles []string) error {
	for _, d := range damaged {
		if err := scrub.SetAside(ctx, s, d); err != nil {
			return err
		}
	}
	for _, name := range damagedFiles {
		if err := files.SetAside(root, name); err != nil {
			return err
		}
	}
	return nil
}

// alone takes the bucket's lease, so that no depot can use the bucket until release is called.
// Without a bucket it does nothing, since the lock on the directory is enough. The returned context
// ends when the lease is lost.
func (s *storage) alone(ctx context.Context, dir string, opened *store.Store) (context.Context, func(), error) {
	if s.s3.Bucket == "" {
		return ctx, func() {}, nil
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, nil, err
	}
	log := slog.New(slog.NewJSONHandler(os.Stderr, nil))
	ctx, cancel := context.WithCancel(ctx)
	_, release, err := depot.HoldBucket(ctx, root, opened.Driver, log, cancel)
	if err != nil {
		cancel()
		return nil, nil, errors.Join(err, root.Close())
	}
	return ctx, func() {
		cancel()
		if err := errors.Join(release(), root.Close()); err != nil {
			log.Warn("the bucket's lease could not be released and expires after a minute", "error", err)
		}
	}, nil
}

// runGC removes the manifests and blobs that nothing needs. Without --keep, all images stay. With
// --keep, the images that have a tag and the images in the list of the --keep file stay, with
// everything that they need.
func runGC(ctx context.Context, args []string, out io.Writer) (int, error) {
	var s storage
	set := flag.NewFlagSet("gc", flag.ExitOnError)
	root := set.String("root", "", "directory of the store (required); stop the depot of this store first")
	dry := set.Bool("dry-run", false, "only report what gc would free")
	keepFile := set.String("keep", "", "file with the digests of the images that clusters use, one per line; gc then also frees the images that have neither a tag nor a line in this file")
	s.where(set)
	_ = set.Parse(args) // Parse ends the process on an error
	if *root == "" {
		return 0, fmt.Errorf("--root is empty: give the directory of the store")
	}
	held, err := lock(*root)
	if err != nil {
		return 0, err
	}
	defer held.Close()
	keep, err := keeper(*keepFile)
	if err != nil {
		return 0, err
	}
	opened, err := s.open(ctx, *root)
	if err != nil {
		return 0, err
	}
	ctx, release, err := s.alone(ctx, *root, opened)
	if err != nil {
		return 0, err
	}
	defer release()
	if !*dry {
		if err := opened.FinishRemovals(ctx); err != nil { // completes the removals that a killed depot left unfinished
			return 0, err
		}
	}
	result, err := garbage.Collect(ctx, opened, garbage.Options{Keep: keep, DryRun: *dry})
	verb := "freed"
	if *dry {
		verb = "would free"
	}
	_, _ = fmt.Fprintf(out, "%s %d manifests and %d blobs (%d bytes)\n", verb, result.Freed.Manifests, result.Freed.Blobs, result.Freed.Bytes)
	return 0, err
}

// keeper reads the file of --keep. An empty file name means that all images stay.
func keeper(file string) (garbage.Keeper, error) {
	if file == "" {
		return garbage.All{}, nil
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	listed, err := rest.ReadList(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return garbage.Listed(listed), nil
}
