package archive

// Bounds of what an archive has us do. Its lists may name one thing again and
// again, and lists of lists do so more often than anybody can count.
const (
	// maxWork is in bytes of manifests and configs that are looked at, each as
	// often as it is named.
	maxWork = 256 << 20
	// perName is what it costs to look at one that has no bytes.
	perName = 256
	// maxNames is how many references may lead to an archive's images.
	maxNames = 2000
)

// work counts what was looked at.
type work int64

// did adds one manifest or config.
func (w *work) did(size int) error {
	if *w += work(size + perName); *w > maxWork {
		return refuse("it names the same manifests too often: it is a bomb")
	}
	return nil
}

func (p plan) checkNames() error {
	names := 0
	for _, i := range p.images {
		names += len(i.refs)
	}
	if names > maxNames {
		return refuse("it has %d image names, at most %d are taken at once", names, maxNames)
	}
	return nil
}
