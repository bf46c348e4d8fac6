package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/akraino-icn/bpa/pkg/depot"
)

const (
	headerTimeout = 10 * time.Second
	idleTimeout   = 2 * time.Minute
	// drainTimeout is how long running transfers get to finish at a stop.
	drainTimeout = 20 * time.Second
)

type config struct {
	listen, root string
	verbose      bool
}

func main() {
	var c config
	flag.StringVar(&c.listen, "listen", ":5000", "address to serve plain HTTP on; anybody who reaches it may push")
	flag.StringVar(&c.root, "root", "", "directory of the store (required); files/ in it appears as /files/")
	flag.BoolVar(&c.verbose, "verbose", false, "log every request")
	flag.Parse()

	level := slog.LevelInfo
	if c.verbose {
		level = slog.LevelDebug
	}
	log := slog.New(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: level}))
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	err := run(ctx, c, log)
	stop()
	if err != nil {
		log.Error("depot ended", "error", err)
		os.Exit(1)
	}
}

// run serves until ctx ends.
func run(ctx context.Context, c config, log *slog.Logger) error {
	if c.root == "" {
		return errors.New("--root is empty: name the directory to keep the store in")
	}
	depot.RedirectLog(log)
	store, err := depot.New(c.root, depot.WithLogger(log))
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", c.listen)
	if err != nil {
		return errors.Join(fmt.Errorf("listen on %s: %w", c.listen, err), store.Close())
	}
	log.Info("serving", "address", listener.Addr().String(), "root", c.root)
	return errors.Join(serve(ctx, listener, store, log), store.Close())
}

// serve announces readiness once the listener takes connections, and ends
// gracefully: transfers under way may finish, within drainTimeout.
func serve(ctx context.Context, listener net.Listener, handler http.Handler, log *slog.Logger) error {
	// pkg/depot bounds each request by its progress; here only headers and
	// idle connections are bounded, or large blobs would be cut.
	server := &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: headerTimeout,
		IdleTimeout:       idleTimeout,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	if err := notify("READY=1"); err != nil {
		log.Warn("the supervisor cannot be told that the depot is ready", "error", err)
	}
	select {
	case err := <-failed:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	log.Info("stopping")
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTimeout)
	defer cancel()
	if err := server.Shutdown(drain); err != nil {
		log.Warn("transfers were cut off", "error", err)
		return server.Close()
	}
	return nil
}
