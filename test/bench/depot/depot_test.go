//go:build bench

package depot

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/sync/errgroup"

	"github.com/akraino-icn/bpa/test/bench/results"
)

// rounds is how often a comparison measures each of its two sides, the depot and its peer. The
// sides alternate, and the medians are compared.
const rounds = 3

func mib(variable string, otherwise int) int64 {
	if n, err := strconv.ParseInt(os.Getenv(variable), 10, 64); err == nil {
		return n << 20
	}
	return int64(otherwise) << 20
}

// TestBenchDepot prints a table of times. The times have no limits, because the load of the machine
// affects them.
func TestBenchDepot(t *testing.T) {
	size := mib("BENCH_MIB", 1024)
	dir := t.TempDir()
	file := filepath.Join(dir, "random")
	makeFile(t, file, size)
	depot := startDepot(t, filepath.Join(dir, "depot"))

	fmt.Printf("\n%-52s %9s %9s %11s\n", fmt.Sprintf("depot, %d MiB, medians of %d", size>>20, rounds), "depot s", "peer s", "throughput")
	line(t, "upload (/v1)", "cp, sha256sum of the copy", 1.2, compare(
		func(n int) { upload(t, depot.url, fmt.Sprintf("up-%d", n), file, size) },
		func(n int) {
			run(t, "sh", "-c", fmt.Sprintf("cp %[1]s %[1]s.copy && sha256sum %[1]s.copy && rm %[1]s.copy", file))
		}))

	nginx := startNginx(t, dir)
	line(t, "download (/files)", "nginx, the same file", 1.0, compare(
		func(int) { download(t, depot.url+"/files/os_images/bench/bench/up-0") },
		func(int) { download(t, nginx.url+"/random") }))

	registry := startPlainRegistry(t, filepath.Join(dir, "registry"))
	layers := makeLayers(t, dir, size)
	line(t, "push (/v2)", "distribution's registry", 1.0, compare(
		func(n int) { push(t, depot.url, n, layers) },
		func(n int) { push(t, registry.url, n, layers) }))
	line(t, "pull (/v2)", "distribution's registry", 1.0, compare(
		func(n int) { pull(t, depot.url, n, pullJobs) },
		func(n int) { pull(t, registry.url, n, pullJobs) }))
	// This row has no goal, because the time depends on the client. The kernel sends the bytes
	// without a copy. When a client on the same machine hashes them, they are not in the
	// processor's cache, so hashing is slow. A single connection has to wait for that client. Over
	// a network, or with several connections, the time depends on the processor time of the server
	// instead.
	line(t, "pull, one layer at a time", "distribution's registry", 0, compare(
		func(n int) { pull(t, depot.url, n, 1) },
		func(n int) { pull(t, registry.url, n, 1) }))
	fmt.Println()
}

// TestBenchDepotMemory uploads a large file to an empty depot, downloads it twice, and checks the
// peak memory of the depot.
func TestBenchDepotMemory(t *testing.T) {
	size := mib("BENCH_MEMORY_MIB", 10240)
	dir := t.TempDir()
	file := filepath.Join(dir, "sparse")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(file, size); err != nil {
		t.Fatal(err)
	}
	depot := startDepot(t, filepath.Join(dir, "depot"))
	upload(t, depot.url, "large", file, size)
	download(t, depot.url+"/files/os_images/bench/bench/large")
	download(t, depot.url+"/v1/baremetalcluster/bench/bench/os_images/large/content")
	peak := depot.peak(t)
	results.Record(t, results.Figure{Table: table, Name: fmt.Sprintf("peak resident memory, %d MiB up, twice down", size>>20), Value: float64(peak), Unit: "MiB", Goal: 64})
	if peak >= 64 {
		t.Errorf("the depot used up to %d MiB of memory; limit 64", peak)
	}
}

// compare measures the depot and its peer alternately, and returns the median times in this order.
func compare(depot, peer func(round int)) [2]time.Duration {
	var spent [2][]time.Duration
	for n := range rounds {
		for side, do := range []func(int){depot, peer} {
			began := time.Now()
			do(n)
			spent[side] = append(spent[side], time.Since(began))
		}
	}
	slices.Sort(spent[0])
	slices.Sort(spent[1])
	return [2]time.Duration{spent[0][rounds/2], spent[1][rounds/2]}
}

// table is the table of all figures of the depot.
const table = "Depot"

// line prints the times of the depot and its peer, and the ratio of their throughputs. It records the
// ratio of the times, which is the inverse. A goal of 0 means that there is none.
func line(t *testing.T, what, peer string, goal float64, took [2]time.Duration) {
	t.Helper()
	depot, other := took[0].Seconds(), took[1].Seconds()
	fmt.Printf("%-52s %9.2f %9.2f %11.2f\n", what, depot, other, other/depot)
	results.Record(t, results.Figure{Table: table, Name: what + ", time", Peer: peer, Value: depot / other, Goal: goal})
}

func makeFile(t *testing.T, path string, size int64) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := io.CopyN(f, rand.Reader, size); err != nil {
		t.Fatal(err)
	}
}

// upload uploads a file with ICN's API: it creates a record, then sends the bytes in one PATCH with
// curl.
func upload(t *testing.T, url, name, file string, size int64) {
	t.Helper()
	kind := url + "/v1/baremetalcluster/bench/bench/os_images"
	record := fmt.Sprintf(`{"owner": "bench", "cluster_name": "bench", "type": "os", "image_name": %q, "image_length": %d}`, name, size)
	resp, err := http.Post(kind, "application/json", strings.NewReader(record))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusCreated {
		t.Fatalf("create %s: %s", name, resp.Status)
	}
	run(t, "curl", "--fail", "--silent", "--show-error", "-X", "PATCH", "-H", "Upload-Offset: 0", "-T", file, kind+"/"+name)
}

func download(t *testing.T, url string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "curl", "--fail", "--silent", "--show-error", "-o", "/dev/null", url)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("download %s: %v\n%s", url, err, out)
	}
}

// makeLayers writes four layers of random bytes to files. All pushes read these files, so that no
// push has the layers in memory when it starts.
func makeLayers(t *testing.T, dir string, size int64) []string {
	t.Helper()
	var files []string
	for n := range 4 {
		file := filepath.Join(dir, fmt.Sprintf("layer-%d", n))
		makeFile(t, file, size/4)
		files = append(files, file)
	}
	return files
}

// push pushes an image to a new repository, so that the client sends every layer.
func push(t *testing.T, url string, n int, files []string) {
	t.Helper()
	image := v1.Image(empty.Image)
	for i, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		content[0], content[1] = byte(n), byte(i) // the bytes differ in each round, so that the registry has none of them
		if image, err = mutate.AppendLayers(image, static.NewLayer(content, types.OCIUncompressedLayer)); err != nil {
			t.Fatal(err)
		}
	}
	ref, user := reference(t, url, n)
	if err := remote.Write(ref, image, user, remote.WithJobs(4)); err != nil {
		t.Fatal(err)
	}
}

// pullJobs is the number of layers that containerd pulls at once (max_concurrent_downloads).
const pullJobs = 3

func pull(t *testing.T, url string, n, jobs int) {
	t.Helper()
	image, err := remote.Image(reference(t, url, n))
	if err != nil {
		t.Fatal(err)
	}
	layers, err := image.Layers()
	if err != nil {
		t.Fatal(err)
	}
	var all errgroup.Group
	all.SetLimit(jobs)
	for _, layer := range layers {
		all.Go(func() error {
			body, err := layer.Compressed()
			if err != nil {
				return err
			}
			_, err = io.Copy(io.Discard, body) // body compares the digest
			return errors.Join(err, body.Close())
		})
	}
	if err := all.Wait(); err != nil {
		t.Fatal(err)
	}
}

// reference returns the reference of the image of round n, and the login in the server's URL. The
// login is anonymous if the URL has no password.
func reference(t *testing.T, server string, n int) (name.Reference, remote.Option) {
	t.Helper()
	parsed, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	user := authn.Anonymous
	if password, ok := parsed.User.Password(); ok {
		user = &authn.Basic{Username: parsed.User.Username(), Password: password}
	}
	ref, err := name.ParseReference(fmt.Sprintf("%s/bench-%d:latest", parsed.Host, n), name.Insecure)
	if err != nil {
		t.Fatal(err)
	}
	return ref, remote.WithAuth(user)
}
