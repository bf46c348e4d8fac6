package artifacts

import (
	"context"
	"os"

	"github.com/akraino-icn/bpa/test/lab/osimage"
	"github.com/akraino-icn/bpa/test/lab/pack"
)

// layer returns the path of the gzipped layer with this name.
func (b *Builder) layer(name string) string { return b.cache("layers", name+".tar.gz") }

// systemLayer builds a root file system, packs it as a layer and returns the path of the layer.
func (b *Builder) systemLayer(ctx context.Context, system osimage.System) (string, error) {
	out := b.layer("os-" + system.Name)
	return out, b.once("root file system "+system.Name, system.Key(), []string{out}, func() error {
		if err := os.MkdirAll(b.cache(), 0o755); err != nil {
			return err
		}
		tar := b.cache(system.Name + ".tar")
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

// packedLayer packs the entries as a layer and returns its path. The caller must change key when
// the entries change, because the layer is otherwise not packed again.
func (b *Builder) packedLayer(name, key string, entries ...pack.Entry) (string, error) {
	out := b.layer(name)
	return out, b.once("layer "+name, key, []string{out}, func() error { return pack.Gzip(out, entries) })
}
