package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"

	"github.com/akraino-icn/bpa/pkg/depot/guard"
	"github.com/akraino-icn/bpa/pkg/depot/guard/reviews"
	"github.com/akraino-icn/bpa/pkg/depot/tlscert"
)

// tlsDir is the folder below the root that holds the depot's own authority and certificate.
const tlsDir = "tls"

// door is one way into the store: where it listens, and what it lets through.
type door struct {
	name     string
	listener net.Listener
	handler  http.Handler
}

// openDoors listens at every address that was asked for. The local door comes first: who starts the depot mostly means to use that one.
func openDoors(ctx context.Context, c config, store http.Handler, log *slog.Logger) (doors []door, err error) {
	defer func() {
		if err != nil {
			closeDoors(doors)
		}
	}()
	if c.listen == "" && c.tlsListen == "" && c.localListen == "" {
		return nil, errors.New("no door is open: give --tls-listen (reads, and writes with a token), --listen (plain HTTP, reads only) or --local-listen (this machine, no token)")
	}
	if c.listen != "" && !c.anonymousRead {
		return nil, errors.New("--listen serves anonymous reads only: with --anonymous-read=false use --tls-listen alone")
	}
	add := func(name string, listener net.Listener, handler http.Handler) {
		doors = append(doors, door{name, listener, handler})
	}
	var authority *tlscert.Authority
	if c.tlsListen != "" {
		if authority, err = tlscert.Open(filepath.Join(c.root, tlsDir), append(hostOf(c.tlsListen), c.hosts...), tlscert.WithLogger(log)); err != nil {
			return nil, err
		}
		log.Info("who trusts this authority trusts the depot; it is at /ca.crt", "sha256", authority.Fingerprint())
		store = withAuthority(store, authority)
	}
	if c.localListen != "" {
		listener, err := listenLocal(ctx, c.localListen)
		if err != nil {
			return doors, fmt.Errorf("listen on %s: %w", c.localListen, err)
		}
		add("local", listener, guard.Local(store))
	}
	if c.listen != "" {
		listener, err := listenTCP(ctx, c.listen, c.connections)
		if err != nil {
			return doors, fmt.Errorf("listen on %s: %w", c.listen, err)
		}
		add("plain", listener, guard.ReadOnly(store, howToWrite(c)))
	}
	if c.tlsListen != "" {
		guarded, err := withTokens(c, store, log)
		if err != nil {
			return doors, err
		}
		listener, err := listenTCP(ctx, c.tlsListen, c.connections)
		if err != nil {
			return doors, fmt.Errorf("listen on %s: %w", c.tlsListen, err)
		}
		// HTTP/1.1 alone: the depot's traffic is few large streams, which HTTP/2 makes slower.
		add("tls", tls.NewListener(listener, authority.Config()), guarded)
	}
	return doors, nil
}

func closeDoors(doors []door) {
	for _, d := range doors {
		_ = d.listener.Close()
	}
}

func withAuthority(store http.Handler, authority *tlscert.Authority) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /ca.crt", authority)
	mux.Handle("/", store)
	return mux
}

// withTokens guards the store; without a Kubernetes to ask, the door is for reading.
func withTokens(c config, store http.Handler, log *slog.Logger) (http.Handler, error) {
	command := "kubectl create token ACCOUNT -n NAMESPACE"
	if c.audience != "" {
		command += " --audience=" + c.audience
	}
	options := []guard.Option{guard.WithAnonymousRead(c.anonymousRead), guard.WithTokenCommand(command), guard.WithLogger(log)}
	kubernetes, err := reviews.Config(c.kubeconfig)
	if err != nil {
		return nil, err
	}
	if kubernetes == nil {
		log.Warn("no Kubernetes to ask about tokens: nobody writes over TLS; --kubeconfig names one")
		return guard.New(store, options...), nil
	}
	reviewer, err := reviews.New(kubernetes, c.audience)
	if err != nil {
		return nil, err
	}
	return guard.New(store, append(options, guard.WithReviewer(reviewer))...), nil
}

// howToWrite is told to who tries it at the plain door.
func howToWrite(c config) string {
	text := "Write"
	if c.tlsListen != "" {
		text += " over TLS (--tls-listen=" + c.tlsListen + ") with a token"
	}
	if c.localListen != "" {
		if c.tlsListen != "" {
			text += ", or"
		}
		text += " on the machine itself at " + c.localListen
	}
	if text == "Write" {
		return "This depot has no door for writing: start it with --tls-listen or --local-listen"
	}
	return text
}

// hostOf gives the host of a listen address, if it names one.
func hostOf(address string) []string {
	host, _, err := net.SplitHostPort(address)
	if ip := net.ParseIP(host); err != nil || host == "" || ip != nil && ip.IsUnspecified() {
		return nil
	}
	return []string{host}
}
