package kopftest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

// A ChaosPlan describes the faults that an operator must survive: see [Chaos]. Its fields can be changed before
// [ChaosPlan.Run]. The zero value of a field disables its kind of fault. A life is one run of the operator.
type ChaosPlan struct {
	// Seed decides which faults happen, and when: see [Faults].
	Seed uint64

	// Rules are the faults of requests and streams. Chaos sets them to [ChaosRules].
	Rules []FaultRule

	// KillWithin ends each life of the operator at a random one of its first KillWithin writes. Most lives end by a kill,
	// before or after the write reaches the API server, and some by a stop. The next life starts at once. Chaos sets it to
	// 50.
	KillWithin int

	// Weather is the mean time between two events that affect all requests: the server restarts, closes all connections,
	// replaces its certificate, or refuses all writes for up to 4 seconds; or the operator's clock jumps. Chaos sets it to
	// 2s.
	Weather time.Duration

	// Jump is the maximum jump of the clock, forward or back. Chaos sets it to 30s.
	Jump time.Duration
}

// Chaos returns a plan with all kinds of faults. The plan depends only on the seed. One line runs an operator under the
// plan:
//
//	chaos := kopftest.Chaos(kopftest.Seed(t)).Run(cluster, Register)
//	claim := cluster.ApplyFile("obj.yaml")
//	claim.Set("spec.size", "2Gi")
//	operator := chaos.Calm()
//	operator.WaitHandled(claim)
//
// The same seed leads to the same kills, and to the same faults for the same requests. The timing depends on the machine,
// so a replay is similar to the run, but not identical.
func Chaos(seed uint64) ChaosPlan {
	return ChaosPlan{Seed: seed, Rules: ChaosRules(), KillWithin: 50, Weather: 2 * time.Second, Jump: 30 * time.Second}
}

// A ChaosRun is an operator under a [ChaosPlan]: one life after another.
type ChaosRun struct {
	Proxy *FaultProxy
	Clock Clock

	plan    ChaosPlan
	cluster *Cluster

	// The following fields belong to the goroutine of live while it runs.
	op       *Operator
	failures int // number of consecutive lives that were never ready

	calming chan struct{}
	calm    func() // closes calming, once
	ended   sync.WaitGroup

	mu    sync.Mutex
	death death
	stats ChaosStats

	life    atomic.Int64
	refusal atomic.Int64 // status of the response to all writes; 0 if writes pass
}

// ChaosStats count the lives of an operator and the faults injected so far.
type ChaosStats struct {
	Lives   int            // number of lives
	Kills   int            // number of lives that were killed
	Stops   int            // number of lives that were stopped
	Failed  int            // number of lives that ended on their own with an error, for example without credentials
	Weather map[string]int // number of events by kind: "server restarted", "connections closed", "certificate replaced", "writes refused", "clock jumped"
	Faults  map[string]int // number of faults by [Fault.String]
}

// death is the planned end of one life of the operator.
type death struct {
	writes int // number of writes until the life ends; negative if no end is planned
	stop   chan struct{}
	how    FaultKind // FaultKill, or FaultNone for a stop
	after  bool
	doomed bool // the end has started and cannot be cancelled
}

// Run runs an operator under the plan until [ChaosRun.Calm], or until the end of the test. It shortens the delays and
// timeouts of the network, so that a fault costs milliseconds, and a silence 2 seconds. Then the functions change the
// settings as in [Cluster.Run]. A goroutine of the run calls register for each life of the operator. Calm returns the
// [Operator] to wait for.
func (p ChaosPlan) Run(c *Cluster, register func(*kopf.Registry), configure ...func(*kopf.Operator)) *ChaosRun {
	c.t.Helper()
	c.t.Logf("kopftest: chaos with the seed %d", p.Seed)
	run := &ChaosRun{plan: p, cluster: c, calming: make(chan struct{})}
	run.calm = sync.OnceFunc(func() { close(run.calming) })
	run.stats.Weather = map[string]int{}
	run.death.writes = -1
	run.Proxy = c.FaultProxy(Faults{Seed: p.Seed, Rules: slices.Concat(run.deaths(), run.refusals(), p.Rules)})
	run.op = c.newOperator(register, append([]func(*kopf.Operator){run.Proxy.Connect, run.Clock.Use, hurry}, configure...))
	c.t.Cleanup(func() {
		run.end()
		run.op.halt()
		run.op.log.close()
	})
	run.ended.Go(run.live)
	if p.Weather > 0 {
		run.ended.Go(run.weather)
	}
	return run
}

// hurry shortens the operator's timeouts and delays. It cannot shorten Retry-After, which has whole seconds.
func hurry(o *kopf.Operator) {
	ms := time.Millisecond
	s := &o.Settings
	s.Networking.RequestTimeout = 2 * time.Second
	s.Networking.ConnectTimeout = 2 * time.Second
	s.Networking.ErrorBackoffs = slices.Values([]time.Duration{10 * ms, 20 * ms, 50 * ms, 100 * ms, 200 * ms, 300 * ms, 500 * ms, 1000 * ms})
	s.Watching.ReconnectBackoff = 10 * ms
	s.Watching.ConnectTimeout = 2 * time.Second
	s.Watching.InactivityTimeout = 2 * time.Second
	s.Queueing.ErrorDelays = slices.Values([]time.Duration{10 * ms, 50 * ms, 200 * ms, 1000 * ms})
	s.Queueing.ExitTimeout = 100 * ms
	s.Execution.DefaultRetryDelay = 50 * ms
}

// Life returns the number of the operator's current life, from 1; 0 before the first life.
func (r *ChaosRun) Life() int { return int(r.life.Load()) }

// Stats returns the counts so far.
func (r *ChaosRun) Stats() ChaosStats {
	r.mu.Lock()
	stats := r.stats
	stats.Weather = maps.Clone(stats.Weather)
	r.mu.Unlock()
	stats.Faults = map[string]int{}
	for _, f := range r.Proxy.Injected() {
		if f.Fault.Kind != FaultNone {
			stats.Faults[f.Fault.String()]++
		}
	}
	return stats
}

// Calm ends all faults of the plan, and corrects the clock. It waits until the operator is ready, and returns the operator,
// whose last life continues to run.
func (r *ChaosRun) Calm() *Operator {
	r.cluster.t.Helper()
	r.end()
	if r.op.run == nil {
		r.cluster.t.Fatal("kopftest: the operator could not be started again; see above")
	}
	r.cluster.mu.Lock()
	r.cluster.operators = append(r.cluster.operators, r.op)
	r.cluster.mu.Unlock()
	r.op.WaitReady()
	return r.op
}

// end ends the chaos and keeps the last life running.
func (r *ChaosRun) end() {
	r.calm()
	r.Proxy.Calm()
	r.ended.Wait()
	r.Clock.Correct()
	r.Proxy.Up()
}

// live runs one life after another.
func (r *ChaosRun) live() {
	for {
		r.op.launch()
		stop := r.begin()
		run := r.op.run
		select {
		case <-r.Proxy.Killed():
			r.count(func(s *ChaosStats) { s.Kills++ })
		case <-stop:
			r.count(func(s *ChaosStats) { s.Stops++ })
		case <-run.ended:
			r.count(func(s *ChaosStats) { s.Failed++ })
		case <-r.calming:
			if r.spare() {
				if !r.endsEarly(run) {
					return
				}
				r.count(func(s *ChaosStats) { s.Failed++ })
				break
			}
			select { // the end of this life has started, so wait for it
			case <-r.Proxy.Killed():
			case <-stop:
			case <-run.ended:
			}
		}
		r.op.run = nil
		run.stop()
		if !r.op.awaitEnd(run) || !r.recovers(run) {
			return
		}
	}
}

// endsEarly reports whether the run ends before it is ready, for example because a fault has refused its credentials before the calm.
func (r *ChaosRun) endsEarly(run *run) bool {
	waiting, cancel := r.cluster.context()
	defer cancel()
	select {
	case <-run.ready:
	case <-waiting.Done(): // reported by [Operator.WaitReady]
	case <-run.ended:
		select {
		case <-run.ready:
		default:
			return true
		}
	}
	return false
}

// failuresInRow is the number of consecutive lives that may fail to start. Beyond it, the reason is a defect, not chance.
const failuresInRow = 100

// recovers reports whether to start another life after the given run ended. It returns false after too many failed starts.
// After a failed start, it waits first.
func (r *ChaosRun) recovers(run *run) bool {
	select {
	case <-run.ready:
		r.failures = 0
		return true
	default:
	}
	if run.err == nil {
		return true
	}
	if r.failures++; errors.Is(run.err, kopf.ErrRegistration) || r.failures >= failuresInRow {
		r.cluster.t.Errorf("kopftest: the operator does not start, for the %d. time in a row: %v", r.failures, run.err)
		return false
	}
	r.rest(restartPause)
	return true
}

// restartPause is the time between a failed start and the next life.
const restartPause = 50 * time.Millisecond

func (r *ChaosRun) count(what func(*ChaosStats)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	what(&r.stats)
}

// begin decides how the new life ends, and returns a channel that closes when it should stop.
func (r *ChaosRun) begin() <-chan struct{} {
	life := r.life.Add(1)
	random := rand.New(rand.NewPCG(r.plan.Seed, uint64(life))) //nolint:gosec // it has to be the same in each run
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stats.Lives++
	r.death = death{writes: -1, stop: make(chan struct{}), how: FaultKill, after: random.IntN(2) == 0}
	select {
	case <-r.calming:
		return r.death.stop
	default:
	}
	if r.plan.KillWithin > 0 {
		r.death.writes = random.IntN(r.plan.KillWithin)
	}
	if random.IntN(5) == 0 {
		r.death.how = FaultNone
	}
	return r.death.stop
}

// spare cancels the planned end of the current life. It returns false if the end has already started.
func (r *ChaosRun) spare() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.death.writes = -1
	return !r.death.doomed
}

// deaths returns the rules that end lives.
func (r *ChaosRun) deaths() []FaultRule {
	die := func(how FaultKind, after bool) func(*http.Request) bool {
		return func(*http.Request) bool {
			r.mu.Lock()
			defer r.mu.Unlock()
			if r.death.writes != 0 || r.death.how != how || r.death.after != after {
				return false
			}
			r.death.writes, r.death.doomed = -1, true
			return true
		}
	}
	counted := func(req *http.Request) bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		if Writes(req) && r.death.writes > 0 {
			r.death.writes--
		}
		return false
	}
	atWrite := func(match func(*http.Request) bool) func(*http.Request) bool {
		return func(req *http.Request) bool { return Writes(req) && match(req) }
	}
	stop := func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		select {
		case <-r.death.stop:
		default:
			close(r.death.stop)
		}
	}
	return []FaultRule{
		{Match: atWrite(die(FaultKill, false)), Fault: Fault{Kind: FaultKill}},
		{Match: atWrite(die(FaultKill, true)), Fault: Fault{Kind: FaultKill, AfterEffect: true}},
		{Match: atWrite(die(FaultNone, false)), Fault: Fault{Kind: FaultNone, Do: stop}},
		{Match: atWrite(die(FaultNone, true)), Fault: Fault{Kind: FaultNone, AfterEffect: true, Do: stop}},
		{Match: counted},
	}
}

const (
	// downtime is the maximum time that a restarting server is unreachable.
	downtime = 500 * time.Millisecond
	// refusalTime is the maximum time that all writes are refused. It is longer than the operator retries them.
	refusalTime = 4 * time.Second
)

// refusalCodes are the status codes of refused writes.
var refusalCodes = []int{
	http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusConflict, http.StatusUnprocessableEntity,
	http.StatusTooManyRequests, http.StatusServiceUnavailable,
}

// refusals returns the rules that refuse all writes.
func (r *ChaosRun) refusals() []FaultRule {
	var rules []FaultRule
	for _, code := range refusalCodes {
		rules = append(rules, FaultRule{
			Match: func(req *http.Request) bool { return int(r.refusal.Load()) == code && Writes(req) },
			Fault: Fault{Kind: FaultStatus, Code: code},
		})
	}
	return rules
}

// weather disturbs all requests from time to time.
func (r *ChaosRun) weather() {
	random := rand.New(rand.NewPCG(r.plan.Seed, 1<<63)) //nolint:gosec // it has to be the same in each run
	events := []struct {
		name string
		do   func() error
	}{
		{"server restarted", func() error {
			err := r.Proxy.down()
			r.rest(time.Duration(random.Int64N(int64(downtime))))
			return errors.Join(err, r.Proxy.up())
		}},
		{"connections closed", r.Proxy.disconnect},
		{"certificate replaced", r.Proxy.rotateCertificate},
		{"writes refused", func() error {
			r.refusal.Store(int64(refusalCodes[random.IntN(len(refusalCodes))]))
			r.rest(time.Duration(random.Int64N(int64(refusalTime))))
			r.refusal.Store(0)
			return nil
		}},
		{"clock jumped", func() error {
			r.Clock.Correct()
			if r.plan.Jump > 0 {
				r.Clock.Jump(time.Duration(random.Int64N(2*int64(r.plan.Jump)+1)) - r.plan.Jump)
			}
			return nil
		}},
	}
	for {
		if !r.rest(time.Duration((0.5 + random.Float64()) * float64(r.plan.Weather))) {
			return
		}
		event := events[random.IntN(len(events))]
		if err := event.do(); err != nil {
			r.cluster.t.Errorf("kopftest: chaos: %s: %v", event.name, err) // only the test's goroutine may call Fatalf
			return
		}
		r.count(func(s *ChaosStats) { s.Weather[event.name]++ })
	}
}

// rest waits. It reports whether the chaos continues.
func (r *ChaosRun) rest(d time.Duration) bool {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	select {
	case <-ctx.Done():
		return true
	case <-r.calming:
		return false
	}
}

// String returns the counts as text.
func (s ChaosStats) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d lives: %d killed, %d stopped, %d failed\n", s.Lives, s.Kills, s.Stops, s.Failed)
	for _, counts := range []map[string]int{s.Weather, s.Faults} {
		for _, name := range slices.Sorted(maps.Keys(counts)) {
			fmt.Fprintf(&b, "%6d × %s\n", counts[name], name)
		}
	}
	return b.String()
}
