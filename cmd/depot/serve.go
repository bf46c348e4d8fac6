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
	// idleTimeout is short because an idle connection uses a place that other clients wait for. A
	// client can open a new connection at once.
	idleTimeout = 15 * time.Second
	// largestHeader, in bytes, is enough for a long token and the metadata of an upload.
	largestHeader = 64 << 10
	// drainTimeout is how long running transfers may continue after the depot starts to stop.
	drainTimeout = 20 * time.Second
)

// serve serves all endpoints until ctx ends or one of them fails. It reports readiness to the
// supervisor once all listeners are open. At the end, running transfers may finish within
// drainTimeout.
func serve(ctx context.Context, endpoints []endpoint, limits deadline.Limits, log *slog.Logger) error {
	failed := make(chan error, len(endpoints))
	var servers []*http.Server
	for _, d := range endpoints {
		server := newServer(deadline.Handler(limits, d.handler), log)
		servers = append(servers, server)
		go func() { failed <- server.Serve(d.listener) }()
	}
	if err := notify("READY=1"); err != nil {
		log.Warn("cannot report readiness to the supervisor", "error", err)
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
	// Package deadline limits each request by its progress. The timeouts here therefore cover only
	// headers and idle connections: a timeout for a whole request would cut off large blobs.
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
				log.Warn("transfers that did not finish in time were cut off", "error", err)
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
