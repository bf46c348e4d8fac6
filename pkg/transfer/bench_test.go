package transfer

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/crane"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/akraino-icn/bpa/pkg/artifacts"
	"github.com/akraino-icn/bpa/pkg/depot/depottest"
	"github.com/akraino-icn/bpa/test/bench/results"
)

// BenchmarkSeeding copies 50 images into an empty depot. It then repeats the comparison with the
// depot, which finds nothing to copy. In the same run, crane copies the images one after the other
// into another empty depot.
//
// The metric ratio is the time of the copy divided by the time of crane (goal: at most 0.5). The
// metric again-s is the time of the repeated comparison in seconds (goal: at most 2). The metric
// cpu-ratio is like ratio, but for CPU times, which include those of upstream and depot. On a busy
// machine no CPU is left for parallel work, and ratio approaches cpu-ratio.
//
//	go test ./pkg/transfer -run '^$' -bench Seeding -benchtime 5x
func BenchmarkSeeding(b *testing.B) {
	const images = 50
	for _, setup := range []struct {
		name     string
		families int // number of groups of images, where the images of a group share a base layer
		base     int64
		delay    time.Duration // delay of each answer from upstream
	}{
		{"projects-with-a-common-base", 10, 4 << 20, 0},
		{"nothing-in-common", images, 1 << 20, 0},
		{"nothing-in-common-20ms-away", images, 1 << 20, 20 * time.Millisecond},
	} {
		b.Run(setup.name, func(b *testing.B) {
			net := newInternet(b)
			var list artifacts.List
			for f := range setup.families {
				for n, image := range family(b, images/setup.families, setup.base, 1<<20) {
					list.Images = append(list.Images, net.publish(fmt.Sprintf("project-%d/part-%d:v1", f, n), v1.Image(image)))
				}
			}
			net.delay = setup.delay
			var one, other, again spent
			for b.Loop() {
				copying(b, list, &one)
				seeding(b, list, &other, &again)
			}
			b.ReportMetric(other.time.Seconds()/one.time.Seconds(), "ratio")
			b.ReportMetric(other.cpu.Seconds()/one.cpu.Seconds(), "cpu-ratio")
			b.ReportMetric(one.time.Seconds()/float64(b.N), "crane-s")
			b.ReportMetric(one.cpu.Seconds()/float64(b.N), "crane-cpu-s")
			b.ReportMetric(other.time.Seconds()/float64(b.N), "seed-s")
			b.ReportMetric(other.cpu.Seconds()/float64(b.N), "seed-cpu-s")
			b.ReportMetric(again.time.Seconds()/float64(b.N), "again-s")
			b.ReportMetric(0, "ns/op")
			const table = "Seeding an empty depot with 50 images"
			results.Record(b,
				results.Figure{Table: table, Name: setup.name, Peer: "crane, one image after the other", Value: other.time.Seconds() / one.time.Seconds(), Goal: 0.5},
				results.Figure{Table: table, Name: setup.name + ", second time", Value: again.time.Seconds() / float64(b.N), Unit: "s", Goal: 2})
		})
	}
}

// spent is the elapsed time and the CPU time of the measured functions.
type spent struct{ time, cpu time.Duration }

// measure runs a function and adds the time that it took.
func (s *spent) measure(b *testing.B, work func()) {
	start, used := time.Now(), cpu(b)
	work()
	s.time += time.Since(start)
	s.cpu += cpu(b) - used
}

// cpu returns the CPU time of this process until now. Upstream and depot run in this process too,
// so their time is included.
func cpu(b *testing.B) time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

func copying(b *testing.B, list artifacts.List, took *spent) {
	site := depottest.Start(b)
	took.measure(b, func() {
		for _, image := range list.Images {
			place, err := image.Place()
			if err != nil {
				b.Fatal(err)
			}
			if err := crane.Copy(image.Ref, strings.TrimPrefix(site.URL, "http://")+"/"+place.String()); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func seeding(b *testing.B, list artifacts.List, first, second *spent) {
	site := depottest.Start(b)
	for n, took := range []*spent{first, second} {
		took.measure(b, func() {
			to := connect(b, site)
			want := missing(b, to, list)
			if (n == 1) != want.Nothing() {
				b.Fatalf("time %d: %d are missing", n+1, want.Size())
			}
			if n == 0 {
				if _, err := ToDepot(b.Context(), want.List, upstream(b), to, Options{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
