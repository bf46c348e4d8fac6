package referrers

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/distribution/distribution/v3/registry/storage/driver/inmemory"
	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"
	v1 "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/akraino-icn/bpa/pkg/depot/store"
)

const subject = digest.Digest("sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae")

// shelf is a store in which tests write manifests directly, without their blobs.
type shelf struct {
	t *testing.T
	*store.Store
}

func newShelf(t *testing.T) shelf {
	t.Helper()
	s, err := store.Over(t.Context(), inmemory.New())
	if err != nil {
		t.Fatal(err)
	}
	return shelf{t, s}
}

func (s shelf) lay(manifest string) digest.Digest {
	s.t.Helper()
	d := digest.FromString(manifest)
	for at, content := range map[string]string{
		store.BlobPath(d): manifest,
		store.RepositoriesPath + "/app/_manifests/revisions/sha256/" + d.Encoded() + "/link": d.String(),
	} {
		if err := s.Driver.PutContent(s.t.Context(), at, []byte(content)); err != nil {
			s.t.Fatal(err)
		}
	}
	return d
}

func (s shelf) list(q Query) (v1.Index, digest.Digest) {
	s.t.Helper()
	q.Repository, q.Subject = "app", subject
	page, err := List(s.t.Context(), s.Store, q)
	if err != nil {
		s.t.Fatal(err)
	}
	if len(page.Body) > maxBytes {
		s.t.Errorf("a page has %d bytes, more than a client need take", len(page.Body))
	}
	var index v1.Index
	if err := json.Unmarshal(page.Body, &index); err != nil {
		s.t.Fatal(err)
	}
	if index.SchemaVersion != 2 || index.MediaType != v1.MediaTypeImageIndex || index.Manifests == nil {
		s.t.Errorf("it is not an index: %s", page.Body)
	}
	return index, page.Next
}

// all reads all pages, and returns the referrers and the number of pages.
func (s shelf) all(q Query) (found []v1.Descriptor, pages int) {
	s.t.Helper()
	for {
		index, next := s.list(q)
		found, pages = append(found, index.Manifests...), pages+1
		if next == "" {
			return found, pages
		}
		if next <= q.After {
			s.t.Fatalf("the page after %s ends at %s", q.After, next)
		}
		q.After = next
	}
}

const refers = `"subject":{"mediaType":"application/vnd.oci.image.manifest.v1+json","digest":"` + string(subject) + `","size":3}`

func TestHowAManifestIsListed(t *testing.T) {
	const image, index, docker = v1.MediaTypeImageManifest, v1.MediaTypeImageIndex, "application/vnd.docker.distribution.manifest.v2+json"
	for manifest, want := range map[string]*v1.Descriptor{
		`{"mediaType":"` + image + `","artifactType":"a/b","config":{"mediaType":"c/d"},"annotations":{"k":"v"},` + refers + `}`: {
			MediaType: image, ArtifactType: "a/b", Annotations: map[string]string{"k": "v"},
		},
		`{"mediaType":"` + image + `","config":{"mediaType":"c/d"},` + refers + `}`:                          {MediaType: image, ArtifactType: "c/d"},
		`{"mediaType":"` + index + `","artifactType":"a/b","manifests":[],` + refers + `}`:                   {MediaType: index, ArtifactType: "a/b"},
		`{"mediaType":"` + index + `","manifests":[],` + refers + `}`:                                        {MediaType: index},
		`{"config":{"mediaType":"c/d"},` + refers + `}`:                                                      {MediaType: image, ArtifactType: "c/d"},
		`{"manifests":[],` + refers + `}`:                                                                    {MediaType: index},
		`{"mediaType":"` + docker + `","config":{"mediaType":"c/d"},` + refers + `}`:                         nil,
		`{"mediaType":"` + image + `","config":{"mediaType":"c/d"}}`:                                         nil,
		`{"mediaType":"` + image + `","subject":{"digest":"` + digest.FromString("another").String() + `"}}`: nil,
	} {
		s := newShelf(t)
		d := s.lay(manifest)
		got, _ := s.list(Query{})
		expected := []v1.Descriptor{}
		if want != nil {
			want.Digest, want.Size = d, int64(len(manifest))
			expected = append(expected, *want)
		}
		if diff := cmp.Diff(expected, got.Manifests); diff != "" {
			t.Errorf("%s (-want +got):\n%s", manifest, diff)
		}
	}
}

func TestOneTypeOfReferrers(t *testing.T) {
	s := newShelf(t)
	wanted := s.lay(`{"artifactType":"a/b",` + refers + `}`)
	s.lay(`{"artifactType":"a/c",` + refers + `}`)
	s.lay(`{` + refers + `}`)
	got, _ := s.all(Query{ArtifactType: "a/b"})
	if len(got) != 1 || got[0].Digest != wanted {
		t.Errorf("of type a/b there are %v, want %s", got, wanted)
	}
}

// The size of a page is limited, and no referrer is missing or listed twice.
func TestLongListsComeInPages(t *testing.T) {
	s := newShelf(t)
	var want []digest.Digest
	for n := range 9 {
		want = append(want, s.lay(fmt.Sprintf(`{"annotations":{"n":"%d %s"},%s}`, n, strings.Repeat("a", 1<<20), refers)))
	}
	slices.Sort(want)
	got, pages := s.all(Query{})
	if diff := cmp.Diff(want, digests(got)); diff != "" || pages != 3 {
		t.Errorf("%d pages, want 3 (-want +got):\n%s", pages, diff)
	}
}

func TestManyReferrersComeInPages(t *testing.T) {
	s := newShelf(t)
	var want []digest.Digest
	for n := range maxRead + 5 {
		want = append(want, s.lay(fmt.Sprintf(`{"artifactType":"a/%d",%s}`, n, refers)))
	}
	slices.Sort(want)
	got, pages := s.all(Query{})
	if diff := cmp.Diff(want, digests(got)); diff != "" || pages != 2 {
		t.Errorf("%d pages, want 2 (-want +got):\n%s", pages, diff)
	}
	if got, pages := s.all(Query{ArtifactType: "a/7"}); len(got) != 1 || pages != 2 {
		t.Errorf("one type: %d in %d pages", len(got), pages)
	}
}

// Manifests that the filter does not select also count towards the limits of one page.
func TestLittleIsReadForAPage(t *testing.T) {
	s := newShelf(t)
	const pieces, each = 33, 2 << 20
	for n := range pieces {
		s.lay(fmt.Sprintf(`{"artifactType":"a/b","annotations":{"n":"%d %s"},%s}`, n, strings.Repeat("a", each), refers))
	}
	if got, pages := s.all(Query{ArtifactType: "a/c"}); len(got) != 0 || pages != 2 {
		t.Errorf("%d of another type in %d pages, want none in 2", len(got), pages)
	}
}

// A manifest may be as large as a page.
func TestAReferrerThatFillsAPageIsListedWithoutItsAnnotations(t *testing.T) {
	s := newShelf(t)
	d := s.lay(`{"annotations":{"all":"` + strings.Repeat("a", maxBytes-envelope) + `"},` + refers + `}`)
	got, _ := s.all(Query{})
	if len(got) != 1 || got[0].Digest != d || got[0].Annotations != nil {
		t.Errorf("%d are listed", len(got))
	}
}

// A crash may leave a link without its manifest, and the list that a client writes may be wrong.
func TestWhatIsNotThereIsNotListed(t *testing.T) {
	s := newShelf(t)
	there := s.lay(`{` + refers + `}`)
	s.list(Query{})
	gone := digest.FromString("gone")
	if err := s.Driver.PutContent(t.Context(), store.ReferrerLink("app", subject, gone), []byte(gone)); err != nil {
		t.Fatal(err)
	}
	lie := s.lay(`{"artifactType":"of/another"}`)
	if err := s.Driver.PutContent(t.Context(), store.ReferrerLink("app", subject, lie), []byte(lie)); err != nil {
		t.Fatal(err)
	}
	if got, _ := s.all(Query{}); len(got) != 1 || got[0].Digest != there {
		t.Errorf("listed are %v, want %s", digests(got), there)
	}
}

func digests(of []v1.Descriptor) []digest.Digest {
	var all []digest.Digest
	for _, desc := range of {
		all = append(all, desc.Digest)
	}
	return all
}
