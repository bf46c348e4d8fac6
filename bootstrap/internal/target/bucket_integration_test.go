//go:build integration

package target

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"io/fs"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go/aws"
	"github.com/aws/aws-sdk-go/service/s3"

	"github.com/akraino-icn/bpa/bootstrap/internal/target/targettest"
)

// s3Server is a real S3 server, Versity's gateway over a directory, with TLS. S3_SERVER names a binary that is already built.
type s3Server struct {
	address, dir, ca string
}

func startS3(t *testing.T) *s3Server {
	t.Helper()
	tls := httptest.NewTLSServer(nil) // for its certificate, which is for 127.0.0.1
	defer tls.Close()
	key, err := x509.MarshalPKCS8PrivateKey(tls.TLS.Certificates[0].PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	s := &s3Server{address: targettest.Nobody(t), dir: t.TempDir()}
	s.ca = targettest.File(t, 0o644, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: tls.Certificate().Raw})))
	keyFile := targettest.File(t, 0o600, string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})))
	users, err := json.Marshal(map[string]any{"accessAccounts": map[string]any{"stranger": map[string]string{"access": "stranger", "secret": targettest.Password, "role": "user"}}})
	if err != nil {
		t.Fatal(err)
	}
	iam := t.TempDir()
	if err := os.WriteFile(filepath.Join(iam, "users.json"), users, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(s.dir, "backups"), 0o755); err != nil { // a bucket
		t.Fatal(err)
	}
	targettest.Start(t, s.address, []string{"ROOT_ACCESS_KEY=owner", "ROOT_SECRET_KEY=" + targettest.Password},
		targettest.Build(t, "S3_SERVER", "../../../test/s3", "github.com/versity/versitygw/cmd/versitygw"), "--port", s.address, "--cert", s.ca, "--key", keyFile, "--iam-dir", iam, "posix", "--versioning-dir", t.TempDir(), s.dir)
	return s
}

func s3Keys(t *testing.T, user, secret string) string {
	t.Helper()
	return targettest.File(t, 0o600, "[default]\naws_access_key_id = "+user+"\naws_secret_access_key = "+secret+"\n")
}

func s3Target(t *testing.T, address string, access Access) *bucket {
	t.Helper()
	to, err := New(address, access)
	if err != nil {
		t.Fatal(err)
	}
	b, ok := to.(*bucket)
	if !ok {
		t.Fatalf("%T", to)
	}
	return b
}

func TestFilesInABucket(t *testing.T) {
	s := startS3(t)
	access := Access{Credentials: s3Keys(t, "owner", targettest.Password), CA: s.ca}
	for _, prefix := range []string{"", "/", "/site-1", "/a/b/"} {
		to := s3Target(t, "s3://backups"+prefix+"?endpoint=https://"+s.address, access)
		use(t, to, access, 1<<20)
	}
	to := s3Target(t, "s3://backups/site-1?region=us-east-1&endpoint=https://"+s.address, access)
	if want := "s3://backups/site-1/" + one + "?endpoint=https://" + s.address; to.Address(one) != want {
		t.Errorf("address %s, want %s", to.Address(one), want)
	}
	use(t, to, access, 2*partSize+1<<20)
	unfinished(t, to, 0)

	// A process that was killed has left an upload in parts.
	if _, err := to.client.CreateMultipartUploadWithContext(t.Context(), &s3.CreateMultipartUploadInput{Bucket: &to.name, Key: to.key(one)}); err != nil {
		t.Fatal(err)
	}
	lists(t, to)
	if err := to.Clean(t.Context(), "bpa-machine-0a0a0a0a-"); err != nil {
		t.Fatal(err)
	}
	unfinished(t, to, 1)
	if err := to.Clean(t.Context(), "bpa-machine-3f9a1c2e-"); err != nil {
		t.Fatal(err)
	}
	unfinished(t, to, 0)

	// The connection breaks while a backup is read.
	if err := write(t, to, one, strings.Repeat("0123456789abcdef", 1<<20)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	file, err := to.Open(ctx, one)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := io.Copy(io.Discard, file); !errors.As(err, new(*fs.PathError)) {
		t.Errorf("%v", err)
	}
}

// unfinished compares the number of uploads in parts that were not completed.
func unfinished(t *testing.T, b *bucket, want int) {
	t.Helper()
	left, err := b.client.ListMultipartUploadsWithContext(t.Context(), &s3.ListMultipartUploadsInput{Bucket: &b.name})
	if err != nil || len(left.Uploads) != want {
		t.Errorf("%v, %v, want %d", left, err, want)
	}
}

func TestABucketThatRefuses(t *testing.T) {
	s := startS3(t)
	owner := Access{Credentials: s3Keys(t, "owner", targettest.Password), CA: s.ca}
	address := "s3://backups/site-1?endpoint=https://" + s.address
	for name, c := range map[string]struct {
		address string
		access  Access
		want    []string
	}{
		"no such bucket":       {"s3://other?endpoint=https://" + s.address, owner, []string{"the bucket other at https://" + s.address, "NoSuchBucket", "create the bucket"}},
		"no rights":            {address, Access{s3Keys(t, "stranger", targettest.Password), s.ca}, []string{"AccessDenied", "grant s3:ListBucket"}},
		"another secret":       {address, Access{s3Keys(t, "owner", "wrong"), s.ca}, []string{"SignatureDoesNotMatch", "does not accept the credentials"}},
		"another user":         {address, Access{s3Keys(t, "nobody", targettest.Password), s.ca}, []string{"InvalidAccessKeyId", "does not accept the credentials"}},
		"an unknown authority": {address, Access{Credentials: owner.Credentials}, []string{"of an authority that this machine does not trust", "with --ca"}},
		"another name":         {strings.Replace(address, "127.0.0.1", "localhost", 1), owner, []string{"is for another server"}},
		"nobody answers":       {"s3://backups?endpoint=https://" + targettest.Nobody(t), owner, []string{"does not answer", "check its address"}},
		"without TLS":          {strings.Replace(address, "https", "http", 1), owner, []string{"the bucket backups at http://"}},
		"another region":       {address + "&region=eu-1", owner, []string{"correct the region"}},
	} {
		b := s3Target(t, c.address, c.access)
		says(t, name+": check", b.Check(t.Context()), c.want...)
		says(t, name+": write", write(t, b, one, "text"), c.want...)
		_, err := b.List(t.Context())
		says(t, name+": list", err, c.want...)
	}
	b := s3Target(t, address, owner)
	lists(t, b)
	_, err := b.Open(t.Context(), one)
	says(t, "no such file", err, "NoSuchKey", "machine backup list")
}

// Check sees before the first backup that nothing can be written, and leaves nothing.
func TestABucketThatCanOnlyBeListed(t *testing.T) {
	s := startS3(t)
	owner := s3Target(t, "s3://backups/site-1?endpoint=https://"+s.address, Access{Credentials: s3Keys(t, "owner", targettest.Password), CA: s.ca})
	reader := s3Target(t, "s3://backups/site-1?endpoint=https://"+s.address, Access{Credentials: s3Keys(t, "stranger", targettest.Password), CA: s.ca})
	grant := func(actions string) {
		t.Helper()
		policy := `{"Statement": [{"Effect": "Allow", "Principal": {"AWS": ["stranger"]}, "Action": [` + actions + `], "Resource": ["arn:aws:s3:::backups", "arn:aws:s3:::backups/*"]}]}`
		if _, err := owner.client.PutBucketPolicyWithContext(t.Context(), &s3.PutBucketPolicyInput{Bucket: &owner.name, Policy: &policy}); err != nil {
			t.Fatal(err)
		}
	}
	grant(`"s3:ListBucket"`)
	lists(t, reader)
	says(t, "check", reader.Check(t.Context()), "write to the bucket backups", "AccessDenied", "grant s3:ListBucket")
	grant(`"s3:ListBucket", "s3:PutObject", "s3:AbortMultipartUpload"`)
	if err := reader.Check(t.Context()); err != nil {
		t.Error(err)
	}
	lists(t, owner)
	unfinished(t, owner, 0)
}

// With object lock, whoever has the machine's credentials can hide a backup, but not destroy it.
func TestABucketWithObjectLock(t *testing.T) {
	s := startS3(t)
	to := s3Target(t, "s3://locked/site-1?endpoint=https://"+s.address, Access{Credentials: s3Keys(t, "owner", targettest.Password), CA: s.ca})
	if _, err := to.client.CreateBucketWithContext(t.Context(), &s3.CreateBucketInput{Bucket: &to.name, ObjectLockEnabledForBucket: aws.Bool(true)}); err != nil {
		t.Fatal(err)
	}
	retention := s3.ObjectLockConfiguration{ObjectLockEnabled: aws.String("Enabled"), Rule: &s3.ObjectLockRule{DefaultRetention: &s3.DefaultRetention{Mode: aws.String("COMPLIANCE"), Days: aws.Int64(1)}}}
	if _, err := to.client.PutObjectLockConfigurationWithContext(t.Context(), &s3.PutObjectLockConfigurationInput{Bucket: &to.name, ObjectLockConfiguration: &retention}); err != nil {
		t.Fatal(err)
	}
	small, large := "small", strings.Repeat("0123456789abcdef", partSize/16+1)
	for name, text := range map[string]string{one: small, two: large} {
		if err := write(t, to, name, text); err != nil {
			t.Fatal(err)
		}
		if err := to.Remove(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
	lists(t, to)
	versions, err := to.client.ListObjectVersionsWithContext(t.Context(), &s3.ListObjectVersionsInput{Bucket: &to.name})
	if err != nil || len(versions.Versions) != 2 {
		t.Fatalf("%v, %v", versions, err)
	}
	for _, v := range versions.Versions {
		_, err := to.client.DeleteObjectWithContext(t.Context(), &s3.DeleteObjectInput{Bucket: &to.name, Key: v.Key, VersionId: v.VersionId})
		says(t, "removal of a version", to.explain("remove from", err), "remove from the bucket locked", "AccessDenied")
		object, err := to.client.GetObjectWithContext(t.Context(), &s3.GetObjectInput{Bucket: &to.name, Key: v.Key, VersionId: v.VersionId})
		if err != nil {
			t.Fatal(err)
		}
		if text, err := io.ReadAll(object.Body); err != nil || string(text) != small && string(text) != large {
			t.Errorf("%d bytes, %v", len(text), err)
		}
	}
}
