package process

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestExec(t *testing.T) {
	var stdout, stderr bytes.Buffer
	c := Command{Dir: t.TempDir(), Args: []string{"/bin/sh", "-c", "pwd; echo $WHO >&2; exit 4"}, Env: []string{"WHO=me"}}
	status, err := Exec(context.Background(), KillAfter, c, &stdout, &stderr)
	if status != 4 || err != nil || strings.TrimSpace(stdout.String()) != c.Dir || stderr.String() != "me\n" {
		t.Errorf("Exec() = %d, %v, %q, %q", status, err, &stdout, &stderr)
	}
	killed := Command{Args: []string{"/bin/sh", "-c", "kill -KILL $$"}}
	if status, err := Exec(context.Background(), KillAfter, killed, io.Discard, io.Discard); status != 137 || err != nil {
		t.Errorf("a killed process: %d, %v; want 137", status, err)
	}
	if _, err := Exec(context.Background(), KillAfter, Command{Args: []string{"/nonexistent"}}, io.Discard, io.Discard); err == nil {
		t.Error("a missing program is not an error")
	}
}

// A cancelled run terminates the whole group and leaves no process behind.
func TestExecEndsTheGroup(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	out, in := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		script := `trap 'echo asked; exit 7' TERM; sh -c 'trap "" TERM; echo $$; while :; do sleep 100; done' & wait`
		status, err := Exec(ctx, time.Second, Command{Args: []string{"/bin/sh", "-c", script}}, in, io.Discard)
		in.CloseWithError(fmt.Errorf("ended: %d, %v", status, err))
		ended <- status
	}()
	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		t.Fatal(lines.Err())
	}
	child, err := strconv.Atoi(lines.Text())
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if !lines.Scan() || lines.Text() != "asked" {
		t.Errorf("the leader was not asked to end: %q, %v", lines.Text(), lines.Err())
	}
	for lines.Scan() {
	}
	if status := <-ended; status != 7 {
		t.Errorf("exit status %d, want 7", status)
	}
	for deadline := time.Now().Add(5 * time.Second); alive(child); {
		if time.Now().After(deadline) {
			t.Fatalf("process %d is still there", child)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// alive reports whether a process runs. It returns false for a zombie.
func alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	var status bytes.Buffer
	code, err := Exec(context.Background(), KillAfter, Command{Args: []string{"/bin/grep", "State:", fmt.Sprintf("/proc/%d/status", pid)}}, &status, io.Discard)
	return err == nil && code == 0 && !strings.Contains(status.String(), "Z")
}

// Play closes the connections of its own playbook, and not those of another one.
func TestPlayClosesItsConnections(t *testing.T) {
	programs, own, other := t.TempDir(), t.TempDir(), t.TempDir()
	closed := filepath.Join(programs, "closed")
	for path, content := range map[string]string{
		filepath.Join(programs, "ssh"): "#!/bin/sh\necho \"$@\" >>" + closed + "\n",
		filepath.Join(own, "a"):        "", filepath.Join(other, "b"): "",
	} {
		if err := os.WriteFile(path, []byte(content), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", programs+":"+os.Getenv("PATH"))
	c := Command{Args: []string{"/bin/sh", "-c", "exit 3"}, Env: []string{ControlPaths + "=" + own}}
	if status, err := Play(context.Background(), c, io.Discard, io.Discard); status != 3 || err != nil {
		t.Fatalf("Play() = %d, %v", status, err)
	}
	got, err := os.ReadFile(closed)
	if want := "-O exit -o ControlPath=" + filepath.Join(own, "a") + " host\n"; err != nil || string(got) != want {
		t.Errorf("ssh was called with %q, %v; want %q", got, err, want)
	}
}
