package tenants

import (
	"slices"
	"testing"

	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopf/manifest"
	"github.com/kopf-dev/kopf/sdk/kopftest"
)

func TestMain(m *testing.M) { kopftest.Main(m) }

func TestTenant_GetsNamespaceWithQuotaAndMembers(t *testing.T) {
	cluster := kopftest.New(t)
	cluster.ApplyFile("crd.yaml")
	operator := cluster.Run(Register)
	tenant := cluster.ApplyFile("obj.yaml")

	namespace := cluster.Object("namespaces", "team-a")
	namespace.WaitValue("status.phase", "Active")
	teamA := within(cluster, "team-a")
	quota := teamA.Object("resourcequotas", "tenant")
	anna := teamA.Object("rolebindings", manifest.NameOf("member", "anna@example.com"))
	bert := teamA.Object("rolebindings", manifest.NameOf("member", "bert@example.com"))
	quota.WaitValue("spec.hard.pods", "10")
	anna.WaitValue("subjects[0].name", "anna@example.com")
	bert.WaitValue("subjects[0].name", "bert@example.com")

	tenant.Set("spec.members", []any{"anna@example.com"})
	bert.WaitGone()

	quota.Patch(map[string]any{"spec": map[string]any{"hard": map[string]any{"pods": "20"}}})
	tenant.Set("spec.quota", map[string]any{"pods": "10", "requests.memory": "8Gi"})
	operator.WaitLog("Left a field of ResourceQuota tenant to")
	quota.WaitValue("spec.hard[requests.memory]", "8Gi")
	quota.WaitValue("spec.hard.pods", "20")

	tenant.Delete()
	tenant.WaitGone()
	quota.WaitGone()
	anna.WaitGone()
	namespace.WaitValue("status.phase", "Active")

	second := cluster.ApplyFile("obj.yaml") // another tenant of the same name
	quota.WaitValue("spec.hard.pods", "10")
	second.Delete()
	second.WaitGone()
	namespace.Delete()
}

func TestTenant_KeepsMembersWhileNamespaceIsNotReady(t *testing.T) {
	const tenant = "{metadata: {name: team-a, namespace: ''}, spec: {members: [anna@example.com]}}"
	existing := kopftest.Child{Kind: "RoleBinding", Name: "team-a/member-bert"}
	p := kopftest.Pass[Tenant](t, Register, tenant, existing)
	if got := kopftest.Passed(t, p, reconcile(t.Context(), p)); got.Outcome != kopftest.PassWaits || got.Pruned != nil {
		t.Errorf("the pass is %s (%v) and prunes %q", got.Outcome, got.Err, got.Pruned)
	}
	p = kopftest.Pass[Tenant](t, Register, tenant, existing, kopftest.Child{Kind: "Namespace"})
	if got := kopftest.Passed(t, p, reconcile(t.Context(), p)); !slices.Equal(got.Pruned, []string{"RoleBinding team-a/member-bert"}) {
		t.Errorf("the pass is %s (%v) and prunes %q", got.Outcome, got.Err, got.Pruned)
	}
}

// within returns the cluster with another namespace for its objects.
func within(cluster *kopftest.Cluster, namespace string) *kopftest.Cluster {
	other := *cluster
	other.Namespace = namespace
	return &other
}

func TestTenant_AdoptsExistingNamespace(t *testing.T) {
	cluster := kopftest.New(t)
	cluster.ApplyFile("crd.yaml")
	cluster.Apply(`
apiVersion: v1
kind: Namespace
metadata: {name: team-b, labels: {somebodys: own}}
`)
	cluster.Run(Register)
	cluster.Apply(`
apiVersion: kopf.dev/v1
kind: Tenant
metadata: {name: team-b}
spec: {members: [], quota: {pods: 5}}
`)
	namespace := cluster.Object("namespaces", "team-b")
	namespace.WaitValue("metadata.labels[kopf.dev/owned-by]", "tenants.kopf.dev")
	namespace.WaitFor("its other labels stay", func(o *kopf.Object) bool { return o.Get("metadata.labels.somebodys") == "own" })
	within(cluster, "team-b").Object("resourcequotas", "tenant").WaitValue("spec.hard.pods", "5")
}

func TestTenant_SurvivesEveryCrash(t *testing.T) {
	kopftest.EveryCrash(t, kopftest.CrashPlan{Register: Register}, func(c *kopftest.Crashing) {
		c.ApplyFile("crd.yaml")
		c.Start()
		tenant := c.ApplyFile("obj.yaml")
		quota := within(c.Cluster, "team-a").Object("resourcequotas", "tenant")
		c.WaitHandled(tenant)
		tenant.Patch("spec: {members: [anna@example.com], quota: {pods: 5}}")
		c.WaitHandled(tenant)
		quota.WaitValue("spec.hard.pods", "5")
		tenant.Delete()
		tenant.WaitGone()
		quota.WaitGone()
	})
	kopftest.New(t).Object("namespaces", "team-a").Delete() // each run adopts it, as its deletion takes seconds
}
