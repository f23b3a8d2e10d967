package peering_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/kopf-dev/kopf/sdk/internal/frozen"
	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopftest"
)

// frozenVar has the identity, the priority and the namespace of the operator that the process is.
const frozenVar = "KOPF_FROZEN_PEER"

// shortLifetime is the lifetime of records in tests that freeze operators.
const shortLifetime = 3 * time.Second

// again begins the log line of an operator that has renewed its record after the record had expired.
const again = "counts again"

// runPeer is the process of an operator. It prints a line for each call of its timer, which writes to its object.
func runPeer(spec string) error {
	part := strings.Split(spec, " ")
	identity, namespace := part[0], part[2]
	priority, err := strconv.Atoi(part[1])
	if err != nil {
		return err
	}
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		return err
	}
	looks := frozen.NewLogCounter(slog.NewTextHandler(os.Stdout, nil), again)
	r := &kopf.Registry{}
	kopf.Timer(r, kopf.Resource("v1", "configmaps"), func(_ context.Context, tick *kopf.TimerTick[kopf.Object]) error {
		fmt.Println("call", looks.Count())
		tick.Patch.Set("data.by", identity)
		tick.Patch.Set("data.number", strconv.FormatInt(looks.Count(), 10))
		tick.Patch.Set("data.at", strconv.FormatInt(time.Now().UnixNano(), 10))
		return nil
	}, kopf.ID("tick"), kopf.Interval(50*time.Millisecond), kopf.Labels{"mine": "yes"})
	o := &kopf.Operator{
		Registry: r, Namespaces: []string{namespace}, Config: config, Identity: identity,
		Logger: slog.New(looks),
	}
	o.Settings.Peering.Priority, o.Settings.Peering.Lifetime, o.Settings.Peering.Mandatory = priority, shortLifetime, true
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	return o.Run(ctx)
}

func startPeer(t *testing.T, cluster *kopftest.Cluster, identity string, priority int) *frozen.Process {
	t.Helper()
	return frozen.Start(t, identity, frozenVar, fmt.Sprintf("%s %d %s", identity, priority, cluster.Namespace), cluster.Kubeconfig())
}

// calls returns how many times an operator had looked again before each call of its handler.
func calls(p *frozen.Process) (all []int) {
	for _, line := range p.Lines() {
		var looked int
		if n, _ := fmt.Sscanf(line, "call %d", &looked); n == 1 {
			all = append(all, looked)
		}
	}
	return all
}

// staleCalls counts the calls before the operator had looked so many times.
func staleCalls(all []int, looked int) (n int) {
	for _, call := range all {
		if call < looked {
			n++
		}
	}
	return n
}

// stale counts the writes of an operator before it has looked so many times, after another one has written.
func stale(all []frozen.Write, by string, looked int) (n int) {
	other := false
	for _, w := range all {
		other = other || w.By != by
		if other && w.By == by && w.Number < looked {
			n++
		}
	}
	return n
}

// An operator is frozen until its record has expired and another operator acts. When it runs on, it calls no handler and
// writes nothing before it has renewed the record and looked at the peers.
func TestPeering_FrozenOperatorActsOnlyOnceItHasLookedAgain(t *testing.T) {
	for name, other := range map[string]int{"of a lower priority": 0, "of the same priority": 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cluster := newCluster(t)
			peeringObject(cluster, "default")
			cluster.Create(tree{"apiVersion": "v1", "kind": "ConfigMap", "metadata": tree{"name": "x", "labels": tree{"mine": "yes"}}})
			written := frozen.Writes(t, cluster.Namespace, "x")
			sleeper := startPeer(t, cluster, "frozen", 1)
			var peer *frozen.Process
			called, changes := 0, 0
			n := frozen.Freezes(t, 2)
			for i := range n {
				acts := len(calls(sleeper)) + 1
				cluster.WaitUntil("the operator that will be frozen acts", func() bool { return len(calls(sleeper)) >= acts })
				sleeper.Freeze(t)
				begun := len(written())
				if peer == nil {
					peer = startPeer(t, cluster, fmt.Sprint("other-", i), other)
				}
				acts = len(calls(peer)) + 2
				cluster.WaitUntil("the other one acts", func() bool { return len(calls(peer)) >= acts })
				before := len(calls(sleeper))
				sleeper.Continue(t)
				cluster.WaitUntil("the frozen one has looked again", func() bool { return sleeper.Count(again) > i })
				if other == 1 {
					cluster.WaitUntil("both are paused", func() bool { return sleeper.Count("Possibly conflicting operators") > i })
					peer.Interrupt(t)
					peer = nil
				} else {
					acts = len(calls(sleeper)) + 3
					cluster.WaitUntil("the frozen one acts again", func() bool { return len(calls(sleeper)) >= acts })
				}
				called += staleCalls(calls(sleeper)[before:], i+1)
				changes += stale(written()[begun:], "frozen", i+1)
				// The operator does not warn if it notices the other one, and pauses, before it notices the expiry.
				if n := sleeper.Count("level=WARN msg=\"The record of this operator"); n > i+1 || other == 0 && n < i+1 {
					t.Errorf("%d warnings after %d freezes", n, i+1)
				}
			}
			t.Logf("%s: %d freezes, %d calls and %d writes before it had looked again", name, n, called, changes)
			if called != 0 || changes != 0 {
				t.Errorf("it called the handler %d times and wrote %d times while another one acted", called, changes)
			}
		})
	}
}
