package artifacts

import (
	"context"
	"os"

	"github.com/akraino-icn/bpa/test/lab/osimage"
	"github.com/akraino-icn/bpa/test/lab/pack"
)

// layer is where the gzipped layer of that name is kept.
func (s *Site) layer(name string) string { return s.cache("layers", name+".tar.gz") }

// systemLayer makes a layer of a whole root file system.
func (s *Site) systemLayer(ctx context.Context, system osimage.System) (string, error) {
	out := s.layer("os-" + system.Name)
	return out, s.once("root file system "+system.Name, system.Key(), []string{out}, func() error {
		if err := os.MkdirAll(s.cache(), 0o755); err != nil {
			return err
		}
		tar := s.cache(system.Name + ".tar")
		defer os.Remove(tar)
		if err := system.Build(ctx, tar); err != nil {
			return err
		}
		f, err := os.Open(tar)
		if err != nil {
			return err
		}
		defer f.Close()
		return pack.Compress(out, f)
	})
}

// packedLayer makes a small layer of single entries.
func (s *Site) packedLayer(name, key string, entries ...pack.Entry) (string, error) {
	out := s.layer(name)
	return out, s.once("layer "+name, key, []string{out}, func() error { return pack.Gzip(out, entries) })
}
