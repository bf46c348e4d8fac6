package site

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"time"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/akraino-icn/bpa/test/lab/fleet"
)

// ClusterRoles of BPA for users: see config/201-people.yaml.
const (
	RoleAuthor         = "bpa-edit" // of the user whom NewTenant returns
	RoleSoftwareAuthor = "bpa-software-edit"
	RoleBackupDeleter  = "bpa-backup-delete"
)

// session is how long the token of a user is valid: longer than a year of a cluster takes.
const session = 24 * time.Hour

// Admin returns the same site as an administrator of the bootstrap cluster has it.
func (s *Site) Admin() *Site {
	a := *s
	a.WithWatch, a.kubeconfig = s.admin, adminKubeconfig()
	return &a
}

// As returns the same site as another user has it, whose only right is a ClusterRole in the namespace of the tenant. The user
// is an account in the pool, so that the namespace of the tenant has nothing of it but the binding.
func (s *Site) As(role string) *Site {
	s.T.Helper()
	user := *s
	user.kubeconfig = s.writeKubeconfig(role, s.login(role))
	user.WithWatch = connectWith(s.T, user.kubeconfig)
	user.awaitRight(role)
	return &user
}

// Kubeconfig returns the path of the user's kubeconfig for the bootstrap cluster.
func (s *Site) Kubeconfig() string { return s.kubeconfig }

// makeTenant creates the namespace of the tenant as docs/install.md says.
func (s *Site) makeTenant() {
	s.T.Helper()
	s.make(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.Namespace, Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"}}})
}

// grantHosts does what an administrator of hosts in another namespace does: a policy grants them to the tenant, whose
// namespace gets the SSH key of the site.
func (s *Site) grantHosts() {
	s.T.Helper()
	if s.Pool == s.Namespace {
		return
	}
	policy := &metal3.HostDeployPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: s.Pool, Name: "tenant"}}
	policy.Spec.HostClaimNamespaces = &metal3.HostClaimNamespaces{Names: []string{s.Namespace}}
	s.make(policy)
	key := &corev1.Secret{}
	if err := s.admin.Get(context.Background(), client.ObjectKey{Namespace: s.Pool, Name: fleet.SSHSecret}, key); err != nil {
		s.T.Fatal(err)
	}
	s.make(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: key.Name}, Type: key.Type, Data: key.Data})
}

// login returns a token of the account that has the role.
func (s *Site) login(role string) string {
	s.T.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: s.Pool, Name: "user-" + role}}
	s.make(account)
	s.make(&rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: account.Name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: account.Namespace, Name: account.Name}},
	})
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: ptr.To(int64(session.Seconds()))}}
	if err := s.admin.SubResource("token").Create(context.Background(), account, request); err != nil {
		s.T.Fatalf("token of %s: %v", account.Name, err)
	}
	return request.Status.Token
}

// make creates an object if it does not exist.
func (s *Site) make(o client.Object) {
	s.T.Helper()
	if err := s.admin.Create(context.Background(), o); err != nil && !apierrors.IsAlreadyExists(err) {
		s.T.Fatal(err)
	}
}

// writeKubeconfig writes a kubeconfig with the token and returns its path.
func (s *Site) writeKubeconfig(name, token string) (path string) {
	s.T.Helper()
	config, err := clientcmd.LoadFromFile(adminKubeconfig())
	if err != nil {
		s.T.Fatal(err)
	}
	user := config.Contexts[config.CurrentContext].AuthInfo
	config.AuthInfos = map[string]*clientcmdapi.AuthInfo{user: {Token: token}} // nothing of the administrator
	path = filepath.Join(s.folder, name+".kubeconfig")
	if err := os.MkdirAll(s.folder, 0o700); err != nil {
		s.T.Fatal(err)
	}
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		s.T.Fatal(err)
	}
	return path
}

// awaitRight waits until the API server has seen the binding of the user: it reads bindings with a delay.
func (s *Site) awaitRight(role string) {
	s.T.Helper()
	rules := &rbacv1.ClusterRole{}
	if err := s.admin.Get(context.Background(), client.ObjectKey{Name: role}, rules); err != nil {
		s.T.Fatal(err)
	}
	first := rules.Rules[0]
	resource, subresource, _ := strings.Cut(first.Resources[0], "/")
	err := wait.PollUntilContextTimeout(context.Background(), 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: s.Namespace, Group: first.APIGroups[0], Resource: resource, Subresource: subresource, Verb: first.Verbs[0],
		}}}
		err := s.Create(ctx, review)
		return review.Status.Allowed, err
	})
	if err != nil {
		s.T.Fatalf("a user with the role %s has no rights in %s: %v", role, s.Namespace, err)
	}
}
