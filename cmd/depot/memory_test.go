package main

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
)

// mostMemory is the most resident memory, in KiB, that the depot may use while it receives and
// sends files of any size.
const mostMemory = 64 << 10

// TestMemoryDoesNotGrowWithTheFile sends a file to each API and back, and then reads the depot's
// peak resident memory. DEPOT_MIB sets another file size.
func TestMemoryDoesNotGrowWithTheFile(t *testing.T) {
	mib := int64(1 << 10)
	if n, err := strconv.ParseInt(os.Getenv("DEPOT_MIB"), 10, 64); err == nil {
		mib = n
	}
	p := start(t, t.TempDir())
	url := "http://" + p.address
	whole := url + "/v1/baremetalcluster/o/c/os_images/whole/content"
	sum := putStream(t, whole, mib<<20, http.StatusCreated)
	pieces := url + "/v1/baremetalcluster/o/c/os_images/pieces"
	sendPieces(t, url, pieces, mib<<19)
	putStream(t, url+"/files/plain", mib<<18, http.StatusCreated)
	for _, from := range []string{whole, url + "/files/os_images/o/c/whole", url + "/v2/bpa-depot/artifacts/o/c/os_images/whole/blobs/sha256:" + sum} {
		if got, status := fetch(t, from); status != http.StatusOK || got != sum {
			t.Errorf("%s = %d with sha256 %s, want %s", from, status, got, sum)
		}
	}
	most := peak(t, p.Process.Pid)
	t.Logf("%d MiB in and out: %d KiB resident at most", mib, most)
	if most > mostMemory {
		t.Errorf("the depot had %d KiB resident, more than %d", most, mostMemory)
	}
}

// stream produces bytes that do not compress, without keeping them in memory.
type stream struct {
	left int64
	n    uint64
}

func (s *stream) Read(p []byte) (int, error) {
	if s.left == 0 {
		return 0, io.EOF
	}
	p = p[:min(int64(len(p)), s.left)]
	for i := 0; i+8 <= len(p); i += 8 {
		s.n += 0x9e3779b97f4a7c15
		for j := range 8 {
			p[i+j] = byte(s.n >> (8 * j))
		}
	}
	s.left -= int64(len(p))
	return len(p), nil
}

func putStream(t *testing.T, url string, size int64, want int) (sum string) {
	t.Helper()
	h := sha256.New()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, url, io.TeeReader(&stream{left: size}, h))
	if err != nil {
		t.Fatal(err)
	}
	req.ContentLength = size
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if text, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode != want {
		t.Fatalf("PUT %s = %d %s, %v", url, resp.StatusCode, text, err)
	}
	return hex.EncodeToString(h.Sum(nil))
}

func sendPieces(t *testing.T, url, image string, size int64) {
	t.Helper()
	record := fmt.Sprintf(`{"owner": "o", "image_name": "pieces", "image_length": %d}`, size)
	if err := ask(t.Context(), http.MethodPost, url+"/v1/baremetalcluster/o/c/os_images", strings.NewReader(record), http.StatusCreated, "Content-Type", "application/json"); err != nil {
		t.Fatal(err)
	}
	content := &stream{left: size}
	const piece = 64 << 20
	for at := int64(0); at < size; at += piece {
		if err := ask(t.Context(), http.MethodPatch, image, io.LimitReader(content, piece), http.StatusNoContent, "Upload-Offset", strconv.FormatInt(at, 10)); err != nil {
			t.Fatal(err)
		}
	}
}

// peak returns the peak resident memory of a process, in KiB.
func peak(t *testing.T, pid int) int64 {
	t.Helper()
	f, err := os.Open(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if fields := strings.Fields(lines.Text()); len(fields) == 3 && fields[0] == "VmHWM:" {
			n, err := strconv.ParseInt(fields[1], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Fatal("no VmHWM: this test needs Linux")
	return 0
}
