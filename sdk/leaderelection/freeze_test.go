package leaderelection_test

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/kopf-dev/kopf/sdk/internal/frozen"
	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopftest"
	"github.com/kopf-dev/kopf/sdk/leaderelection"
)

// frozenVar has the kind, the identity and the namespace of the replica that the process is.
const frozenVar = "KOPF_FROZEN_REPLICA"

// runReplica is the process of a replica. It prints a line for each call of its timer, which writes to its object. The number
// of a call and of a write is the number of the replica's term.
func runReplica(spec string) error {
	part := strings.Split(spec, " ")
	kind, identity, namespace := part[0], part[1], part[2]
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		return err
	}
	terms := frozen.NewLogCounter(slog.NewTextHandler(os.Stdout, nil), "Elected: ", "Handling more shards")
	r := &kopf.Registry{}
	leaderelection.Register(r)
	kopf.Timer(r, configMaps, func(_ context.Context, tick *kopf.TimerTick[kopf.Object]) error {
		fmt.Println("call", time.Now().UnixNano(), terms.Count())
		tick.Patch.Set("data.by", identity)
		tick.Patch.Set("data.number", strconv.FormatInt(terms.Count(), 10))
		tick.Patch.Set("data.at", strconv.FormatInt(time.Now().UnixNano(), 10))
		return nil
	}, kopf.ID("tick"), kopf.Interval(50*time.Millisecond), kopf.Labels{"mine": "yes"})
	o := &kopf.Operator{Registry: r, Namespaces: []string{namespace}, Config: config, Logger: slog.New(terms)}
	o.Settings.Scaling = kopf.ScalingSettings{
		LeaseName: "replicas", LeaseNamespace: namespace, Identity: identity,
		LeaseDuration: 3 * time.Second, RenewDeadline: 2 * time.Second, RetryPeriod: 300 * time.Millisecond,
	}
	if kind == "shards" {
		o.Settings.Scaling.Shards = 1
	} else {
		o.Settings.Scaling.LeaderElection = true
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	return o.Run(ctx)
}

func startReplica(t *testing.T, cluster *kopftest.Cluster, kind, identity string) *frozen.Process {
	t.Helper()
	return frozen.Start(t, identity, frozenVar, kind+" "+identity+" "+cluster.Namespace, cluster.Kubeconfig())
}

// lostTerms returns how many terms of a replica have ended, as far as it knows.
func lostTerms(p *frozen.Process) int { return p.Count("The lease is lost", "A shard is lost") }

type call struct {
	at   int64
	term frozen.Write
}

// calls returns the calls of a replica's handler.
func calls(p *frozen.Process) (all []call) {
	for _, line := range p.Lines() {
		c := call{term: frozen.Write{By: p.Name}}
		if n, _ := fmt.Sscanf(line, "call %d %d", &c.at, &c.term.Number); n == 2 {
			all = append(all, c)
		}
	}
	return all
}

// repeated counts those of a sequence that belong to a term after a later term has begun.
func repeated(sequence []frozen.Write) (n int) {
	var order []frozen.Write
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
	a, b, again := frozen.Write{By: "a", Number: 1}, frozen.Write{By: "b", Number: 1}, frozen.Write{By: "a", Number: 2}
	if n := repeated([]frozen.Write{a, a, b, a, b, again, b}); n != 2 {
		t.Error(n)
	}
	if n := repeated([]frozen.Write{a, a, b, b, again, again}); n != 0 {
		t.Error(n)
	}
}

// A replica is frozen until another one acts, and runs on: it calls no handler and writes nothing before its next term.
func TestFreeze_FrozenReplicaDoesNothingOnceAnotherActs(t *testing.T) {
	for _, kind := range []string{"election", "shards"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			cluster := kopftest.New(t)
			create(cluster)
			written := frozen.Writes(t, cluster.Namespace, "x")
			acting, other := startReplica(t, cluster, kind, "a"), (*frozen.Process)(nil)
			waitCalls(cluster, acting, 1)
			other = startReplica(t, cluster, kind, "b")
			n := frozen.Freezes(t, 3)
			for range n {
				before, lost := len(calls(other)), lostTerms(acting)
				acting.Freeze(t)
				waitCalls(cluster, other, before+1)
				acting.Continue(t)
				cluster.WaitUntil(acting.Name+" knows that its term is over", func() bool { return lostTerms(acting) > lost })
				waitCalls(cluster, other, len(calls(other))+5)
				acting, other = other, acting
			}
			all := slices.Concat(calls(acting), calls(other))
			slices.SortStableFunc(all, func(a, b call) int { return cmp.Compare(a.at, b.at) })
			called := make([]frozen.Write, len(all))
			for i, one := range all {
				called[i] = one.term
			}
			again, changes := repeated(called), repeated(written())
			t.Logf("%s: %d freezes, %d calls and %d writes in all; after another replica had begun: %d calls, %d writes",
				kind, n, len(called), len(written()), again, changes)
			if again != 0 || changes != 0 {
				t.Errorf("replicas that were frozen called the handler %d times and wrote %d times while another one acted", again, changes)
			}
		})
	}
}

func waitCalls(cluster *kopftest.Cluster, p *frozen.Process, n int) {
	cluster.T().Helper()
	cluster.WaitUntil(fmt.Sprint(p.Name, " calls the handler for the ", n, ". time"), func() bool { return len(calls(p)) >= n })
}
