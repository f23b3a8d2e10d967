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

	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
	"github.com/kopf-dev/kopf/sdk/internal/testcluster"
	"github.com/kopf-dev/kopf/sdk/printable"
)

const (
	kubeconfigVar = "KOPFTEST_KUBECONFIG"
	contextVar    = "KOPFTEST_CONTEXT"
	timeoutVar    = "KOPFTEST_TIMEOUT"
	skipVar       = "KOPF_SKIP_CLUSTER_TESTS"

	defaultTimeout = 30 * time.Second

	userAgent = "kopftest"
)

// A Cluster is a namespace of a real cluster, for one test. Its methods fail the test on errors,
// so they must be called from the test's own goroutine.
type Cluster struct {
	// Namespace is the name of a namespace for this test. It is created for the test and deleted at the end. Namespaced
	// objects without a namespace are created in it.
	Namespace string

	// Config is the connection to the cluster, for the test's own clients. It must not be changed.
	Config *rest.Config

	t       printed
	timeout time.Duration
	*estate
}

// estate is the state that a cluster shares with the clusters of subtests.
type estate struct {
	client  *kube.Client
	session *kube.Session // session of the field client
	lasting bool          // the cluster continues to exist after the tests

	mu         sync.Mutex
	namespaces []string
	resources  []resources.Resource // result of the last discovery
	handles    []*Object
	operators  []*Operator
	made       int      // number of operators, including operators under chaos
	managed    []string // names of webhook configurations that operators may have created
}

// New creates a namespace for the test, in the cluster that the package documentation describes.
func New(t testing.TB) *Cluster {
	t.Helper()
	c := &Cluster{Namespace: "test-" + strings.ToLower(rand.Text()[:8]), t: printed{t}, timeout: timeout(t), estate: &estate{}}
	c.Config, c.lasting = config(t)
	session, err := kube.NewSession(c.Config, 0)
	if err != nil {
		t.Fatalf("kopftest: the configuration of the cluster: %v", err)
	}
	t.Cleanup(session.Close)
	c.session = session
	c.client = kube.NewClient(kube.Fixed(session), kube.ClientOptions{
		UserAgent: userAgent,
		// A cluster that has just started may not accept all requests yet.
		Backoffs: slices.Values(slices.Repeat([]time.Duration{100 * time.Millisecond}, 20)),
	})
	t.Cleanup(c.cleanUp)
	c.createNamespace()
	return c
}

// CreateNamespace creates another namespace, for operators that serve several namespaces. It returns the cluster with this
// namespace instead of the test's namespace. The namespace is deleted at the end of the test.
func (c *Cluster) CreateNamespace(name string) *Cluster {
	c.t.Helper()
	other := *c
	other.Namespace = name
	other.createNamespace()
	return &other
}

// T returns the test. Start your helper functions with cluster.T().Helper(), so that a failure is reported for the line of
// their caller.
func (c *Cluster) T() testing.TB { return c.t.TB }

// With returns the same cluster and namespace for a subtest: errors fail the subtest. Its
// operators are stopped at the end of the subtest; objects are deleted at the end of the test.
func (c *Cluster) With(t testing.TB) *Cluster {
	sub := *c
	sub.t = printed{t}
	return &sub
}

// Main runs the tests of a package and cleans up after all tests: it waits until the control plane has ended, or
// deletes the tests' custom resource definitions from another cluster.
//
//	func TestMain(m *testing.M) { kopftest.Main(m) }
//
// Without Main, the control plane may end after the tests, and custom resource definitions stay in other clusters.
func Main(m *testing.M) {
	code := m.Run()
	if err := cleanUpAfterAll(); err != nil {
		fmt.Fprintln(os.Stderr, printable.Lines(err.Error()))
		code = max(code, 1)
	}
	os.Exit(code)
}

func cleanUpAfterAll() error {
	ctx, cancel := context.WithTimeout(context.Background(), defaultTimeout)
	defer cancel()
	return errors.Join(giveBack(ctx), testcluster.StopShared())
}

// config returns the connection to the cluster, and whether the cluster exists without the tests.
func config(t testing.TB) (config *rest.Config, lasting bool) {
	t.Helper()
	if os.Getenv(skipVar) != "" {
		t.Skipf("%s is set", skipVar)
	}
	if path := os.Getenv(kubeconfigVar); path != "" {
		config, err := loader(path).ClientConfig()
		if err != nil {
			t.Fatalf("kopftest: the cluster of %s=%s: %v", kubeconfigVar, path, err)
		}
		return config, true
	}
	process, err := testcluster.Shared()
	if errors.Is(err, testcluster.ErrNotFound) {
		t.Fatalf("kopftest: there is no cluster to test with: %v\n"+
			"Make it, once for all tests:  go install github.com/kopf-dev/kopf/cmd/kopf@latest && kopf cluster prepare\n"+
			"Or name that program in %s, or the kubeconfig file of another cluster in %s. %s=1 skips such tests.",
			err, testcluster.BinaryVar, kubeconfigVar, skipVar)
	}
	if err != nil {
		t.Fatalf("kopftest: the control plane does not start: %v", err)
	}
	return process.Config(), false
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

// context returns a context for one action or wait of the test, limited by its timeout.
func (c *Cluster) context() (context.Context, context.CancelFunc) {
	return contextOf(c.t.Context(), c.t, c.timeout)
}

// contextOf returns a context for a wait with a time limit. The cause of the context explains the limit.
func contextOf(parent context.Context, t testing.TB, timeout time.Duration) (context.Context, context.CancelFunc) {
	end := deadline(t, timeout)
	return context.WithDeadlineCause(parent, end, fmt.Errorf("this did not happen within %s", roughly(time.Until(end))))
}

// reportReserve is the time before the timeout of the test binary that is reserved for reports and the cleanup. Handlers
// may end slowly.
const reportReserve = 5 * time.Second

// deadline returns the time at which a wait of a test ends.
func deadline(t testing.TB, timeout time.Duration) time.Time {
	at := time.Now().Add(timeout)
	if t, ok := t.(interface{ Deadline() (time.Time, bool) }); ok {
		if end, ok := t.Deadline(); ok {
			end = end.Add(-min(reportReserve, time.Until(end)/2))
			if end.Before(at) {
				return end
			}
		}
	}
	return at
}

var (
	namespaces = &resources.Resource{Version: "v1", Plural: "namespaces", Kind: "Namespace"}
	accounts   = &resources.Resource{Version: "v1", Plural: "serviceaccounts", Kind: "ServiceAccount", Namespaced: true}
)

// createNamespace creates a namespace and its default service account. Pods cannot be created without the service account,
// and the controller creates it later.
func (c *Cluster) createNamespace() {
	c.t.Helper()
	ctx, cancel := c.context()
	defer cancel()
	if _, err := c.client.Post(ctx, namespaces, "", named(namespaces, c.Namespace)); err != nil {
		c.t.Fatalf("kopftest: create the namespace %s: %v", c.Namespace, err)
	}
	c.mu.Lock()
	c.namespaces = append(c.namespaces, c.Namespace)
	c.mu.Unlock()
	_, err := c.client.Post(ctx, accounts, c.Namespace, named(accounts, "default"))
	if err != nil && !apierrors.IsAlreadyExists(err) {
		c.t.Fatalf("kopftest: create the service account of %s: %v", c.Namespace, err)
	}
}

func named(res *resources.Resource, name string) []byte {
	body, err := json.Marshal(map[string]any{
		"apiVersion": res.APIVersion(), "kind": res.Kind, "metadata": map[string]any{"name": name},
	})
	if err != nil {
		panic(err) // impossible, because the values are strings
	}
	return body
}
