package leaderelection_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/testcluster"
	"github.com/kopf-dev/kopf/sdk/internal/testmain"
	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopf/meter"
	"github.com/kopf-dev/kopf/sdk/kopftest"
	"github.com/kopf-dev/kopf/sdk/leaderelection"
)

func TestMain(m *testing.M) {
	kopftest.RunAs("replica", replica)
	kopftest.RunAs("keeper", keeper)
	testmain.Run(m, testcluster.Exit)
}

var configMaps = kopf.Resource("v1", "configmaps")

// elected makes an operator one of the replicas in the namespace of the test.
func elected(cluster *kopftest.Cluster, identity string) func(*kopf.Operator) {
	return func(o *kopf.Operator) {
		o.Settings.Scaling = kopf.ScalingSettings{
			LeaderElection: true, LeaseName: "replicas", LeaseNamespace: cluster.Namespace, Identity: identity,
			LeaseDuration: 12 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 300 * time.Millisecond,
		}
	}
}

// longLease makes the lease last longer than any test: another replica can acquire it only after a release.
func longLease(o *kopf.Operator) {
	o.Settings.Scaling.LeaseDuration, o.Settings.Scaling.RenewDeadline = time.Hour, 50*time.Minute
}

// daemons notes which replica runs the daemon of the object, and that only one does.
type daemons struct {
	t       *testing.T
	mu      sync.Mutex
	running string
	runs    map[string]int
	reasons map[string]kopf.StopReason
}

func newDaemons(t *testing.T) *daemons {
	return &daemons{t: t, runs: map[string]int{}, reasons: map[string]kopf.StopReason{}}
}

func (d *daemons) register(replica string) func(*kopf.Registry) {
	return func(r *kopf.Registry) {
		leaderelection.Register(r)
		kopf.Daemon(r, configMaps, func(_ context.Context, run *kopf.DaemonRun[kopf.Object]) error {
			d.mu.Lock()
			if d.running != "" {
				d.t.Errorf("%s starts the daemon while %s runs it", replica, d.running)
			}
			d.running = replica
			d.runs[replica]++
			d.mu.Unlock()
			<-run.Stopping()
			d.mu.Lock()
			defer d.mu.Unlock()
			d.running = ""
			d.reasons[replica] = run.StopReason()
			return nil
		}, kopf.ID("daemon"), kopf.Labels{"mine": "yes"})
	}
}

func (d *daemons) waitRuns(cluster *kopftest.Cluster, replica string, runs int) {
	cluster.T().Helper()
	cluster.WaitUntil(fmt.Sprint("the daemon runs in ", replica, " for the ", runs, ". time"), func() bool {
		d.mu.Lock()
		defer d.mu.Unlock()
		return d.running == replica && d.runs[replica] == runs
	})
}

func waitStandby(op *kopftest.Operator, leader string) {
	op.T().Helper()
	op.WaitInspect("it stands by", func(s *inspect.Snapshot) bool {
		return s.Operator.State == inspect.OperatorPaused && len(s.Operator.Pauses) == 1 &&
			s.Operator.Pauses[0].Kind == inspect.PauseStandby && strings.Contains(s.Operator.Reason, leader)
	})
}

// states are metrics of which only the state is read.
type states struct {
	meter.None
	read func() meter.State
}

func (s *states) Begin(_ []meter.Handler, read func() meter.State) (end func()) {
	s.read = read
	return func() {}
}

// served returns the URL of the liveness endpoint, which is at a free port.
func served(op *kopftest.Operator) string {
	op.T().Helper()
	op.WaitLog("Serving http://127.0.0.1:")
	for _, e := range op.LogEntries() {
		if url, ok := strings.CutPrefix(e.Message, "Serving "); ok && strings.HasSuffix(url, "/healthz") {
			return url
		}
	}
	op.T().Fatal("the liveness endpoint is not served")
	return ""
}

func create(cluster *kopftest.Cluster) {
	cluster.Create(map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "x", "labels": map[string]any{"mine": "yes"}},
	})
}

func lease(cluster *kopftest.Cluster) *kopftest.Object {
	return cluster.Object("leases.coordination.k8s.io", "replicas")
}

func TestLeaderElection_OneActsTheOtherStandsBy(t *testing.T) {
	t.Parallel()
	cluster, d := kopftest.New(t), newDaemons(t)
	create(cluster)
	first := cluster.Run(d.register("first"), elected(cluster, "first"), longLease)
	d.waitRuns(cluster, "first", 1)
	second := cluster.Launch(d.register("second"), elected(cluster, "second"), longLease, func(o *kopf.Operator) {
		o.Settings.Process.Liveness = "http://127.0.0.1:0/healthz"
	})
	waitStandby(second, "first")
	resp, err := http.Get(served(second)) //nolint:gosec,noctx // an own endpoint
	if err != nil {
		t.Fatal(err)
	}
	text, _ := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Errorf("a replica that stands by is not healthy: %d, %s", resp.StatusCode, text)
	}
	http.DefaultClient.CloseIdleConnections()

	first.Stop()
	d.waitRuns(cluster, "second", 1)
	second.WaitReady()
}

func TestLeaderElection_KilledLeaderIsReplaced(t *testing.T) {
	t.Parallel()
	cluster, d := kopftest.New(t), newDaemons(t)
	create(cluster)
	first := cluster.Run(d.register("first"), elected(cluster, "first"))
	d.waitRuns(cluster, "first", 1)
	second := cluster.Launch(d.register("second"), elected(cluster, "second"))
	waitStandby(second, "first")
	first.Kill()
	d.waitRuns(cluster, "second", 1)
}

func TestLeaderElection_LeaseTakenByHandPausesAndIsAcquiredAgain(t *testing.T) {
	t.Parallel()
	cluster, d := kopftest.New(t), newDaemons(t)
	create(cluster)
	m := &states{}
	op := cluster.Run(d.register("only"), elected(cluster, "only"), func(o *kopf.Operator) { o.Settings.Process.Metrics = m })
	d.waitRuns(cluster, "only", 1)
	if now := m.read(); !now.Leads || now.TimesElected != 1 || now.LeasesLost != 0 {
		t.Errorf("the metrics are %+v", now)
	}
	lease(cluster).Patch(map[string]any{"spec": map[string]any{"holderIdentity": "somebody"}})
	waitStandby(op, "somebody")
	d.waitRuns(cluster, "only", 2) // the operator has not exited
	if reason := d.reasons["only"]; reason != kopf.StopOperatorPausing {
		t.Errorf("the daemon is told: %v", reason)
	}
	op.WaitLog("Elected: this replica handles the objects")
	op.WaitLog("The lease is lost")
	if now := m.read(); !now.Leads || now.TimesElected != 2 || now.LeasesLost != 1 {
		t.Errorf("the metrics are %+v", now)
	}

	op.Stop()
	lease(cluster).WaitFor("it is released", func(o *kopf.Object) bool { return kopf.GetOr(o, "spec.holderIdentity", "") == "" })
}

func TestLeaderElection_WithoutElectorIsRefused(t *testing.T) {
	t.Parallel()
	cluster := kopftest.New(t)
	err := cluster.RunError(func(*kopf.Registry) {}, elected(cluster, "only"))
	if !strings.Contains(err.Error(), "call leaderelection.Register(r)") {
		t.Error(err)
	}
}
