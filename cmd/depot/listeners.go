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
	"strings"

	"github.com/akraino-icn/bpa/pkg/depot/auth"
	"github.com/akraino-icn/bpa/pkg/depot/auth/kubernetes"
	"github.com/akraino-icn/bpa/pkg/depot/tlscert"
)

// tlsDir is the folder below the root that holds the depot's certificate authority and certificate.
const tlsDir = "tls"

// endpoint is one listener of the depot. Its handler serves the requests that this listener allows.
type endpoint struct {
	name     string
	listener net.Listener
	handler  http.Handler
}

// openListeners opens a listener for every address that the flags give.
func openListeners(ctx context.Context, c config, store http.Handler, log *slog.Logger) ([]endpoint, error) {
	if err := c.checkListeners(); err != nil {
		return nil, err
	}
	bounds, err := c.bounds()
	if err != nil {
		return nil, err
	}
	probes := probesOnly(store)
	encrypt, store, err := withAuthority(c, store, log)
	if err != nil {
		return nil, err
	}
	authenticated, err := withTokens(c, store, log)
	if err != nil {
		return nil, err
	}
	local, err := withSecret(c, store, log)
	if err != nil {
		return nil, err
	}
	var endpoints []endpoint
	for _, d := range []struct {
		name, address string
		handler       http.Handler
		listen        func() (net.Listener, error)
	}{
		{"local", c.localListen, local, func() (net.Listener, error) { return listenLocal(ctx, c.localListen) }},
		{"probe", c.probeListen, probes, func() (net.Listener, error) { return listenTCP(ctx, c.probeListen, probeBounds, log) }},
		{"plain", c.listen, auth.ReadOnly(store, howToWrite(c)), func() (net.Listener, error) { return listenTCP(ctx, c.listen, bounds, log) }},
		{"tls", c.tlsListen, authenticated, func() (net.Listener, error) { return encrypt(listenTCP(ctx, c.tlsListen, bounds, log)) }},
	} {
		if d.address == "" {
			continue
		}
		listener, err := d.listen()
		if err != nil {
			closeListeners(endpoints)
			return nil, fmt.Errorf("listen on %s: %w", d.address, err)
		}
		endpoints = append(endpoints, endpoint{d.name, listener, d.handler})
	}
	return endpoints, nil
}

func (c config) checkListeners() error {
	if c.listen == "" && c.tlsListen == "" && c.localListen == "" {
		return errors.New("no listener is configured: give --tls-listen (reads, and writes with a token), --listen (plain HTTP, reads only) or --local-listen (this machine only, writes with the local token)")
	}
	if c.listen != "" && !c.anonymousRead {
		return errors.New("--listen serves anonymous reads only: with --anonymous-read=false give --tls-listen instead of --listen")
	}
	return nil
}

func closeListeners(endpoints []endpoint) {
	for _, d := range endpoints {
		_ = d.listener.Close()
	}
}

// withAuthority opens the depot's certificate authority, or creates it. encrypt wraps the TLS
// listener in TLS. all is the handler for all listeners: it serves the store, and the authority's
// certificate at /ca.crt. Without a TLS listener there is no authority, and all is store.
func withAuthority(c config, store http.Handler, log *slog.Logger) (encrypt func(net.Listener, error) (net.Listener, error), all http.Handler, err error) {
	if c.tlsListen == "" {
		return nil, store, nil
	}
	authority, err := tlscert.Open(filepath.Join(c.root, tlsDir), append(hostOf(c.tlsListen), c.hosts...), tlscert.WithLogger(log))
	if err != nil {
		return nil, nil, err
	}
	log.Info("certificate authority of the depot: clients that trust it trust the depot; download it from /ca.crt", "sha256", authority.Fingerprint())
	mux := http.NewServeMux()
	mux.Handle("GET /ca.crt", authority)
	mux.Handle("/", store)
	return func(plain net.Listener, err error) (net.Listener, error) {
		if err != nil {
			return nil, err
		}
		// Only HTTP/1.1 is offered: the depot's traffic consists of a few large streams, which
		// HTTP/2 makes slower.
		return tls.NewListener(plain, authority.Config()), nil
	}, mux, nil
}

// withTokens returns the handler of the TLS listener, which authenticates and authorizes requests
// by Kubernetes tokens. Without a Kubernetes API server to ask, that listener is read-only.
func withTokens(c config, store http.Handler, log *slog.Logger) (http.Handler, error) {
	if c.tlsListen == "" {
		return nil, nil
	}
	command := "kubectl create token ACCOUNT -n NAMESPACE"
	if c.audience != "" {
		command += " --audience=" + c.audience
	}
	options := []auth.Option{auth.WithAnonymousRead(c.anonymousRead), auth.WithTokenCommand(command), auth.WithLogger(log)}
	cluster, err := kubernetes.Config(c.kubeconfig)
	if err != nil {
		return nil, err
	}
	if cluster == nil {
		log.Warn("there is no Kubernetes API server to review tokens, so all writes over TLS are refused: give --kubeconfig")
		return auth.New(store, options...), nil
	}
	reviewer, err := kubernetes.New(cluster, c.audience)
	if err != nil {
		return nil, err
	}
	return auth.New(store, append(options, auth.WithAuthorizer(reviewer))...), nil
}

// withSecret returns the handler of the local listener. On a loopback address, writes need the
// local token. A socket file needs no token, since its mode decides which users can open it.
func withSecret(c config, store http.Handler, log *slog.Logger) (http.Handler, error) {
	if c.localListen == "" || strings.HasPrefix(c.localListen, socketPrefix) {
		return auth.Local(store), nil
	}
	token, err := localToken(c.root)
	if err != nil {
		return nil, fmt.Errorf("the token of the local listener: %w", err)
	}
	return auth.Loopback(store, token, "cat "+filepath.Join(c.root, localTokenFile), log), nil
}

// howToWrite returns the hint that the plain listener adds when it refuses a write.
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
		if !strings.HasPrefix(c.localListen, socketPrefix) {
			text += " with the token in " + filepath.Join(c.root, localTokenFile)
		}
	}
	if text == "Write" {
		return "This depot has no listener for writes: start it with --tls-listen or --local-listen"
	}
	return text
}

// hostOf returns the host of a listen address, or nothing if the address has no specific host.
func hostOf(address string) []string {
	host, _, err := net.SplitHostPort(address)
	if ip := net.ParseIP(host); err != nil || host == "" || ip != nil && ip.IsUnspecified() {
		return nil
	}
	return []string{host}
}
