package carry

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/crane"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/akraino-icn/bpa/pkg/artifacts"
	"github.com/akraino-icn/bpa/pkg/artifacts/depottest"
)

// BenchmarkSeeding brings 50 images into an empty depot, and does so again with nothing to do; beside it, in the same run, crane copies them one
// after the other into another empty depot. Metrics: ratio of the two (goal at most 0.5), seconds of the second time (goal at most 2).
//
//	go test ./pkg/artifacts/carry -run '^$' -bench Seeding -benchtime 3x
func BenchmarkSeeding(b *testing.B) {
	const images = 50
	for _, world := range []struct {
		name     string
		families int // of images that share a base layer
		base     int64
		delay    time.Duration // of each answer from upstream
	}{
		{"projects-with-a-common-base", 10, 4 << 20, 0},
		{"nothing-in-common", images, 1 << 20, 0},
		{"nothing-in-common-20ms-away", images, 1 << 20, 20 * time.Millisecond},
	} {
		b.Run(world.name, func(b *testing.B) {
			net := newInternet(b)
			var list artifacts.List
			for f := range world.families {
				for n, image := range family(b, images/world.families, world.base, 1<<20) {
					list.Images = append(list.Images, net.publish(fmt.Sprintf("project-%d/part-%d:v1", f, n), v1.Image(image)))
				}
			}
			net.delay = world.delay
			var one, other, again time.Duration
			for b.Loop() {
				one += copying(b, list)
				first, second := seeding(b, list)
				other, again = other+first, again+second
			}
			b.ReportMetric(float64(other)/float64(one), "ratio")
			b.ReportMetric(one.Seconds()/float64(b.N), "crane-s")
			b.ReportMetric(other.Seconds()/float64(b.N), "seed-s")
			b.ReportMetric(again.Seconds()/float64(b.N), "again-s")
			b.ReportMetric(0, "ns/op")
		})
	}
}

func copying(b *testing.B, list artifacts.List) time.Duration {
	site := depottest.Start(b)
	start := time.Now()
	for _, image := range list.Images {
		place, err := image.Place()
		if err != nil {
			b.Fatal(err)
		}
		if err := crane.Copy(image.Ref, strings.TrimPrefix(site.URL, "http://")+"/"+place.String()); err != nil {
			b.Fatal(err)
		}
	}
	return time.Since(start)
}

func seeding(b *testing.B, list artifacts.List) (first, second time.Duration) {
	site := depottest.Start(b)
	for n, took := range []*time.Duration{&first, &second} {
		start := time.Now()
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
		*took = time.Since(start)
	}
	return first, second
}
