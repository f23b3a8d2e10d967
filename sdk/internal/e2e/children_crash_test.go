package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopftest"
)

// childrenLife is the life of one parent of a pruner whose operator can be killed.
type childrenLife struct {
	pruner
	cluster *kopftest.Cluster
}

// live creates, changes, prunes and re-creates children, and starts a new operator when one was killed. It returns the states of
// the children in between.
func (l *childrenLife) live(proxy *kopftest.FaultProxy) []string {
	cluster := l.cluster
	defer runReplaced(cluster, l.register, proxy)()

	parent := cluster.Create(l.own.of(tree{"metadata": tree{"name": "x"}, "spec": tree{"field": "created"}}))
	a, b := cluster.Object("configmaps", "x-a"), cluster.Object("configmaps", "x-b")
	var states []string
	note := func(field string, both bool) {
		states = append(states, childState(a.WaitValue("data.field", field)))
		if both {
			states = append(states, childState(b.WaitValue("data.field", field)))
			return
		}
		b.WaitGone()
	}
	note("created", true)
	parent.Set("spec.field", "changed")
	note("changed", true)
	parent.Set("spec.field", "pruned")
	note("pruned", false)
	parent.Set("spec.field", "again")
	note("again", true)
	return states
}

// childState returns the parts of a child that do not differ from run to run.
func childState(o *kopf.Object) string {
	owners, _ := o.Get("metadata.ownerReferences").([]any)
	return asJSON([]any{o.Get("metadata.name"), o.Get("data"), len(owners), kopf.GetOr(o, "metadata.ownerReferences[0].name", "")})
}

func newChildrenLife(t *testing.T) *childrenLife {
	t.Helper()
	cluster := newCluster(t)
	return &childrenLife{pruner: pruner{own: ownResource(cluster)}, cluster: cluster}
}

func TestChildren_KilledAtAnyWriteIsContinued(t *testing.T) {
	undisturbed := newChildrenLife(t)
	quiet := undisturbed.cluster.FaultProxy(killAt(0, false))
	states := undisturbed.live(quiet)
	const writes = 9 // two creations and the record of their kind, two changes, a change and a deletion, a change and a creation
	if got := len(quiet.Injected()); got != writes {
		t.Errorf("%d writes, want %d", got, writes)
	}
	for n := 1; n <= writes; n++ {
		for _, when := range []string{"before", "after"} {
			t.Run(fmt.Sprintf("%s write %d", when, n), func(t *testing.T) {
				l := newChildrenLife(t)
				proxy := l.cluster.FaultProxy(killAt(n, when == "after"))
				if got := l.live(proxy); !slices.Equal(got, states) {
					t.Errorf("states:\n%s\nundisturbed:\n%s", strings.Join(got, "\n"), strings.Join(states, "\n"))
				}
				receive(l.cluster, "the operator is killed", proxy.Killed())
			})
		}
	}
}
