package supervisor

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"
)

func TestOneDaemonRunsUntilItIsStopped(t *testing.T) {
	f := newFixture(t)
	dir := t.TempDir()
	p := Paths{Plan: filepath.Join(dir, "plan.json"), Socket: filepath.Join(dir, "s"), Lock: filepath.Join(dir, "lock"), Logs: filepath.Join(dir, "log")}
	client := NewClient(p)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if _, _, err := client.Status(ctx); !errors.Is(err, ErrNotRunning) {
		t.Errorf("status without a daemon: %v, want ErrNotRunning", err)
	}

	plan := Plan{Components: []Component{f.fake("api", "server")}}
	if err := plan.Write(p.Plan); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- Serve(ctx, p, Hooks{}) }()
	if err := client.AwaitReady(ctx); err != nil {
		t.Fatal(err)
	}
	if err := Serve(ctx, p, Hooks{}); !errors.Is(err, ErrRunning) {
		t.Errorf("second daemon: %v, want ErrRunning", err)
	}

	plan.Components = append(plan.Components, f.fake("node", "server", "api"))
	if err := plan.Write(p.Plan); err != nil {
		t.Fatal(err)
	}
	if err := client.Reload(ctx); err != nil {
		t.Fatal(err)
	}
	if err := client.AwaitReady(ctx); err != nil {
		t.Fatal(err)
	}
	if _, list, err := client.Status(ctx); err != nil || len(list) != 2 || list[1].Name != "node" {
		t.Errorf("after the reload: %+v, %v; want api and node", list, err)
	}

	if err := client.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Errorf("daemon ended with %v", err)
	}
	if err := client.Stop(ctx); err != nil {
		t.Errorf("stopping twice: %v", err)
	}
}
