package leaderelection_test

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"slices"
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
	"github.com/kopf-dev/kopf/sdk/leaderelection"
)

const (
	frozenVar  = "KOPF_FROZEN_REPLICA" // kind, identity and namespace of the replica that the process is
	freezesVar = "KOPF_FREEZES"        // number of freezes of each kind
)

// freezes returns how many times to freeze a replica of each kind.
func freezes(t *testing.T) int {
	text := os.Getenv(freezesVar)
	if text == "" {
		return 3
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("%s=%s: want a number of freezes", freezesVar, text)
	}
	return n
}

// term is a term of a replica, in which it acts alone.
type term struct {
	by     string
	number int
}

// terms counts the terms of this process by its log.
type terms struct {
	slog.Handler
	current *atomic.Int64
}

func (t terms) Handle(ctx context.Context, r slog.Record) error {
	if strings.HasPrefix(r.Message, "Elected: ") || strings.HasPrefix(r.Message, "Handling more shards") {
		t.current.Add(1)
	}
	return t.Handler.Handle(ctx, r)
}

func (t terms) WithAttrs(a []slog.Attr) slog.Handler { return terms{t.Handler.WithAttrs(a), t.current} }

func (t terms) WithGroup(name string) slog.Handler {
	return terms{t.Handler.WithGroup(name), t.current}
}

// runReplica is the process of a replica. It prints a line for each call of its timer, which writes to its object.
func runReplica(spec string) error {
	part := strings.Split(spec, " ")
	kind, identity, namespace := part[0], part[1], part[2]
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		return err
	}
	var current atomic.Int64
	r := &kopf.Registry{}
	leaderelection.Register(r)
	kopf.Timer(r, configMaps, func(_ context.Context, tick *kopf.TimerTick[kopf.Object]) error {
		fmt.Println("call", time.Now().UnixNano(), current.Load())
		tick.Patch.Set("data.by", identity)
		tick.Patch.Set("data.term", strconv.FormatInt(current.Load(), 10))
		tick.Patch.Set("data.at", strconv.FormatInt(time.Now().UnixNano(), 10))
		return nil
	}, kopf.ID("tick"), kopf.Interval(50*time.Millisecond), kopf.Labels{"mine": "yes"})
	o := &kopf.Operator{
		Registry: r, Namespaces: []string{namespace}, Config: config,
		Logger: slog.New(terms{slog.NewTextHandler(os.Stdout, nil), &current}),
	}
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

// replica is the process of a replica, as its test sees it.
type replica struct {
	identity string
	process  *os.Process

	mu    sync.Mutex
	calls []call
	lost  int // number of terms that have ended
	lines []string
}

type call struct {
	at   int64
	term term
}

func (r *replica) read(out io.Reader) {
	for lines := bufio.NewScanner(out); lines.Scan(); {
		line := lines.Text()
		r.mu.Lock()
		var at int64
		var number int
		if n, _ := fmt.Sscanf(line, "call %d %d", &at, &number); n == 2 {
			r.calls = append(r.calls, call{at, term{r.identity, number}})
		} else {
			r.lines = append(r.lines, line)
		}
		if strings.Contains(line, "The lease is lost") || strings.Contains(line, "A shard is lost") {
			r.lost++
		}
		r.mu.Unlock()
	}
}

func (r *replica) state() (calls, lost int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.calls), r.lost
}

func (r *replica) allCalls() []call {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.calls)
}

func startReplica(t *testing.T, cluster *kopftest.Cluster, kind, identity string) *replica {
	t.Helper()
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), os.Args[0])
	cmd.Env = append(os.Environ(), frozenVar+"="+kind+" "+identity+" "+cluster.Namespace, "KUBECONFIG="+cluster.Kubeconfig())
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	r := &replica{identity: identity, process: cmd.Process}
	var reading sync.WaitGroup
	reading.Go(func() { r.read(out) })
	t.Cleanup(func() {
		_ = r.process.Signal(syscall.SIGCONT)
		_ = r.process.Signal(os.Interrupt)
		reading.Wait()
		if err := cmd.Wait(); err != nil {
			t.Errorf("%s: %v", identity, err)
		}
		if t.Failed() {
			t.Logf("%s:\n%s", identity, strings.Join(r.lines, "\n"))
		}
	})
	return r
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

// writes watches the object, and returns the terms of all that was written, in order.
func writes(t *testing.T, cluster *kopftest.Cluster) func() []term {
	t.Helper()
	var mu sync.Mutex
	var seen []term
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
				number, _ := strconv.Atoi(o.Data["term"])
				mu.Lock()
				defer mu.Unlock()
				seen = append(seen, term{o.Data["by"], number})
			},
		})
	})
	t.Cleanup(func() { stop(); watching.Wait() })
	return func() []term {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(seen)
	}
}

// A replica is frozen until another one acts, and runs on: it calls no handler and writes nothing before its next term.
func TestFreeze_FrozenReplicaDoesNothingOnceAnotherActs(t *testing.T) {
	for _, kind := range []string{"election", "shards"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			cluster := kopftest.New(t)
			create(cluster)
			written := writes(t, cluster)
			acting, other := startReplica(t, cluster, kind, "a"), (*replica)(nil)
			waitCalls(cluster, acting, 1)
			other = startReplica(t, cluster, kind, "b")
			n := freezes(t)
			for range n {
				calls, _ := other.state()
				_, lost := acting.state()
				signalTo(t, acting, syscall.SIGSTOP)
				waitCalls(cluster, other, calls+1)
				signalTo(t, acting, syscall.SIGCONT)
				cluster.WaitUntil(acting.identity+" knows that its term is over", func() bool {
					_, now := acting.state()
					return now > lost
				})
				calls, _ = other.state()
				waitCalls(cluster, other, calls+5)
				acting, other = other, acting
			}
			all := slices.Concat(acting.allCalls(), other.allCalls())
			slices.SortStableFunc(all, func(a, b call) int { return cmp.Compare(a.at, b.at) })
			called := make([]term, len(all))
			for i, one := range all {
				called[i] = one.term
			}
			calls, changes := repeated(called), repeated(written())
			t.Logf("%s: %d freezes, %d calls and %d writes in all; after another replica had begun: %d calls, %d writes",
				kind, n, len(called), len(written()), calls, changes)
			if calls != 0 || changes != 0 {
				t.Errorf("replicas that were frozen called the handler %d times and wrote %d times while another one acted", calls, changes)
			}
		})
	}
}

func signalTo(t *testing.T, r *replica, s os.Signal) {
	t.Helper()
	if err := r.process.Signal(s); err != nil {
		t.Fatal(err)
	}
}

func waitCalls(cluster *kopftest.Cluster, r *replica, calls int) {
	cluster.T().Helper()
	cluster.WaitUntil(fmt.Sprint(r.identity, " calls the handler for the ", calls, ". time"), func() bool {
		now, _ := r.state()
		return now >= calls
	})
}
