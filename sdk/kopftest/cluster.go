package kopftest

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kopf-dev/kopf/sdk/internal/apiclient"
	"github.com/kopf-dev/kopf/sdk/internal/controlplane"
	"github.com/kopf-dev/kopf/sdk/internal/resource"
)

const (
	kubeconfigVar = "KOPFTEST_KUBECONFIG"
	contextVar    = "KOPFTEST_CONTEXT"
	timeoutVar    = "KOPFTEST_TIMEOUT"
	skipVar       = "KOPF_SKIP_CLUSTER_TESTS"

	defaultTimeout = 30 * time.Second
)

// A Cluster is a namespace of a real cluster, for one test. Its methods fail the test if
// something goes wrong; as all that fails tests, they are for the test's own goroutine.
type Cluster struct {
	// Namespace is new, and deleted at the end of the test. Namespaced objects without
	// a namespace are put into it.
	Namespace string

	// Config is how to connect, for clients of the test's own.
	Config *rest.Config

	t       testing.TB
	timeout time.Duration
	*estate
}

// estate is what a cluster shares with those of subtests.
type estate struct {
	client *apiclient.Client

	mu        sync.Mutex
	resources []resource.Resource // those of the cluster, as of the last look
	handles   []*Object
	operators []*Operator
}

// New makes a namespace for the test. See the package's documentation for the cluster.
func New(t testing.TB) *Cluster {
	t.Helper()
	c := &Cluster{Config: config(t), Namespace: "test-" + strings.ToLower(rand.Text()[:8]), t: t, timeout: timeout(t), estate: &estate{}}
	session, err := apiclient.NewSession(c.Config, 0)
	if err != nil {
		t.Fatalf("kopftest: the configuration of the cluster: %v", err)
	}
	t.Cleanup(session.Close)
	c.client = apiclient.New(apiclient.Fixed(session), apiclient.Options{
		UserAgent: "kopftest",
		// A young cluster may not be ready for everything, but will be in a moment.
		Backoffs: slices.Values(slices.Repeat([]time.Duration{100 * time.Millisecond}, 20)),
	})
	c.createNamespace()
	return c
}

// With returns the same cluster and namespace for a subtest: what goes wrong fails the
// subtest. What it makes lives until the end of the whole test, but its operators are
// stopped with the subtest.
func (c *Cluster) With(t testing.TB) *Cluster {
	sub := *c
	sub.t = t
	return &sub
}

// Main runs the tests of a package and then waits until the control plane has ended:
//
//	func TestMain(m *testing.M) { kopftest.Main(m) }
//
// It is not needed: without it, the control plane ends a moment after the tests.
func Main(m *testing.M) {
	code := m.Run()
	if err := controlplane.StopShared(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	os.Exit(code)
}

func config(t testing.TB) *rest.Config {
	t.Helper()
	if os.Getenv(skipVar) != "" {
		t.Skipf("%s is set", skipVar)
	}
	if path := os.Getenv(kubeconfigVar); path != "" {
		config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
			&clientcmd.ClientConfigLoadingRules{ExplicitPath: path},
			&clientcmd.ConfigOverrides{CurrentContext: os.Getenv(contextVar)}).ClientConfig()
		if err != nil {
			t.Fatalf("kopftest: the cluster of %s=%s: %v", kubeconfigVar, path, err)
		}
		return config
	}
	process, err := controlplane.Shared()
	if errors.Is(err, controlplane.ErrNotFound) {
		t.Fatalf("kopftest: there is no cluster to test with: %v\nrun: kopf cluster prepare\n"+
			"or name the program in %s, or another cluster in %s", err, controlplane.BinaryVar, kubeconfigVar)
	}
	if err != nil {
		t.Fatalf("kopftest: the control plane does not start: %v", err)
	}
	return process.Config()
}

func timeout(t testing.TB) time.Duration {
	t.Helper()
	text := os.Getenv(timeoutVar)
	if text == "" {
		return defaultTimeout
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		t.Fatalf("kopftest: %s=%s: want a duration such as 1m", timeoutVar, text)
	}
	return d
}

// context is for one thing to be done or waited for. It ends early enough to tell before
// the test binary itself runs out of time.
func (c *Cluster) context() (context.Context, context.CancelFunc) {
	return context.WithDeadline(c.t.Context(), deadline(c.t, c.timeout))
}

func deadline(t testing.TB, timeout time.Duration) time.Time {
	at := time.Now().Add(timeout)
	if t, ok := t.(interface{ Deadline() (time.Time, bool) }); ok {
		if end, ok := t.Deadline(); ok && end.Add(-2*time.Second).Before(at) {
			at = end.Add(-2 * time.Second)
		}
	}
	return at
}

var (
	namespaces = &resource.Resource{Version: "v1", Plural: "namespaces", Kind: "Namespace"}
	accounts   = &resource.Resource{Version: "v1", Plural: "serviceaccounts", Kind: "ServiceAccount", Namespaced: true}
)

// createNamespace also makes the service account without which no pod can be created: a
// controller would do so, but later.
func (c *Cluster) createNamespace() {
	c.t.Helper()
	ctx, cancel := c.context()
	defer cancel()
	if _, err := c.client.Post(ctx, namespaces, "", named(namespaces, c.Namespace)); err != nil {
		c.t.Fatalf("kopftest: creating a namespace: %v", err)
	}
	c.t.Cleanup(c.cleanUp)
	_, err := c.client.Post(ctx, accounts, c.Namespace, named(accounts, "default"))
	if err != nil && !apierrors.IsAlreadyExists(err) {
		c.t.Fatalf("kopftest: creating the service account: %v", err)
	}
}

func named(res *resource.Resource, name string) []byte {
	body, err := json.Marshal(map[string]any{
		"apiVersion": res.APIVersion(), "kind": res.Kind, "metadata": map[string]any{"name": name},
	})
	if err != nil {
		panic(err) // texts alone
	}
	return body
}
