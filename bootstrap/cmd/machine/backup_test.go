package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/akraino-icn/bpa/bootstrap/internal/backup"
	"github.com/akraino-icn/bpa/bootstrap/internal/layout"
	"github.com/akraino-icn/bpa/bootstrap/internal/target/targettest"
)

// configured returns a machine on which an operator has configured backups, with the commands of docs/site.md.
func configured(t *testing.T) (layout.Layout, backup.Settings) {
	t.Helper()
	l := layout.Layout{Root: t.TempDir()}
	if err := l.Claim(); err != nil {
		t.Fatal(err)
	}
	if out, err := runCommand(t, l, "backup"); err == nil || !strings.Contains(err.Error(), "run `machine backup configure`") {
		t.Errorf("backup before configure: %v\n%s", err, out)
	}
	public, err := runCommand(t, l, "backup", "key", filepath.Join(t.TempDir(), "key"))
	if err != nil {
		t.Fatal(err)
	}
	to := t.TempDir()
	if _, err := runCommand(t, l, "backup", "configure", "--recipient", strings.TrimSpace(public), "--to", to, "--same-disk", "--keep", "3"); err != nil {
		t.Fatal(err)
	}
	if _, err := runCommand(t, l, "backup", "configure", "--every", "12h"); err != nil {
		t.Fatal(err)
	}
	s, err := backup.ReadSettings(l)
	if want := (backup.Settings{Recipient: strings.TrimSpace(public), To: to, Every: "12h", Keep: 3, SameDisk: true}); err != nil || s != want {
		t.Errorf("%+v, %v, want %+v", s, err, want)
	}
	return l, s
}

func TestBackupsAreConfigured(t *testing.T) {
	l, s := configured(t)
	for _, with := range []bool{true, false} {
		if _, err := runCommand(t, l, "backup", "configure", fmt.Sprintf("--with-backups=%t", with)); err != nil {
			t.Fatal(err)
		}
		if _, err := runCommand(t, l, "backup", "configure", "--keep", "3"); err != nil {
			t.Fatal(err)
		}
		if s, err := backup.ReadSettings(l); err != nil || s.Backups != with {
			t.Errorf("%+v, %v", s, err)
		}
	}
	if out, err := runCommand(t, l, "backup", "list"); err != nil || out != "TIME  KIND  FILE\n" {
		t.Errorf("%q, %v", out, err)
	}
	if _, err := runCommand(t, l, "restore-backups"); err == nil || !strings.Contains(err.Error(), "admin.crt") { // there are no keys
		t.Errorf("%v", err)
	}
	if _, err := runCommand(t, l, "backup"); err == nil || !strings.Contains(err.Error(), "apiserver-etcd.crt") { // there are no keys
		t.Errorf("%v", err)
	}
	if entries, err := os.ReadDir(s.To); err != nil || len(entries) != 0 {
		t.Errorf("%v, %v", entries, err)
	}
	if _, err := runCommand(t, layout.Layout{Root: t.TempDir()}, "backup", "configure", "--to", s.To, "--recipient", s.Recipient); err == nil {
		t.Error("a folder without a machine gets settings")
	}
}

// A server is configured by its address and two files. Another address forgets them: they are for one server.
func TestBackupsToAServerAreConfigured(t *testing.T) {
	l, folder := configured(t)
	server := targettest.StartRegistry(t)
	address := "oci://" + server.Address + "/" + targettest.Repository
	login := server.Login(t, "admin", targettest.Password)
	if out, err := runCommand(t, l, "backup", "configure", "--to", address, "--ca", server.CA); err == nil || !strings.Contains(err.Error(), "--credentials") {
		t.Errorf("%q, %v", out, err)
	}
	if _, err := runCommand(t, l, "backup", "configure", "--to", address, "--ca", server.CA, "--credentials", login); err != nil {
		t.Fatal(err)
	}
	if _, err := runCommand(t, l, "backup", "configure", "--keep", "5"); err != nil {
		t.Fatal(err)
	}
	want := backup.Settings{Recipient: folder.Recipient, To: address, Every: "12h", Keep: 5, Credentials: login, CA: server.CA}
	if s, err := backup.ReadSettings(l); err != nil || s != want {
		t.Errorf("%+v, %v, want %+v", s, err, want)
	}
	if out, err := runCommand(t, l, "backup", "list"); err != nil || out != "TIME  KIND  FILE\n" {
		t.Errorf("%q, %v", out, err)
	}
	if _, err := runCommand(t, l, "backup", "--with-depot"); err == nil || !strings.Contains(err.Error(), "copied to folders only") {
		t.Errorf("%v", err)
	}

	empty := layout.Layout{Root: t.TempDir()}
	if _, err := runCommand(t, empty, "backup", "list", "--to", address, "--ca", server.CA, "--credentials", login); err != nil {
		t.Errorf("on an empty machine: %v", err)
	}
	key := filepath.Join(t.TempDir(), "key")
	if _, err := runCommand(t, empty, "backup", "key", key); err != nil {
		t.Fatal(err)
	}
	if _, err := runCommand(t, l, "backup", "configure", "--to", "oci://127.0.0.1:1/"+targettest.Repository); err == nil || !strings.Contains(err.Error(), "127.0.0.1:1 does not answer") {
		t.Errorf("%v", err)
	}
	if s, err := backup.ReadSettings(l); err != nil || s != want {
		t.Errorf("settings that were refused are stored: %+v, %v", s, err)
	}
	if _, err := runCommand(t, l, "backup", "configure", "--to", folder.To, "--same-disk"); err != nil {
		t.Error(err)
	}
	if s, err := backup.ReadSettings(l); err != nil || s.Credentials != "" || s.CA != "" {
		t.Errorf("%+v, %v", s, err)
	}
}

// The schedule starts a process when a backup is due, and no second one while it runs.
func TestTheScheduleStartsBackups(t *testing.T) {
	l, _ := configured(t)
	calls := filepath.Join(t.TempDir(), "calls")
	if err := os.WriteFile(calls, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	fifo := calls + ".fifo"
	write(t, l.Bin("machine"), "#!/bin/sh\necho \"$@\" $BPA_STATE >>"+calls+"\nmkfifo "+fifo+"\ncat "+fifo+"\n")
	var s schedule
	now := time.Now()
	for range 3 {
		if err := s.tick(t.Context(), l, now); err != nil {
			t.Fatal(err)
		}
	}
	await(t, "the end of the backup", func() bool { // which runs until somebody writes to its fifo
		file, err := os.OpenFile(fifo, os.O_WRONLY|unix.O_NONBLOCK, 0)
		if err == nil {
			file.Close()
		}
		return !s.running.Load()
	})
	if text, err := os.ReadFile(calls); err != nil || string(text) != "backup --scheduled "+l.Root+"\n" {
		t.Errorf("calls %q, %v", text, err)
	}
	write(t, l.BackupRecord(), `{"time": "`+now.Format(time.RFC3339)+`"}`)
	if err := s.tick(t.Context(), l, now.Add(time.Hour)); err != nil || s.running.Load() {
		t.Errorf("a backup that is not due: %v", err)
	}
	write(t, l.BackupSettings(), "recipient: x")
	if err := s.tick(t.Context(), l, now.Add(24*time.Hour)); err == nil || s.running.Load() {
		t.Error("damaged settings are not reported")
	}
	if err := s.tick(t.Context(), layout.Layout{Root: t.TempDir()}, now); err != nil {
		t.Errorf("without settings: %v", err)
	}
}

func await(t *testing.T, what string, done func() bool) {
	t.Helper()
	limit, tick := time.After(20*time.Second), time.NewTicker(20*time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-tick.C:
		case <-limit:
			t.Fatalf("timed out: %s", what)
		}
	}
}

// `up` changes no component of a machine that should be backed up and cannot be.
func TestUpNeedsTheBackup(t *testing.T) {
	l := layout.Layout{Root: t.TempDir()}
	if remark, err := backupBeforeUp(t.Context(), l); err != nil || !strings.Contains(remark, "not configured") {
		t.Errorf("%q, %v", remark, err)
	}
	l, _ = configured(t)
	if remark, err := backupBeforeUp(t.Context(), l); err != nil || remark != "nothing to back up yet" {
		t.Errorf("%q, %v", remark, err)
	}
	write(t, l.Data("etcd", "member", "db"), "")
	_, err := backupBeforeUp(t.Context(), l)
	for _, want := range []string{"run `machine start` first", "no component was changed", "machine up --no-backup"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	write(t, l.BackupSettings(), "recipient: x")
	if _, err := backupBeforeUp(t.Context(), l); err == nil || !strings.Contains(err.Error(), "--no-backup") {
		t.Errorf("damaged settings: %v", err)
	}
}
