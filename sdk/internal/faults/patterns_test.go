package faults

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopftest"
)

// trials is how many seeds each pattern is tried with.
const trials = 4

// try runs a pattern with several seeds.
func try(t *testing.T, names, operations int, plan func(seed uint64) kopftest.ChaosPlan, check func(*trial, *findings), configure ...func(*kopf.Operator)) {
	t.Helper()
	t.Parallel()
	first := kopftest.Seed(t)
	for seed := first; seed < first+trials; seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			x := newTrial(t, plan(seed), names, configure...)
			for x.operations < operations {
				x.operate()
				x.pace(20 * time.Millisecond)
			}
			found := x.settle()
			x.Logf("%d operations, %d calls; %v\n%s", x.operations, len(x.ledger.calls), found.Explained, x.chaos.Stats())
			check(x, found)
		})
	}
}

// pace sleeps for up to twice the mean.
func (x *trial) pace(mean time.Duration) {
	time.Sleep(time.Duration(x.random.Int64N(2 * int64(mean))))
}

// A process ends at any of its writes, before or after the API server gets it.
func TestPattern_CrashAtAnyWrite(t *testing.T) {
	try(t, 4, 60, func(seed uint64) kopftest.ChaosPlan {
		return kopftest.ChaosPlan{Seed: seed, KillWithin: 12}
	}, func(x *trial, found *findings) {
		x.check(found)
		if x.chaos.Stats().Kills == 0 {
			x.Error("no operator was killed")
		}
		for _, one := range found.repeated {
			if strings.Contains(one, "older") || strings.Contains(one, "old view") {
				x.Errorf("no view was old: %s", one)
			}
		}
	})
}

// A process connects again, and sees the objects as they were before.
func TestPattern_StaleViewAfterReconnect(t *testing.T) {
	try(t, 4, 60, func(seed uint64) kopftest.ChaosPlan {
		plan := kopftest.ChaosPlan{Seed: seed, KillWithin: 20}
		for _, rule := range kopftest.ChaosRules() {
			switch rule.Fault.Kind {
			case kopftest.FaultStale:
				rule.Chance = 0.5
				plan.Rules = append(plan.Rules, rule)
			case kopftest.FaultOutdated, kopftest.FaultReorder, kopftest.FaultDuplicate:
				rule.Chance = 0.2
				plan.Rules = append(plan.Rules, rule)
			}
		}
		return plan
	}, func(x *trial, found *findings) { x.check(found) })
}

// A stream breaks, and what happens in the meantime is never seen: changes between changes, deletions,
// and objects that are made again under the same name.
func TestPattern_MissedTransitions(t *testing.T) {
	try(t, 3, 60, func(seed uint64) kopftest.ChaosPlan {
		plan := kopftest.ChaosPlan{Seed: seed}
		add := func(chance float64, fault kopftest.Fault) {
			plan.Rules = append(plan.Rules, kopftest.FaultRule{Match: kopftest.Watches, Chance: chance, Fault: fault})
		}
		for events := range 4 {
			add(0.1, kopftest.Fault{Kind: kopftest.FaultDrop, Events: events})
			add(0.1, kopftest.Fault{Kind: kopftest.FaultStatus, Code: http.StatusGone, Events: events + 1})
			add(0.1, kopftest.Fault{Kind: kopftest.FaultTruncate, Events: events + 1})
			add(0.05, kopftest.Fault{Kind: kopftest.FaultSilence, Events: events + 1, Delay: 300 * time.Millisecond})
		}
		return plan
	}, func(x *trial, found *findings) {
		x.check(found)
		if len(found.Explained) > 0 {
			x.Errorf("the process has run all the time: there is nothing to explain %v", found.Explained)
		}
	})
}
