package kopftest

import (
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

const (
	budgetVar     = "KOPFTEST_CRASH_BUDGET"
	defaultBudget = time.Minute

	// failuresEnough is the number of failed points after which no further point is tried.
	failuresEnough = 3
)

// A CrashPlan describes the operator of [EveryCrash].
type CrashPlan struct {
	// Register registers the handlers. It is called for each life of the operator.
	Register func(*kopf.Registry)

	// Configure changes the settings, or other fields, before each start of the operator, as in [Cluster.Run]. Optional.
	Configure func(*kopf.Operator)

	// Outside records the calls of the operator to systems outside of the cluster. Optional.
	Outside *Outside

	bury     func(*run)    // receives each killed operator, to await its end later; if nil, each run awaits the ends of its killed operators
	patience time.Duration // limit of the wait for the outcome; 0 is the timeout of the test
}

// Crashing is a run of the scenario of [EveryCrash], in a separate namespace.
type Crashing struct {
	*Cluster
	run *crashRun
}

// Start starts the operator, and waits until it watches its resources. A scenario applies the definitions first, and must
// start the operator once.
func (c *Crashing) Start() {
	c.t.Helper()
	if c.run.current() != nil {
		c.t.Fatal("kopftest: the operator has been started already")
	}
	go c.run.replace(c.run.start())
	c.run.eachLife("waited until the operator is ready", func(*Operator) string { return "" })
}

// EveryCrash runs a scenario once without a crash, and then once for each crash point. Each write of the operator to the API
// server, and each call to [CrashPlan].Outside, has two points: before it and after it. At the point, EveryCrash kills the
// operator and starts a new one. Each time, the objects that the operator or the test has
// written must end as in the undisturbed run, and the calls must have the same number of effects.
//
//	func TestClaim_SurvivesEveryCrash(t *testing.T) {
//		kopftest.EveryCrash(t, kopftest.CrashPlan{Register: Register}, func(c *kopftest.Crashing) {
//			c.ApplyFile("crd.yaml")
//			c.Start()
//			claim := c.ApplyFile("obj.yaml")
//			c.WaitHandled(claim)
//			claim.Set("spec.size", "2Gi")
//			c.WaitHandled(claim)
//			claim.Delete()
//			claim.WaitGone()
//		})
//	}
//
// Objects are compared by the fields that the operator or the test has set, without times, UIDs, the data of Secrets, and
// names that the API server generates. Leases, peering objects and Kubernetes events are neither compared nor points, and webhook
// configurations are not compared.
//
// Each point is a subtest. Points with the same method, resource and changed fields are a class. EveryCrash always tries one point
// of each class. It tries the other points until the budget is used up, which is a minute or the value of the environment variable
// KOPFTEST_CRASH_BUDGET. After three failed points, it tries no further point. It logs which points were not tried, and shuffles
// the points beyond the classes by the [Seed], so that several runs of the test cover more of them.
//
// A killed handler continues inside of the test, but its requests, and its calls to the Outside, fail and have no effect.
// Variables of the package keep their values, unlike in a new process. The runs follow one another, and each calls the scenario.
func EveryCrash(t *testing.T, plan CrashPlan, scenario func(*Crashing)) {
	t.Helper()
	budget, random := crashBudget(t), rand.New(rand.NewPCG(Seed(t), 0)) //nolint:gosec // it has to be the same in each run
	start := time.Now()
	var dead []*run // killed operators, which end on their own while the next runs start, because their requests fail
	plan.bury = func(r *run) { dead = append(dead, r) }
	t.Cleanup(func() { awaitAll(t, dead) })
	undisturbed := undisturbedRun(t, plan, scenario)
	if len(undisturbed.points) == 0 {
		t.Fatal("kopftest: the operator has made no write and no call, so there is no point at which to kill it")
	}
	points, classes := orderPoints(undisturbed.points, random)
	var survived, failed int
	var untried []string
	for i, point := range points {
		if i >= classes && time.Since(start) > budget || failed >= failuresEnough {
			untried = append(untried, "not tried: "+point.String())
			continue
		}
		reached := true
		passed := t.Run(point.testName(), func(t *testing.T) {
			var differences string
			if reached, differences = point.run(t, plan, scenario, undisturbed.outcome); differences != "" {
				printed{t}.Errorf("kopftest: the operator was killed %s, and another one continued:\n%s", point, differences)
			}
		})
		switch {
		case !passed:
			failed++
		case reached:
			survived++
		default:
			untried = append(untried, "not reached: "+point.String())
		}
	}
	t.Logf("kopftest: the operator has survived %d of %d crashes, of %d classes, in %s\n%s",
		survived, len(points), classes, roughly(time.Since(start)), strings.Join(untried, "\n"))
	if survived+failed == 0 {
		t.Error("kopftest: no point was reached: the operator writes something else in each run")
	}
}

// awaitAll waits for the ends of killed operators, because no handler may run after the test.
func awaitAll(t testing.TB, dead []*run) {
	t.Helper()
	limit := time.After(time.Until(deadline(t, defaultTimeout)))
	for _, r := range dead {
		select {
		case <-r.ended:
		case <-limit:
			t.Error("kopftest: a killed operator does not end: a handler ignores its context")
			return
		}
	}
}

func crashBudget(t testing.TB) time.Duration {
	t.Helper()
	text := os.Getenv(budgetVar)
	if text == "" {
		return defaultBudget
	}
	budget, err := time.ParseDuration(text)
	if err != nil || budget < 0 {
		t.Fatalf("kopftest: %s=%s: want a duration such as 30s", budgetVar, text)
	}
	return budget
}

// undisturbedRun runs the scenario without a crash. It is no subtest, so that it also runs if only one point is selected.
func undisturbedRun(t *testing.T, plan CrashPlan, scenario func(*Crashing)) *crashRun {
	t.Helper()
	own := &scopedTest{TB: t}
	defer own.cleanUp()
	run := newCrashRun(own, plan, nil)
	scenario(&Crashing{run.cluster, run})
	run.settle()
	run.outcome = run.lastingOutcome()
	run.mu.Lock()
	points := slices.Clone(run.points)
	run.mu.Unlock()
	run.end()
	run.points = points // drops the points that end added by an orderly stop
	return run
}

// scopedTest is a part of a test with its own cleanup.
type scopedTest struct {
	testing.TB
	cleanups []func()
}

// Cleanup implements [testing.TB].
func (s *scopedTest) Cleanup(f func()) { s.cleanups = append(s.cleanups, f) }

func (s *scopedTest) cleanUp() {
	for _, f := range slices.Backward(s.cleanups) {
		f()
	}
}

// WaitHandled waits until the operator has successfully handled the version of an object that the test wrote last, as
// [Operator.WaitHandled] does. If the operator is killed in the meantime, the new operator must have handled it.
func (c *Crashing) WaitHandled(o *Object) {
	c.t.Helper()
	c.run.eachLife(o.String()+": waited until it is handled", func(op *Operator) string {
		_, failure := op.followState(o, handled)
		return failure
	})
}

// WaitFailed waits until the operator has handled the version of an object that the test wrote last, and at least one handler
// has failed permanently, as [Operator.WaitFailed] does.
func (c *Crashing) WaitFailed(o *Object) {
	c.t.Helper()
	c.run.eachLife(o.String()+": waited until a handler has failed permanently", func(op *Operator) string {
		_, failure := op.followState(o, failedForGood)
		return failure
	})
}
