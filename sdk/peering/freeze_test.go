package peering_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
	"github.com/kopf-dev/kopf/sdk/internal/testcluster"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopftest"
)

const (
	frozenVar  = "KOPF_FROZEN_PEER" // identity, priority and namespace of the operator that the process is
	freezesVar = "KOPF_FREEZES"     // number of freezes of each kind
)

// shortLifetime is the lifetime of records in tests that freeze operators.
const shortLifetime = 3 * time.Second

// freezes returns how many times to freeze an operator.
func freezes(t *testing.T) int {
	text := os.Getenv(freezesVar)
	if text == "" {
		return 2
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("%s=%s: want a number of freezes", freezesVar, text)
	}
	return n
}

// looks counts how many times the operator has renewed its record after it had expired, by its log.
type looks struct {
	slog.Handler
	n *atomic.Int64
}

func (l looks) Handle(ctx context.Context, r slog.Record) error {
	if strings.Contains(r.Message, "counts again") {
		l.n.Add(1)
	}
	return l.Handler.Handle(ctx, r)
}

func (l looks) WithAttrs(a []slog.Attr) slog.Handler { return looks{l.Handler.WithAttrs(a), l.n} }

func (l looks) WithGroup(name string) slog.Handler { return looks{l.Handler.WithGroup(name), l.n} }

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
	var looked atomic.Int64
	r := &kopf.Registry{}
	kopf.Timer(r, kopf.Resource("v1", "configmaps"), func(_ context.Context, tick *kopf.TimerTick[kopf.Object]) error {
		fmt.Println("call", looked.Load())
		tick.Patch.Set("data.by", identity)
		tick.Patch.Set("data.looked", strconv.FormatInt(looked.Load(), 10))
		tick.Patch.Set("data.at", strconv.FormatInt(time.Now().UnixNano(), 10))
		return nil
	}, kopf.ID("tick"), kopf.Interval(50*time.Millisecond), kopf.Labels{"mine": "yes"})
	o := &kopf.Operator{
		Registry: r, Namespaces: []string{namespace}, Config: config, Identity: identity,
		Logger: slog.New(looks{slog.NewTextHandler(os.Stdout, nil), &looked}),
	}
	o.Settings.Peering.Priority, o.Settings.Peering.Lifetime, o.Settings.Peering.Mandatory = priority, shortLifetime, true
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	return o.Run(ctx)
}

// peerProcess is the process of an operator, as its test sees it.
type peerProcess struct {
	identity string
	process  *os.Process

	mu    sync.Mutex
	calls []int // looks of the operator before each call
	lines []string
}

func (p *peerProcess) read(out io.Reader) {
	for lines := bufio.NewScanner(out); lines.Scan(); {
		p.mu.Lock()
		var looked int
		if n, _ := fmt.Sscanf(lines.Text(), "call %d", &looked); n == 1 {
			p.calls = append(p.calls, looked)
		} else {
			p.lines = append(p.lines, lines.Text())
		}
		p.mu.Unlock()
	}
}

// calledSince counts the calls after so many, before the operator has looked so many times.
func (p *peerProcess) calledSince(calls, looked int) (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, call := range p.calls[calls:] {
		if call < looked {
			n++
		}
	}
	return n
}

func (p *peerProcess) called() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.calls)
}

func (p *peerProcess) logged(text string) (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, line := range p.lines {
		if strings.Contains(line, text) {
			n++
		}
	}
	return n
}

func (p *peerProcess) signal(t *testing.T, s os.Signal) {
	t.Helper()
	if err := p.process.Signal(s); err != nil {
		t.Fatal(err)
	}
}

func startPeer(t *testing.T, cluster *kopftest.Cluster, identity string, priority int) *peerProcess {
	t.Helper()
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), os.Args[0])
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s %d %s", frozenVar, identity, priority, cluster.Namespace), "KUBECONFIG="+cluster.Kubeconfig())
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &peerProcess{identity: identity, process: cmd.Process}
	var reading sync.WaitGroup
	reading.Go(func() { p.read(out) })
	t.Cleanup(func() {
		_ = p.process.Signal(syscall.SIGCONT)
		_ = p.process.Signal(os.Interrupt)
		reading.Wait()
		if err := cmd.Wait(); err != nil {
			t.Errorf("%s: %v", identity, err)
		}
		if t.Failed() {
			t.Logf("%s:\n%s", identity, strings.Join(p.lines, "\n"))
		}
	})
	return p
}

// write is a version of the object: who has written it, and how many times that operator had looked again.
type write struct {
	by     string
	looked int
}

// writes watches the object, and returns all versions that it has had.
func writes(t *testing.T, cluster *kopftest.Cluster) func() []write {
	t.Helper()
	var mu sync.Mutex
	var seen []write
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	var watching sync.WaitGroup
	watching.Go(func() {
		watch.Run(ctx, watch.Options{
			Client:    testcluster.Client(t, kube.ClientOptions{}),
			Resource:  &resources.Resource{Version: "v1", Plural: "configmaps", Kind: "ConfigMap", Namespaced: true},
			Namespace: cluster.Namespace,
			Logger:    slog.New(slog.DiscardHandler),
			Handle: func(e watch.Event) {
				var o struct{ Data map[string]string }
				if e.Object.Name != "x" || json.Unmarshal(e.Object.Raw, &o) != nil || o.Data["by"] == "" {
					return
				}
				looked, _ := strconv.Atoi(o.Data["looked"])
				mu.Lock()
				defer mu.Unlock()
				seen = append(seen, write{o.Data["by"], looked})
			},
		})
	})
	t.Cleanup(func() { stop(); watching.Wait() })
	return func() []write {
		mu.Lock()
		defer mu.Unlock()
		return append([]write(nil), seen...)
	}
}

// stale counts the writes of an operator before it has looked so many times, after another one has written.
func stale(all []write, by string, looked int) (n int) {
	other := false
	for _, w := range all {
		other = other || w.by != by
		if other && w.by == by && w.looked < looked {
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
			written := writes(t, cluster)
			frozen := startPeer(t, cluster, "frozen", 1)
			var peer *peerProcess
			calls, changes := 0, 0
			n := freezes(t)
			for i := range n {
				acts := frozen.called() + 1
				cluster.WaitUntil("the operator that will be frozen acts", func() bool { return frozen.called() >= acts })
				frozen.signal(t, syscall.SIGSTOP)
				begun := len(written())
				if peer == nil {
					peer = startPeer(t, cluster, fmt.Sprint("other-", i), other)
				}
				acts = peer.called() + 2
				cluster.WaitUntil("the other one acts", func() bool { return peer.called() >= acts })
				before := frozen.called()
				frozen.signal(t, syscall.SIGCONT)
				cluster.WaitUntil("the frozen one has looked again", func() bool { return frozen.logged("counts again") > i })
				if other == 1 {
					cluster.WaitUntil("both are paused", func() bool { return frozen.logged("Possibly conflicting operators") > i })
					peer.signal(t, os.Interrupt)
					peer = nil
				} else {
					acts = frozen.called() + 3
					cluster.WaitUntil("the frozen one acts again", func() bool { return frozen.called() >= acts })
				}
				calls += frozen.calledSince(before, i+1)
				changes += stale(written()[begun:], "frozen", i+1)
				// The operator does not warn if it notices the other one, and pauses, before it notices the expiry.
				if n := frozen.logged("level=WARN msg=\"The record of this operator"); n > i+1 || other == 0 && n < i+1 {
					t.Errorf("%d warnings after %d freezes", n, i+1)
				}
			}
			t.Logf("%s: %d freezes, %d calls and %d writes before it had looked again", name, n, calls, changes)
			if calls != 0 || changes != 0 {
				t.Errorf("it called the handler %d times and wrote %d times while another one acted", calls, changes)
			}
		})
	}
}
