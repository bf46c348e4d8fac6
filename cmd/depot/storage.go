package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/akraino-icn/bpa/pkg/depot"
	"github.com/akraino-icn/bpa/pkg/depot/limits"
	"github.com/akraino-icn/bpa/pkg/depot/store"
	"github.com/akraino-icn/bpa/pkg/depot/store/bucket"
)

// storage holds the flags that say where the store is and how much it may contain.
type storage struct {
	limits limits.Limits
	grace  time.Duration
	s3     bucket.At
}

func (s *storage) flags(set *flag.FlagSet) {
	s.limits = limits.Limits{MaxUpload: 64 << 30, MaxOpen: 256, Expiry: 7 * 24 * time.Hour, MinFree: 1 << 30}
	set.Var((*size)(&s.limits.MaxUpload), "max-upload", "largest upload, and largest unpacked size of an archive (bytes, or with KiB, MiB, GiB, TiB; 0: no limit)")
	set.IntVar(&s.limits.MaxOpen, "max-open-uploads", s.limits.MaxOpen, "maximum number of unfinished uploads and pushes at a time (0: no limit)")
	set.DurationVar(&s.limits.Expiry, "upload-expiry", s.limits.Expiry, "how long an unfinished upload may receive no data before the depot removes it (0: forever)")
	set.Var((*size)(&s.limits.Quota), "quota", "maximum space that images, uploads and plain files may use together (0: no limit)")
	set.Var((*size)(&s.limits.MinFree), "min-free", "disk space below --root that uploads must leave free; with --s3-bucket only plain files use that disk")
	set.Var((*size)(&s.limits.BackupReserve), "backup-reserve", "space that only Backups may use, of the quota and of the disk, in addition to --min-free (0: none)")
	set.Var((*size)(&s.limits.NamespaceShare), "namespace-share", "maximum size of the artifacts of one owner, Backups included (0: no limit)")
	s.grace = depot.DefaultGrace
	set.DurationVar(&s.grace, "gc-grace", s.grace, "how long a garbage collection of the running depot keeps content that a client has sent and that nothing refers to; a push that takes longer may have to begin again")
	s.where(set)
}

// where registers the flags that say where the store is.
func (s *storage) where(set *flag.FlagSet) {
	set.StringVar(&s.s3.Bucket, "s3-bucket", "", "keep images and uploads in this bucket, which must exist; plain files stay below --root. Credentials: environment variables AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")
	set.StringVar(&s.s3.Endpoint, "s3-endpoint", "", "URL of the S3 server; empty: AWS")
	set.StringVar(&s.s3.Region, "s3-region", "us-east-1", "region of the bucket")
	set.StringVar(&s.s3.Prefix, "s3-prefix", "", "path within the bucket")
}

func (s *storage) options() []depot.Option {
	options := []depot.Option{depot.WithLimits(s.limits), depot.WithGrace(s.grace)}
	if s.s3.Bucket != "" {
		s.s3.Plain = strings.HasPrefix(s.s3.Endpoint, "http://")
		options = append(options, depot.WithS3(s.s3))
	}
	return options
}

// open opens the store for a maintenance command, without starting a depot.
func (s *storage) open(ctx context.Context, root string) (*store.Store, error) {
	if s.s3.Bucket == "" {
		return store.OnDisk(ctx, filepath.Join(root, depot.RegistryDir))
	}
	s.s3.Plain = strings.HasPrefix(s.s3.Endpoint, "http://")
	return bucket.Open(ctx, s.s3)
}

// size is a number of bytes, written with or without a unit such as MiB.
type size int64

var units = []struct {
	name  string
	bytes int64
}{{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}}

func (s *size) String() string {
	for _, u := range units {
		if *s != 0 && int64(*s)%u.bytes == 0 {
			return strconv.FormatInt(int64(*s)/u.bytes, 10) + u.name
		}
	}
	return strconv.FormatInt(int64(*s), 10)
}

func (s *size) Set(text string) error {
	factor, number := int64(1), text
	for _, u := range units {
		if rest, ok := strings.CutSuffix(text, u.name); ok {
			factor, number = u.bytes, rest
		}
	}
	n, err := strconv.ParseInt(strings.TrimSpace(number), 10, 64)
	if err != nil || n < 0 || n > (1<<62)/factor {
		return errors.New("give a number of bytes, or a number with KiB, MiB, GiB or TiB")
	}
	*s = size(n * factor)
	return nil
}

// lockFile is the file below the root that a process locks while it uses the store.
const lockFile = "lock"

// lock locks the store below root for this process. The lock ends with the process, or when the
// returned file is closed.
func lock(root string) (*os.File, error) {
	if err := os.MkdirAll(root, 0o755); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(root, lockFile), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("the store %s is in use by another depot: stop that depot first: %w", root, err), f.Close())
	}
	return f, nil
}
