package garbage

import (
	"encoding/binary"
	"encoding/hex"
	"runtime"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/akraino-icn/bpa/pkg/depot/store"
)

// A depot of a million blobs is much larger than any site's. The pod of the depot has 256 MiB.
func TestAMillionBlobsFitInMemory(t *testing.T) {
	const blobs, most = 1_000_000, 64 << 20
	heap := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := heap()
	c := &collector{used: map[store.Key]Kind{}}
	var raw [32]byte
	for i := range uint64(blobs) {
		binary.BigEndian.PutUint64(raw[:], i*0x9e3779b97f4a7c15) // spread over all values, as digests are
		c.use(digest.NewDigestFromEncoded(digest.SHA256, hex.EncodeToString(raw[:])), Images)
	}
	used := heap() - before
	t.Logf("%d blobs need %d bytes, %.1f for each", len(c.used), used, float64(used)/blobs)
	if len(c.used) != blobs || used > most {
		t.Errorf("%d blobs in %d bytes, want %d in at most %d", len(c.used), used, blobs, most)
	}
	runtime.KeepAlive(c)
}
