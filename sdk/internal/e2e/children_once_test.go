package e2e

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

// secretOf returns a Secret with a password and with the fields of its parent. Without spec.user, the password is its only datum.
func secretOf(p *kopf.Pass[kopf.Object], password string) []tree {
	texts := tree{"password": password}
	if user := kopf.GetOr(p.Object, "spec.user", ""); user != "" {
		texts["user"] = user
	}
	return []tree{{
		"apiVersion": "v1", "kind": "Secret", "type": "example.com/login", "stringData": texts,
		"metadata": tree{"labels": tree{"team": kopf.GetOr(p.Object, "spec.team", "a")}},
	}}
}

// randomSecret is secretOf with another password in each pass.
func randomSecret(p *kopf.Pass[kopf.Object]) []tree { return secretOf(p, rand.Text()) }

// onceOf owns Secrets with fields that are applied once.
func onceOf(fields ...kopf.Path) []kopf.Own {
	own := owning("v1 secrets")
	own[0].Once = fields
	return own
}

// editSecret returns an editor of the Secret of the main parent.
func editSecret(k *keeper) *editor {
	k.t.Helper()
	return edit(k, edited{version: "v1", plural: "secrets", field: "data.password"}, "Secret")
}

// wantPassword checks that the Secret has a password.
func (d *editor) wantPassword(want any, when string) {
	d.t.Helper()
	if got := d.child.Get().Get("data.password"); got != want || want == nil {
		d.t.Fatalf("%s: the password is %v, want %v", when, got, want)
	}
}

// wantTeam changes a field that is applied always, and waits for it.
func (d *editor) wantTeam(team string) {
	d.t.Helper()
	d.parent.Set("spec.team", team)
	d.child.WaitValue("metadata.labels.team", team)
}

// wantSilence checks that the log reports no drift and no failure.
func (k *keeper) wantSilence() {
	k.t.Helper()
	for _, line := range []string{"Took a field", "Left a field", "failed"} {
		if k.CountLog(line) > 0 {
			k.t.Errorf("the log has %q:\n%s", line, k.Log())
		}
	}
}

func TestChildren_OnceFieldsAreAppliedAtTheCreationOnly(t *testing.T) {
	for _, path := range []kopf.Path{"data", "data.password"} {
		t.Run(string(path), func(t *testing.T) {
			k := keep(t, tree{"user": "root"}, onceOf(path), randomSecret)
			d := editSecret(k)
			password := d.child.Get().Get("data.password")
			if sent, read := k.written(), k.readings(); len(sent) != 2 || len(read) != 1 {
				t.Errorf("the creation has sent %q and %q", sent, read)
			}
			for range 20 {
				k.tick()
			}
			d.wantPassword(password, "after 20 passes")
			k.Restart()
			k.tick()
			d.wantPassword(password, "after a restart")
			k.checkIdle()
			if sent := k.written(); len(sent) != 2 {
				t.Errorf("unchanged children have caused %q", sent[2:])
			}
			d.wantTeam("b")
			d.wantPassword(password, "after a change of another field")
			if sent := k.written(); len(sent) != 3 {
				t.Errorf("the change of a field has caused %q", sent[2:])
			}
			k.parent.Remove("spec.user")
			d.wantTeam("c")
			d.wantPassword(password, "after its neighbour was dropped")

			d.merge(d.set("OQ=="))
			k.settle(k.parent)
			d.wantTeam("d")
			d.wantPassword("OQ==", "after an edit by others")
			k.checkIdle()
			d.jsonPatch("remove", d.pointer(), nil)
			d.wantTeam("e")
			if got := d.child.Get().Get("data.password"); got != nil {
				t.Errorf("the removed password is %v", got)
			}
			k.checkIdle()
			k.wantSilence()
			d.child.Delete()
			d.child.WaitFor("it is made anew", func(o *kopf.Object) bool {
				now := kopf.GetOr(o, "data.password", "")
				return now != "" && now != password && now != "OQ=="
			})
		})
	}
}

func TestChildren_OnceFieldsChangeWithReleases(t *testing.T) {
	for name, policy := range map[string]kopf.DriftPolicy{"revert": kopf.RevertDrift, "report": kopf.ReportDrift, "yield": kopf.YieldDrift} {
		t.Run(name, func(t *testing.T) {
			kinds := onceOf()
			kinds[0].Drift = policy
			password := "1"
			k := keep(t, tree{"user": "root"}, kinds, func(p *kopf.Pass[kopf.Object]) []tree {
				if password == "" {
					return []tree{{"apiVersion": "v1", "kind": "Secret", "type": "example.com/login"}}
				}
				return secretOf(p, password)
			})
			d := editSecret(k)
			d.wantPassword("MQ==", "at the creation")
			release := func(next string, once ...kopf.Path) {
				k.Stop()
				password, kinds[0].Once = next, once
				k.Start()
				k.settle(k.parent)
				k.checkIdle()
			}
			release("2", "data.password")
			d.wantPassword("MQ==", "once the field is applied once")
			release("3", "data.password", "type")
			d.wantTeam("b")
			d.wantPassword("MQ==", "after a change of another field")
			release("4", "type")
			d.wantPassword("NA==", "once the field is applied always")
			release("")
			if got := d.child.Get().Get("data"); got != nil {
				t.Errorf("the dropped data are %v", got)
			}
			if got := managersOf(d.read()); !slices.Equal(got, []string{"kopf.dev"}) {
				t.Errorf("the managers are %q", got)
			}
			k.wantSilence()
		})
	}
}

func TestChildren_OnceFieldsOfAdoptedObjectsStay(t *testing.T) {
	kinds := onceOf("data")
	kinds[0].Adopt = true
	cluster := newCluster(t)
	theirs := cluster.Create(tree{"apiVersion": "v1", "kind": "Secret", "metadata": tree{"name": "main"}, "type": "example.com/login", "data": tree{"own": "OQ=="}})
	k := keepIn(cluster, tree{"user": "root"}, kinds, randomSecret)
	if got := theirs.WaitValue("metadata.labels.team", "a"); asJSON(got.Get("data")) != `{"own":"OQ=="}` {
		t.Errorf("the data are %v", got.Get("data"))
	}
	k.checkIdle()
}

func TestChildren_OnceFieldsSurviveClearedManagedFields(t *testing.T) {
	k := keep(t, tree{"user": "root"}, onceOf("data.password"), randomSecret)
	d := editSecret(k)
	password := d.child.Get().Get("data.password")
	d.merge(tree{"metadata": tree{"managedFields": []any{tree{}}}})
	k.WaitUntil("the operator alone owns fields", func() bool { return slices.Equal(managersOf(d.read()), []string{"kopf.dev", "kopf.dev"}) })
	k.parent.Remove("spec.user")
	d.child.WaitFor("the password is alone", func(o *kopf.Object) bool { return asJSON(o.Get("data")) == asJSON(tree{"password": password}) })
	k.checkIdle()
}

func TestChildren_OnceFieldsLeaveReplicasToOthers(t *testing.T) {
	kinds := owning("apps/v1 deployments")
	kinds[0].Once = []kopf.Path{"spec.replicas"}
	k := keep(t, tree{"image": "v0"}, kinds, imageOf("Deployment", "apps/v1"))
	d := edit(k, edited{version: "apps/v1", plural: "deployments", field: "spec.replicas"}, "Deployment")
	d.child.WaitValue("spec.replicas", int64(3))
	d.merge(d.set(7))
	k.parent.Set("spec.image", "v1")
	if o := d.child.WaitValue("spec.template.spec.containers[0].image", "v1"); o.Get("spec.replicas") != int64(7) {
		t.Errorf("there are %v replicas", o.Get("spec.replicas"))
	}
	k.checkIdle()
	k.wantSilence()
}

func TestChildren_OnceFieldsWithinAtomicValuesAreRefused(t *testing.T) {
	kinds := owning("v1 services")
	kinds[0].Once = []kopf.Path{"spec.selector.app"}
	k := keep(t, tree{"tier": "web"}, kinds, func(p *kopf.Pass[kopf.Object]) []tree {
		return []tree{{"apiVersion": "v1", "kind": "Service", "spec": tree{
			"ports": []any{tree{"port": 80}}, "selector": tree{"app": "x", "tier": kopf.GetOr(p.Object, "spec.tier", "")},
		}}}
	})
	k.parent.Set("spec.tier", "db")
	k.WaitLog("the API server records spec.selector as a single value")
	if got := k.Object("services", "main").Get().Get("spec.selector"); asJSON(got) != asJSON(tree{"app": "x", "tier": "web"}) {
		t.Errorf("the selector is %v", got)
	}
}

func TestChildren_OnceFieldsSurviveKillsAtAnyWrite(t *testing.T) {
	const writes = 4 // the creation, the assignment of the managers, and two changes
	for n := 1; n <= writes; n++ {
		for _, when := range []string{"before", "after"} {
			t.Run(fmt.Sprintf("%s write %d", when, n), func(t *testing.T) {
				cluster := newCluster(t)
				own := ownResource(cluster)
				proxy := cluster.FaultProxy(killAt(n, when == "after"))
				end := runReplaced(cluster, func(r *kopf.Registry) {
					kopf.OnReconcile(r, own.selector(), func(ctx context.Context, p *kopf.Pass[kopf.Object]) error {
						return p.Apply(ctx, &unstructured.Unstructured{Object: randomSecret(p)[0]})
					}, onceOf("data.password")[0])
				}, proxy)
				defer end()
				parent := cluster.Create(own.of(tree{"metadata": tree{"name": "main"}, "spec": tree{"user": "root"}}))
				child := cluster.Object("secrets", "main")
				password := child.WaitFor("it exists", func(o *kopf.Object) bool { return o != nil }).Get("data.password")
				parent.Set("spec.user", "admin")
				child.WaitValue("data.user", "YWRtaW4=")
				parent.Remove("spec.user")
				last := child.WaitFor("the user is gone", func(o *kopf.Object) bool { return o.Get("data.user") == nil })
				if got := last.Get("data.password"); got != password || got == nil {
					t.Errorf("the password is %v, and was %v", got, password)
				}
				receive(cluster, "the operator is killed", proxy.Killed())
			})
		}
	}
}
