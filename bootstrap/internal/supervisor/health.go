package supervisor

import (
	"context"
	"crypto/tls"
	"net/http"
	"time"
)

const probeEvery = 150 * time.Millisecond

var prober = &http.Client{
	Timeout:   2 * time.Second,
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

func probe(ctx context.Context, url string) bool {
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
