package leaderelection_test

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/testcluster"
	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopftest"
	"github.com/kopf-dev/kopf/sdk/leaderelection"
)

// lost begins the log line of a replica whose term has ended, of each kind.
var lost = map[string]string{"election": "The lease is lost", "shards": "A shard is lost"}

// replica is the operator of a process. Each call of its timer is a line of the log, and writes to its object.
func replica(o *kopf.Operator, args []string) {
	kind, identity := args[0], args[1]
	leaderelection.Register(o.Registry)
	kopf.Timer(o.Registry, configMaps, func(_ context.Context, tick *kopf.TimerTick[kopf.Object]) error {
		at := strconv.FormatInt(time.Now().UnixNano(), 10)
		o.Logger.Debug(called, "at", at)
		tick.Patch.Set("data.by", identity)
		tick.Patch.Set("data.at", at)
		return nil
	}, kopf.ID("tick"), kopf.Interval(50*time.Millisecond), kopf.Labels{"mine": "yes"})
	scale(o, kind, identity)
}

// scale makes an operator one of the replicas in its namespace. A replica that is not frozen keeps its lease on a slow machine.
func scale(o *kopf.Operator, kind, identity string) {
	o.Settings.Scaling = kopf.ScalingSettings{
		LeaseName: "replicas", LeaseNamespace: o.Namespaces[0], Identity: identity,
		LeaseDuration: 5 * time.Second, RenewDeadline: 4 * time.Second, RetryPeriod: 300 * time.Millisecond,
	}
	if kind == "shards" {
		o.Settings.Scaling.Shards = 1
	} else {
		o.Settings.Scaling.LeaderElection = true
	}
}

// called is the log message of a call.
const called = "the handler is called"

// term is one time of a replica as the leader, or as the holder of the shard.
type term struct {
	replica string
	number  int
}

type call struct {
	at   string
	term term
}

// calls returns the calls of a replica's handler. Its term is the number of terms that the log has begun before.
func calls(p *kopftest.Process, identity string) (all []call) {
	current := term{replica: identity}
	for _, e := range p.LogEntries() {
		switch {
		case strings.HasPrefix(e.Message, "Elected: "), strings.HasPrefix(e.Message, "Handling more shards"):
			current.number++
		case e.Message == called:
			all = append(all, call{e.Attrs[0].Value.String(), current})
		}
	}
	return all
}

// repeated counts those of a sequence that belong to a term after a later term has begun.
func repeated(sequence []term) (n int) {
	var order []term
	for _, one := range sequence {
		if i := slices.Index(order, one); i < 0 {
			order = append(order, one)
		} else if i < len(order)-1 {
			n++
		}
	}
	return n
}

func TestFreeze_RepeatedTermsAreFound(t *testing.T) {
	a, b, again := term{"a", 1}, term{"b", 1}, term{"a", 2}
	if n := repeated([]term{a, a, b, a, b, again, b}); n != 2 {
		t.Error(n)
	}
	if n := repeated([]term{a, a, b, b, again, again}); n != 0 {
		t.Error(n)
	}
}

// A replica is frozen until another one acts, and runs on: it begins no call and writes nothing before its next term.
func TestFreeze_FrozenReplicaDoesNothingOnceAnotherActs(t *testing.T) {
	for kind, lost := range lost {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			cluster := kopftest.New(t)
			create(cluster)
			versions := testcluster.Versions(t, cluster.Namespace, "x")
			a := cluster.StartProcess("replica", kind, "a")
			waitCalls(a, 1)
			b := cluster.StartProcess("replica", kind, "b")
			n := testcluster.Freezes(t, 3)
			for acting, other, i := a, b, 0; i < n; acting, other, i = other, acting, i+1 {
				acting.Freeze()
				waitCalls(other, 1)
				mark := acting.LogMark()
				acting.Continue()
				acting.WaitLogSince(mark, lost)
				waitCalls(other, 5)
			}
			a.Freeze() // now each write has its call in the log
			b.Freeze()
			all := slices.Concat(calls(a, "a"), calls(b, "b"))
			slices.SortStableFunc(all, func(a, b call) int { return cmp.Compare(a.at, b.at) })
			var terms, written []term
			byTime := map[string]term{}
			for _, one := range all {
				terms = append(terms, one.term)
				byTime[one.at] = one.term
			}
			for _, data := range versions() {
				if at := data["at"]; at != "" {
					of, known := byTime[at]
					if !known || of.replica != data["by"] {
						t.Errorf("%s has written without a call: %v", data["by"], data)
					}
					written = append(written, of)
				}
			}
			again, changes := repeated(terms), repeated(written)
			t.Logf("%s: %d freezes, %d calls and %d writes in all; after another replica had begun: %d calls, %d writes",
				kind, n, len(terms), len(written), again, changes)
			// A freeze can hit the moment between the question whether the handler may be called and the call itself. Such a call runs on,
			// but its writes are refused.
			if again > max(1, n/20) || changes != 0 {
				t.Errorf("replicas that were frozen called the handler %d times and wrote %d times while another one acted", again, changes)
			}
			if last := all[len(all)-1].term; last.number < n/2 {
				t.Errorf("the last call is of the term %v after %d freezes", last, n)
			}
		})
	}
}

// waitCalls waits for n calls more.
func waitCalls(p *kopftest.Process, n int) {
	p.T().Helper()
	for range n {
		p.WaitLogSince(p.LogMark(), called)
	}
}
