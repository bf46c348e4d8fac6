package archive

// These constants bound the work that an archive can cause. Its lists may name the same object many
// times, and nested lists multiply that number.
const (
	// maxWork limits the total size, in bytes, of the manifests and configs that the archive names.
	// An object that is named several times counts each time.
	maxWork = 256 << 20
	// perName is added, in bytes, to the size of an object each time it is named.
	perName = 256
	// maxNames is the largest number of references to an archive's images.
	maxNames = 2000
)

// work is the total size, in bytes, of the manifests and configs counted so far, plus perName for
// each. It may not exceed maxWork.
type work int64

// did counts one manifest or config of size bytes.
func (w *work) did(size int) error {
	if *w += work(size + perName); *w > maxWork {
		return refuse("it names the same manifests too often, as a decompression bomb does")
	}
	return nil
}

func (p plan) checkNames() error {
	names := 0
	for _, i := range p.images {
		names += len(i.refs)
	}
	if names > maxNames {
		return refuse("it has %d image names, but an archive may have at most %d", names, maxNames)
	}
	return nil
}
