package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopftest"
)

// chaos is an operator that is killed again and again while its objects change.
type chaos struct {
	cluster *kopftest.Cluster
	calls   calls // "name handler field"
	repeats calls

	mu sync.Mutex
	k  *killer // of the present operator
}

func (x *chaos) killer() *killer {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.k
}

func (x *chaos) register(r *kopf.Registry) {
	kopf.OnCreate(r, plains, x.does("create_1"), kopf.ID("create_1"))
	kopf.OnCreate(r, plains, x.does("create_2"), kopf.ID("create_2"))
	kopf.OnUpdate(r, plains, x.does("update_1"), kopf.ID("update_1"))
	kopf.OnUpdate(r, plains, x.does("update_2"), kopf.ID("update_2"))
	kopf.OnDelete(r, plains, x.does("delete_1"), kopf.ID("delete_1"))
	kopf.OnDelete(r, plains, x.does("delete_2"), kopf.ID("delete_2"))
}

func (x *chaos) does(id string) func(context.Context, *change) error {
	return func(_ context.Context, r *change) error {
		k := x.killer()
		o := find(x.cluster, plain, r.Name)
		if o != nil && kopf.GetOr(o, "metadata.uid", "") == string(r.UID) {
			annotations, _ := o.Get("metadata.annotations").(tree)
			record := progressOf(annotations, "kopf.zalando.org/"+id)
			if record["success"] == true && record["purpose"] == string(r.Reason) && !k.isDead() {
				x.repeats.add(r.Name + " " + id)
			}
		}
		x.calls.add(fmt.Sprintf("%s %s %s", r.Name, id, kopf.GetOr(r.Body, "spec.field", "")))
		return nil
	}
}

// operate runs one operator after another until the context ends.
func (x *chaos) operate(ctx context.Context, random *rand.Rand, lives *int) {
	for {
		k := newKiller(1+random.IntN(12), random.IntN(2) == 0)
		x.mu.Lock()
		x.k = k
		x.mu.Unlock()
		*lives++
		op := x.cluster.Launch(x.register, transport(func(next http.RoundTripper) http.RoundTripper {
			return k.wrap(delayedWatch(20 * time.Millisecond)(next))
		}), settings(func(s *kopf.Settings) { s.Queueing.ExitTimeout = time.Millisecond }), withoutInspector)
		select {
		case <-k.killed:
			op.Stop()
		case <-ctx.Done():
			k.spare()
			if k.isDead() {
				op.Stop()
				continue
			}
			return // the last one goes on
		}
	}
}

func TestCrash_RepeatedKillsLoseAndRepeatNothing(t *testing.T) {
	const objects, changes = 6, 60
	for seed := range uint64(3) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			x := &chaos{cluster: newCluster(t)}
			random := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // it must be the same in each run
			ctx, settle := context.WithCancel(t.Context())
			var operators sync.WaitGroup
			lives := 0
			operators.Go(func() { x.operate(ctx, rand.New(rand.NewPCG(seed, 1)), &lives) }) //nolint:gosec // as above

			fields := map[string]string{} // the expected end state
			var deleted []string
			for i := range changes {
				name := fmt.Sprintf("x%d", random.IntN(objects))
				field := fmt.Sprintf("v%d", i)
				switch _, exists := fields[name]; {
				case slices.Contains(deleted, name):
				case !exists:
					object := example(name)
					object["spec"].(tree)["field"] = field
					x.cluster.Create(plain.of(object))
					fields[name] = field
				case random.IntN(10) == 0:
					x.cluster.Object(plain.name(), name).Delete()
					deleted = append(deleted, name)
					delete(fields, name)
				case random.IntN(4) == 0:
					waitHandled(x.cluster.Object(plain.name(), name))
				default:
					x.cluster.Object(plain.name(), name).Patch(tree{"spec": tree{"field": field}})
					fields[name] = field
				}
			}
			settle()
			operators.Wait()
			for name, field := range fields {
				waitHandled(x.cluster.Object(plain.name(), name))
				if last := x.last(name); !strings.HasSuffix(last, " "+field) {
					t.Errorf("the last call was %q, while the field is %s", last, field)
				}
			}
			for _, name := range deleted {
				x.cluster.Object(plain.name(), name).WaitGone()
			}
			x.repeats.are(t)
			t.Logf("%d lives, %d calls, %d objects, %d of them deleted", lives, len(x.calls.all()), len(fields)+len(deleted), len(deleted))
		})
	}
}

// last returns the last call for an object.
func (x *chaos) last(name string) string {
	all := x.calls.all()
	for _, call := range slices.Backward(all) {
		if strings.HasPrefix(call, name+" ") {
			return call
		}
	}
	return ""
}
