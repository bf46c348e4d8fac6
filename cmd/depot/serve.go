package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/akraino-icn/bpa/pkg/depot/deadline"
)

const (
	headerTimeout = 10 * time.Second
	// idleTimeout is short: an idle connection keeps others from its place, and clients open the next one at once.
	idleTimeout = 15 * time.Second
	// largestHeader is enough for a long token and the metadata of an upload.
	largestHeader = 64 << 10
	// drainTimeout is how long running transfers get to finish at a stop.
	drainTimeout = 20 * time.Second
)

// serve announces readiness once all doors are open, and ends gracefully: transfers under way may finish, within drainTimeout.
func serve(ctx context.Context, endpoints []endpoint, limits deadline.Limits, log *slog.Logger) error {
	failed := make(chan error, len(endpoints))
	var servers []*http.Server
	for _, d := range endpoints {
		server := newServer(deadline.Handler(limits, d.handler), log)
		servers = append(servers, server)
		go func() { failed <- server.Serve(d.listener) }()
	}
	if err := notify("READY=1"); err != nil {
		log.Warn("the supervisor cannot be told that the depot is ready", "error", err)
	}
	select {
	case err := <-failed:
		return errors.Join(fmt.Errorf("serve: %w", err), closeAll(servers))
	case <-ctx.Done():
	}
	log.Info("stopping")
	return drain(context.WithoutCancel(ctx), servers, log)
}

func newServer(handler http.Handler, log *slog.Logger) *http.Server {
	// Package deadline bounds each request by its progress; here only headers and
	// idle connections are bounded, or large blobs would be cut.
	return &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: headerTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    largestHeader,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
}

func drain(ctx context.Context, servers []*http.Server, log *slog.Logger) error {
	ctx, cancel := context.WithTimeout(ctx, drainTimeout)
	defer cancel()
	var all sync.WaitGroup
	for _, s := range servers {
		all.Go(func() {
			if err := s.Shutdown(ctx); err != nil {
				log.Warn("transfers were cut off", "error", err)
			}
		})
	}
	all.Wait()
	return closeAll(servers)
}

func closeAll(servers []*http.Server) error {
	var errs []error
	for _, s := range servers {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}
