package protocol

import (
	"strings"
	"testing"

	"github.com/distribution/reference"
)

func TestRepositoryIsLegalAndReadBack(t *testing.T) {
	for _, name := range []string{
		"a", "x", "X", "xX", "xx", "xXx", "Ubuntu-18.04.img", "a..b", "a--b", "a.-b", "a_b", "a__41", "x__41", "a.", "a-", "qat:1.7+deb@x=y,z~1", "0",
	} {
		r := Ref{"Owner.1", "c-1", OSImages, name}
		if err := r.Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if _, err := reference.WithName(r.Repository()); err != nil {
			t.Errorf("%s: repository %s: %v", name, r.Repository(), err)
		}
		if got, ok := ParseRepository(r.Repository()); !ok || got != r {
			t.Errorf("%s: read back as %v, %t", name, got, ok)
		}
		if got, ok := ParseFilePath(r.FilePath()); !ok || got != r {
			t.Errorf("%s: file path read back as %v, %t", name, got, ok)
		}
	}
}

func TestBadNamesAreExplained(t *testing.T) {
	good := Ref{"o", "c", BinaryImages, "n"}
	for want, change := range map[string]func(*Ref){
		"owner is missing":      func(r *Ref) { r.Owner = "" },
		"cluster_name":          func(r *Ref) { r.Cluster = "../c" },
		"kind \"images\"":       func(r *Ref) { r.Kind = "images" },
		"image_name \"a/b\"":    func(r *Ref) { r.Name = "a/b" },
		"image_name \"..\"":     func(r *Ref) { r.Name = ".." },
		"image_name \"a\\x00\"": func(r *Ref) { r.Name = "a\x00" },
		"129 characters":        func(r *Ref) { r.Name = strings.Repeat("a", 129) },
		"fewer capitals":        func(r *Ref) { r.Name = strings.Repeat("A", 100) },
	} {
		r := good
		change(&r)
		if err := r.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: error %v, want one about %s", r, err, want)
		}
	}
}

func FuzzRepositoryIsInjective(f *testing.F) {
	f.Add("a", "A")
	f.Add("x__41", "xA")
	f.Add("a.b", "a__2eb")
	f.Add("X", "x")
	f.Fuzz(func(t *testing.T, one, other string) {
		if one == "" || other == "" {
			return // an empty name is not valid
		}
		if one != other && Escape(one) == Escape(other) {
			t.Fatalf("%q and %q share %q", one, other, Escape(one))
		}
		if got, ok := Unescape(Escape(one)); !ok || got != one {
			t.Fatalf("%q comes back as %q, %t", one, got, ok)
		}
		if _, err := reference.WithName("p/" + Escape(one)); err != nil && len(Escape(one)) < 250 {
			t.Fatalf("%q: %q is not a legal component: %v", one, Escape(one), err)
		}
	})
}

func FuzzParseRepositoryAcceptsOnlyWhatRepositoryMakes(f *testing.F) {
	f.Add(Ref{"o", "c", OSImages, "Img.1"}.Repository())
	f.Add(Artifacts + "/o/c/os_images/x__4")
	f.Fuzz(func(t *testing.T, repository string) {
		if r, ok := ParseRepository(repository); ok && r.Repository() != repository {
			t.Fatalf("%q is read as %v, whose repository is %q", repository, r, r.Repository())
		}
	})
}
