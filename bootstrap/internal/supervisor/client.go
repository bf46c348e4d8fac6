package supervisor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// ErrNotRunning reports that no daemon answers at the socket.
var ErrNotRunning = errors.New("no supervisor is running")

// Client sends commands to a daemon.
type Client struct {
	paths Paths
	http  *http.Client
}

// NewClient returns a client for the daemon with these paths. It does not connect yet.
func NewClient(p Paths) *Client {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", p.Socket)
	}
	return &Client{paths: p, http: &http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}}
}

// Status returns the process id of the daemon and the status of its components. A component comes
// after those that it needs.
func (c *Client) Status(ctx context.Context) (pid int, components []Status, err error) {
	r, err := c.report(ctx)
	return r.PID, r.Components, err
}

// Outdated reports whether the daemon understands neither the plans nor the commands of this version.
func (c *Client) Outdated(ctx context.Context) (bool, error) {
	r, err := c.report(ctx)
	return err == nil && r.Protocol < protocol, err
}

func (c *Client) report(ctx context.Context) (r report, err error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	body, err := c.do(ctx, http.MethodGet, "/status")
	if err != nil {
		return report{}, err
	}
	if err := json.Unmarshal(body, &r); err != nil {
		return report{}, fmt.Errorf("read status: %w", err)
	}
	return r, nil
}

// Reload makes the daemon read its plan again. Components that did not change keep running.
func (c *Client) Reload(ctx context.Context) error {
	_, err := c.do(ctx, http.MethodPost, "/reload")
	return err
}

// StartComponent starts a stopped component, and those that it needs. Without a name, it starts all of them.
func (c *Client) StartComponent(ctx context.Context, name string) error {
	return c.control(ctx, "start", name)
}

// StopComponent stops a component and those that need it, and returns when they have ended.
func (c *Client) StopComponent(ctx context.Context, name string) error {
	return c.control(ctx, "stop", name)
}

// RestartComponent stops a component and starts it again.
func (c *Client) RestartComponent(ctx context.Context, name string) error {
	return c.control(ctx, "restart", name)
}

func (c *Client) control(ctx context.Context, action, name string) error {
	_, err := c.do(ctx, http.MethodPost, "/components/"+action+"?name="+url.QueryEscape(name))
	return err
}

// Stop stops the daemon and returns when the daemon and all its components have ended. It is not an
// error if no daemon is running.
func (c *Client) Stop(ctx context.Context) error {
	if _, err := c.do(ctx, http.MethodPost, "/stop"); err != nil && !errors.Is(err, ErrNotRunning) {
		return err
	}
	return c.awaitLock(ctx)
}

// AwaitReady returns when every component of the daemon is ready, or every named one. When ctx ends first, the error
// names the components that are not ready.
func (c *Client) AwaitReady(ctx context.Context, names ...string) error {
	var last []Status
	tick := time.NewTicker(probeEvery)
	defer tick.Stop()
	for {
		if _, components, err := c.Status(ctx); err == nil {
			last = slices.DeleteFunc(components, func(s Status) bool { return len(names) > 0 && !slices.Contains(names, s.Name) })
			if allReady(last) {
				return nil
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("wait for components: %w (%s)", ctx.Err(), unready(last))
		}
	}
}

func allReady(components []Status) bool { return len(components) > 0 && unready(components) == "" }

func unready(components []Status) string {
	var names []string
	for _, s := range components {
		if s.Phase != Ready {
			names = append(names, strings.TrimSpace(fmt.Sprintf("%s is %s %s", s.Name, s.Phase, s.Exit)))
		}
	}
	return strings.Join(names, ", ")
}

func (c *Client) do(ctx context.Context, method, path string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, "http://supervisor"+path, nil)
	if err != nil {
		return nil, err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ECONNREFUSED) {
			return nil, ErrNotRunning
		}
		return nil, fmt.Errorf("send request to the supervisor: %w", err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("supervisor: %s", strings.TrimSpace(string(body)))
	}
	return body, err
}

// awaitLock waits until no daemon holds the lock.
func (c *Client) awaitLock(ctx context.Context) error {
	tick := time.NewTicker(probeEvery)
	defer tick.Stop()
	for {
		lock, err := acquire(c.paths.Lock)
		if err == nil || errors.Is(err, os.ErrNotExist) {
			if lock != nil {
				lock.Close()
			}
			return nil
		}
		if !errors.Is(err, ErrRunning) {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("wait for the supervisor to end: %w", ctx.Err())
		}
	}
}
