package supervisor

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

const probeEvery = 150 * time.Millisecond

// liveness says how a component is probed after it was ready. The defaults are slow to judge, because a busy disk can
// delay the answer of a component that works, and a restart would make that worse.
type liveness struct {
	every     time.Duration // between two probes
	limit     time.Duration // for the answer to one probe
	unhealthy int           // failures in a row after which the component is not ready any more
	hung      int           // failures in a row after which it is restarted
}

var defaultLiveness = liveness{every: 10 * time.Second, limit: 5 * time.Second, unhealthy: 2, hung: 6}

var prober = &http.Client{
	Timeout:   5 * time.Second,
	Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true, Proxy: nil},
}

// healthy waits until the URL answers 200 and returns true, or returns false when ctx ends first.
func healthy(ctx context.Context, url string) bool {
	tick := time.NewTicker(probeEvery)
	defer tick.Stop()
	for {
		if probe(ctx, url) {
			return true
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return false
		}
	}
}

// probe reports whether the component at url is healthy. A URL with the scheme grpc+unix is the socket of a server with
// the health service of gRPC; the others must answer 200.
func probe(ctx context.Context, url string) bool {
	if socket, ok := strings.CutPrefix(url, "grpc+unix://"); ok {
		return probeGRPC(ctx, socket)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return false
	}
	resp, err := prober.Do(req)
	if err != nil {
		return false
	}
	resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

// probeGRPC calls grpc.health.v1.Health/Check without a service name. The request is an empty message, so its five
// bytes are the whole of gRPC that this needs. The answer SERVING is the field 1 with the value 1.
func probeGRPC(ctx context.Context, socket string) bool {
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	transport := &http.Transport{Protocols: &protocols, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}}
	defer transport.CloseIdleConnections()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://localhost/grpc.health.v1.Health/Check", strings.NewReader("\x00\x00\x00\x00\x00"))
	if err != nil {
		return false
	}
	req.Header.Set("Content-Type", "application/grpc")
	req.Header.Set("TE", "trailers")
	resp, err := (&http.Client{Transport: transport, Timeout: prober.Timeout}).Do(req)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, 64))
	return err == nil && resp.Trailer.Get("Grpc-Status") == "0" && string(answer) == "\x00\x00\x00\x00\x02\x08\x01"
}
