package asdeployed

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kopf-dev/kopf/deploy/manifests"
	"github.com/kopf-dev/kopf/devcluster"
	"github.com/kopf-dev/kopf/devcluster/apply"
	"github.com/kopf-dev/kopf/internal/testmain"
)

func TestMain(m *testing.M) { testmain.Run(withState{m}) }

// withState runs the tests with a folder for the clusters of all of them.
type withState struct{ *testing.M }

// Run implements goleak.TestingM.
func (m withState) Run() (code int) {
	state, err := os.MkdirTemp("", "kopf-ad-") // the path of a socket must be short
	if err == nil {
		err = os.Setenv("XDG_STATE_HOME", state)
	}
	if err == nil {
		code = m.M.Run()
		err = os.RemoveAll(state)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// patience bounds each wait of a test, also on a busy machine.
const patience = 2 * time.Minute

// restartDelay keeps a program that fails at once from being started all the time.
const restartDelay = 100 * time.Millisecond

// eventsRule and statusRule are rules that most operators have for what does not happen to each object. Only a cluster with
// the plugin OwnerReferencesPermissionEnforcement checks ownersRule.
const (
	eventsRule = "events"
	statusRule = "kopfexamples.kopf.dev/status"
	ownersRule = "kopfexamples.kopf.dev/finalizers"
)

// exampleCase is an example with the rules that the life of its object does not need.
type exampleCase struct {
	folder  string
	args    []string // flags besides -A
	unused  []string // the resources of the rules
	deletes bool     // the operator deletes the objects
	brief   bool     // the program has no flags and ends after some seconds
}

// cases are the examples; each unused rule has a reason.
var cases = []exampleCase{
	// Kubernetes events are posted only about failures, and by handlers that record some. The status is
	// changed only by handlers with results or with patches of it.
	{folder: "01-minimal", unused: []string{eventsRule}},
	{folder: "02-children", unused: []string{eventsRule, statusRule, ownersRule}},
	{folder: "03-exceptions", unused: []string{statusRule}},
	{folder: "04-events", unused: []string{statusRule}},
	{folder: "05-handlers", unused: []string{eventsRule, statusRule}},
	// A startup handler names the peering object, which is not known before it runs.
	{folder: "06-peering", args: []string{"--peering=example"}, unused: []string{eventsRule}},
	{folder: "07-subhandlers", unused: []string{eventsRule}},
	{folder: "08-raw-events", unused: []string{eventsRule}},
	{folder: "09-testing", unused: []string{eventsRule}},
	{folder: "10-builtins", unused: []string{eventsRule, "pods/status"}, deletes: true},
	{folder: "11-filtering", unused: []string{eventsRule, statusRule}},
	{folder: "12-embedded", unused: []string{eventsRule, statusRule}, brief: true},
	{folder: "13-hooks", unused: []string{eventsRule}},
	{folder: "14-daemons"},
	{folder: "15-timers", unused: []string{eventsRule, statusRule}}, // the object may be gone before a tick has a result
	{folder: "16-indexing", unused: []string{eventsRule}},
	{folder: "17-admission", args: []string{"--webhook-listen=127.0.0.1:0", "--webhook-managed=tried.kopf.dev"}},
	{folder: "18-web-app", unused: []string{eventsRule, "webapps.kopf.dev/finalizers"}},
	// The API server checks the verb bind by itself, as a part of other requests.
	{folder: "19-tenants", unused: []string{eventsRule, "tenants.kopf.dev/finalizers", "clusterroles.rbac.authorization.k8s.io"}},
	{folder: "20-database", unused: []string{eventsRule, "databases.kopf.dev/finalizers"}},
	{folder: "21-bucket", unused: []string{eventsRule, "buckets.kopf.dev/status"}}, // the status is no subresource
	{folder: "99-all-at-once", unused: []string{ownersRule}},
	{folder: "ephemeral-volume-claims", unused: []string{eventsRule, "ephemeralvolumeclaims.kopf.dev/finalizers"}},
}

// TestExamples_AllAreTried compares the cases with the folders of the examples.
func TestExamples_AllAreTried(t *testing.T) {
	entries, err := os.ReadDir("../../examples")
	if err != nil {
		t.Fatal(err)
	}
	var tried []string
	for _, c := range cases {
		tried = append(tried, c.folder)
	}
	for _, entry := range entries {
		if entry.IsDir() && !slices.Contains(tried, entry.Name()) {
			t.Errorf("the example %s is not among the cases", entry.Name())
		}
	}
}

// TestExamples_NeedEachRule runs each example under its generated roles: with all rules, nothing is denied;
// without any one rule, the proxy reports the denied rule.
func TestExamples_NeedEachRule(t *testing.T) {
	// The examples of a cluster share a resource, and most of their time is waiting: each half has a cluster.
	for half := range slices.Chunk(cases, (len(cases)+1)/2) {
		t.Run("from "+half[0].folder, func(t *testing.T) {
			t.Parallel()
			cluster := openCluster(t)
			for _, c := range half {
				t.Run(c.folder, func(t *testing.T) { c.needsEachRule(t, cluster) })
			}
		})
	}
}

func (c *exampleCase) needsEachRule(t *testing.T, cluster *rest.Config) {
	e := newExample(t, cluster, "../../examples/"+c.folder)
	e.deletes, e.brief = c.deletes, c.brief
	e.describe(t, append([]string{"-A"}, c.args...)...)
	e.expectApplicable(t)
	e.run(t, nil)
	for i, p := range e.operator.Permissions {
		name := Denial{Group: p.Group, Resource: p.Resource}.resource()
		if slices.Contains(c.unused, name) {
			continue
		}
		t.Run("without "+strings.ReplaceAll(name, "/", "."), func(t *testing.T) { e.run(t, &e.operator.Permissions[i]) })
	}
}

// openCluster starts a control plane for the test.
func openCluster(t *testing.T) *rest.Config {
	t.Helper()
	cluster, err := devcluster.Open(t.Context(), devcluster.Options{Ephemeral: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	config, err := cluster.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	return config
}

// features are the operators' optional features, with their flags and the API group of their rules.
var features = []struct {
	title, group string
	args         []string
}{
	{"leader election", "coordination.k8s.io", []string{"--leader-elect", "--lease=tried"}},
	{"shards", "coordination.k8s.io", []string{"--shards=2", "--lease=tried"}},
	{"peering", "kopf.dev", []string{"--peering=tried"}},
	{"webhooks", "admissionregistration.k8s.io", nil},
}

// TestFeatures_NeedEachVerb runs an operator with each feature: with all rules, nothing is denied; without any
// verb of the rules for the feature, the proxy reports the denied verb.
func TestFeatures_NeedEachVerb(t *testing.T) {
	t.Parallel()
	cluster := openCluster(t)
	peering, err := manifests.NewPeering(manifests.PeeringOptions{Name: "tried"})
	if err != nil {
		t.Fatal(err)
	}
	applyText(t, cluster, peering.YAML())
	e := newExample(t, cluster, "testdata/everything")
	webhooks := []string{"--webhook-listen=127.0.0.1:0", "--webhook-managed=tried.kopf.dev"}
	for _, f := range features {
		t.Run(f.title, func(t *testing.T) {
			e.describe(t, slices.Concat([]string{"-A", "--peering=tried"}, webhooks, f.args)...)
			e.run(t, nil)
			tried := 0
			for _, p := range e.operator.Permissions {
				ofFeature := p.Group == f.group && (len(p.Handlers) == 0 || f.group != "kopf.dev")
				for _, verb := range p.Verbs {
					if !ofFeature || verb == "list" && slices.Contains(p.Verbs, "watch") {
						continue // a watch lists as well, where the server can do that
					}
					tried++
					without := p
					without.Verbs = []string{verb}
					t.Run("without "+verb+" "+strings.ReplaceAll(p.Resource, "/", "."), func(t *testing.T) { e.run(t, &without) })
				}
			}
			if tried < 2 {
				t.Errorf("%d verbs of %s", tried, f.group)
			}
		})
	}
}

// applyText applies manifests, and removes them when the test ends.
func applyText(t *testing.T, config *rest.Config, text string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "all.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := apply.Files(t.Context(), config, []string{path}, apply.Options{}); err != nil {
		t.Fatal(err)
	}
}
