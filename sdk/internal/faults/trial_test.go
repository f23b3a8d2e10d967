package faults

import (
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/testcluster"
	"github.com/kopf-dev/kopf/sdk/internal/testmain"
	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopf/logging"
	"github.com/kopf-dev/kopf/sdk/kopftest"
)

func TestMain(m *testing.M) { testmain.Run(m, testcluster.Exit) }

// logVar names a folder for the logs of the operators, at all levels, one for each trial.
const logVar = "KOPF_FAULTS_LOG"

// settleTimeout is how long objects may take to be handled once the faults have ended: the clock may
// have been half a minute ahead, and CI may be slow.
const settleTimeout = 5 * time.Minute

// trial is an operator under chaos whose objects are created, changed and deleted.
type trial struct {
	*testing.T
	cluster *kopftest.Cluster
	chaos   *kopftest.ChaosRun
	ledger  ledger
	history *history
	random  *rand.Rand

	objects    []*tried
	values     int
	operations int
}

// tried is a name that objects have one after the other.
type tried struct {
	kind   kind
	name   string
	handle *kopftest.Object // nil before the first
	value  string           // expected spec.value; empty if the object should not exist
}

// newTrial starts an operator under a plan, for so many names.
func newTrial(t *testing.T, plan kopftest.ChaosPlan, names int, configure ...func(*kopf.Operator)) *trial {
	t.Helper()
	return (&trial{T: t}).start(plan, names, configure...)
}

// start starts the operator of a trial.
func (x *trial) start(plan kopftest.ChaosPlan, names int, configure ...func(*kopf.Operator)) *trial {
	t := x.T
	t.Helper()
	x.cluster, x.random = kopftest.New(t), rand.New(rand.NewPCG(plan.Seed, 7)) //nolint:gosec // it has to be the same in each run
	for _, k := range kinds {
		x.cluster.Apply(k.definition())
	}
	for i := range names {
		x.objects = append(x.objects, &tried{kind: kinds[i%len(kinds)], name: fmt.Sprint("x", i)})
	}
	x.history = newHistory(t, x.cluster)
	x.ledger.version = x.history.version
	var log io.Writer = io.Discard
	if folder := os.Getenv(logVar); folder != "" {
		file, err := os.Create(filepath.Join(folder, strings.ReplaceAll(t.Name(), "/", "-")+".log"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { file.Close() })
		log = file
	}
	logger := slog.New(logging.NewHandler(io.MultiWriter(log, &x.ledger), &logging.Options{Level: slog.LevelDebug}))
	x.chaos = plan.Run(x.cluster, x.ledger.register, func(o *kopf.Operator) {
		o.Logger = logger
		o.Settings.Process.Inspector = ""
		o.Settings.Posting.Disabled = true // its requests would be most of the writes
		for _, one := range configure {
			one(o)
		}
	})
	return x
}

// operate creates, changes or deletes one of the objects.
func (x *trial) operate() {
	x.Helper()
	o := x.objects[x.random.IntN(len(x.objects))]
	what := x.random.IntN(100)
	x.values++
	value := fmt.Sprint("v", x.values)
	switch {
	case o.value == "":
		if known := x.history.named(o.kind, o.name); known != nil && !known.newest().gone {
			return // its deletion is not over
		}
		x.operations++
		o.handle = x.cluster.Create(map[string]any{
			"apiVersion": group + "/v1", "kind": o.kind.name, "metadata": map[string]any{"name": o.name}, "spec": map[string]any{"value": value},
		})
		o.value = value
		x.await(o.name+" is seen", func() bool {
			known := x.history.named(o.kind, o.name)
			return known != nil && !known.newest().gone
		})
	case what < 12:
		x.operations++
		o.handle.Delete()
		o.value = ""
	case what < 24: // several changes at once; the operator may miss some
		for i := range 3 {
			x.operations++
			o.value = fmt.Sprint(value, ".", i)
			o.handle.Set("spec.value", o.value)
		}
	default:
		x.operations++
		o.handle.Set("spec.value", value)
		o.value = value
	}
}

// await waits for a condition of the history.
func (x *trial) await(what string, condition func() bool) {
	x.Helper()
	for end := time.Now().Add(settleTimeout); !condition(); {
		if err := x.history.wait(100 * time.Millisecond); err != nil {
			x.Fatal(err)
		}
		if time.Now().After(end) {
			x.Fatalf("waited until %s for %s", what, settleTimeout)
		}
	}
}

// settle ends the chaos, and waits until everything is handled. It returns the findings.
func (x *trial) settle() *findings {
	x.Helper()
	operator := x.chaos.Calm()
	expected := map[string]string{}
	for _, o := range x.objects {
		if o.value != "" {
			expected[o.kind.name+" "+o.name] = o.value
		}
	}
	look := func() *findings { return inspect(x.history, &x.ledger, x.chaos.Proxy.Injected(), expected) }
	for end := time.Now().Add(settleTimeout); time.Now().Before(end) && look().pending(); {
		if err := x.history.wait(100 * time.Millisecond); err != nil {
			x.Fatal(err)
		}
	}
	found := look()
	operator.Stop()
	return found
}

// check fails the test if something is wrong. The findings come last, where a shortened log still has them.
func (x *trial) check(found *findings) {
	x.Helper()
	for _, one := range found.timelines {
		x.Log(one)
	}
	if !found.none() {
		x.Logf("the seed is in the first line; %s=FOLDER keeps the log of the operators", logVar)
	}
	for what, all := range map[string][]string{
		"repeated without a reason": found.Duplicates, "lost": found.Losses, "stuck": found.Stuck, "done twice": found.Doubled, "alarmed without a reason": found.Unneeded,
	} {
		for i, one := range all {
			if i == 10 {
				x.Errorf("%s: and %d more", what, len(all)-i)
				break
			}
			x.Errorf("%s: %s", what, one)
		}
	}
}
