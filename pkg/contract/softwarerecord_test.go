package contract

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// recordOf returns the record of nodes that all have the same packages.
func recordOf(nodes, packages int) SoftwareRecord {
	r, at := SoftwareRecord{Asked: "2026-11-22T10:00:00Z check"}, time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC)
	for i := range nodes {
		n := SoftwareNode{Node: fmt.Sprintf("worker-%d", i), Host: fmt.Sprintf("6f1c3f1e-0000-4000-8000-%012d", i), Checked: at.Add(time.Duration(i) * time.Second), Tried: at}
		for k := range packages {
			file := SoftwareFile{SHA256: fmt.Sprintf("%064d", k)}
			n.Packages = append(n.Packages, SoftwarePackage{Name: fmt.Sprintf("package-%d", k), Wanted: "1.2.3-4", Installed: "1.2.3-4", State: SoftwareInstalled, Since: at,
				Ours: true, Format: "deb", Intent: SoftwareIntent(Software{Version: "1.2.3-4", Files: []SoftwareFile{file}})})
		}
		r.Nodes = append(r.Nodes, n)
	}
	return r
}

// A record is read as it was written. A short one is plain JSON, as earlier releases write all of them.
func TestSoftwareRecordEncode(t *testing.T) {
	for _, nodes := range []int{0, 1, 1000} {
		r := recordOf(nodes, 20)
		value, err := r.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if got, err := ParseSoftwareRecord(value); err != nil || cmp.Diff(r, got) != "" {
			t.Errorf("%d nodes: %v, %s", nodes, err, cmp.Diff(r, got))
		}
		if compressed := strings.HasPrefix(value, gzipRecord); compressed != (nodes == 1000) || len(value) > 900<<10 {
			t.Errorf("%d nodes: compressed %t, %d bytes", nodes, compressed, len(value))
		}
	}
	plain, err := json.Marshal(recordOf(200, 20)) // by an earlier release, which did not compress
	if err != nil {
		t.Fatal(err)
	}
	if got, err := ParseSoftwareRecord(string(plain)); err != nil || len(plain) <= mostPlainRecord || len(got.Nodes) != 200 {
		t.Errorf("a plain record of %d bytes: %v, %d nodes", len(plain), err, len(got.Nodes))
	}
}

// A damaged record is an error, and one that is too long when it is unpacked is not unpacked.
func TestParseSoftwareRecordRefuses(t *testing.T) {
	var bomb bytes.Buffer
	w := gzip.NewWriter(&bomb)
	for range mostRecordJSON>>20 + 1 {
		if _, err := w.Write(bytes.Repeat([]byte(" "), 1<<20)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for value, want := range map[string]string{
		gzipRecord + "AAAA": "EOF",
		gzipRecord + "!":    "EOF",
		"{":                 "JSON",
		gzipRecord + base64.StdEncoding.EncodeToString(bomb.Bytes()): "more than",
	} {
		if _, err := ParseSoftwareRecord(value); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: %v, want %q", value, err, want)
		}
	}
}

func BenchmarkSoftwareRecord(b *testing.B) {
	r := recordOf(1000, 20)
	value, err := r.Encode()
	if err != nil {
		b.Fatal(err)
	}
	b.Run("encode", func(b *testing.B) {
		b.ReportMetric(float64(len(value)), "bytes")
		for b.Loop() {
			if _, err := r.Encode(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("parse", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := ParseSoftwareRecord(value); err != nil {
				b.Fatal(err)
			}
		}
	})
}
