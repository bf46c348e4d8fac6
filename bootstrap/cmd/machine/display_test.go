package main

import (
	"strings"
	"testing"
	"time"
)

type progress string

func (s progress) String() string { return string(s) }

func TestDisplayInALogPrintsFewWholeLines(t *testing.T) {
	var out strings.Builder
	began := time.Now()
	d := &display{out: &out, head: "[1/2] build kubernetes", progress: progress("7 of 9 packages compiled"), began: began, next: began.Add(10 * time.Second)}
	for second := range 130 {
		d.tick(began.Add(time.Duration(second) * time.Second))
	}
	want := "[1/2] build kubernetes   10.0s  7 of 9 packages compiled ...\n" +
		"[1/2] build kubernetes   1m10s  7 of 9 packages compiled ...\n"
	if got := out.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	out.Reset()
	d.end("up to date")
	if got := out.String(); strings.Count(got, "\n") != 1 || !strings.HasSuffix(got, "up to date\n") {
		t.Errorf("end printed %q, want one line that ends with the remark", got)
	}
}

func TestDisplayOnATerminalRewritesOneLine(t *testing.T) {
	var out strings.Builder
	began := time.Now()
	d := &display{out: &out, terminal: true, head: "[1/2] build", began: began, next: began}
	for second := range 3 {
		d.tick(began.Add(time.Duration(second) * time.Second))
	}
	if got := out.String(); strings.Contains(got, "\n") || strings.Count(got, "\r\033[K") != 3 {
		t.Errorf("got %q, want one line that is rewritten 3 times", got)
	}
}
