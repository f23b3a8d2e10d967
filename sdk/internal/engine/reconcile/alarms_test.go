package reconcile

import (
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/children"
	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

// alarmList is a subscriber that keeps the alarms that are not over.
type alarmList struct {
	mu      sync.Mutex
	lasting []inspect.Alarm
}

func (l *alarmList) raised() []inspect.Alarm {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lasting
}

func (l *alarmList) Kinds() []observe.Kind { return []observe.Kind{observe.KindAlarmChanged} }

func (l *alarmList) Receive(e observe.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	changed := e.(observe.AlarmChanged)
	l.lasting = slices.DeleteFunc(slices.Clone(l.lasting), func(a inspect.Alarm) bool { return a.Kind == changed.Alarm.Kind })
	if !changed.Over {
		l.lasting = append(l.lasting, changed.Alarm)
	}
}

// alarmed is a pass of a parent with a child.
func alarmed() (*Pass, *desired, *alarmList) {
	sink, list := &observe.Sink{}, &alarmList{}
	sink.Subscribe(list)
	f := newFamily(&Reconciler{deps: &core.Deps{Now: time.Now, Sink: sink, Logger: slog.New(slog.DiscardHandler)}, prefix: "kopf.dev"}, &resources.Resource{Group: "example.com", Version: "v1", Plural: "shops"}, nil)
	k := &kind{family: f, children: map[childName]*child{}, resource: &resources.Resource{Version: "v1", Plural: "configmaps", Kind: "ConfigMap"}}
	parent := &parent{object: &object.Object{Name: "shop"}, children: map[*child]struct{}{}}
	f.parents[""] = parent
	c := &child{kind: k, Digest: children.Digest{Name: "shop"}}
	k.children[childName{name: "shop"}] = c
	parent.children[c] = struct{}{}
	p := &Pass{family: f, parent: parent, subject: &observe.Subject{Logger: slog.New(slog.DiscardHandler)}}
	return p, &desired{kind: k, to: target{resource: k.resource}, name: childName{name: "shop"}}, list
}

func TestAlarms_FightLastsAsLongAsItsReverts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, d, alarms := alarmed()
		revert := func() {
			time.Sleep(d.kind.children[d.name].fight.wait(time.Now()) + time.Millisecond)
			p.countFight(d, children.Drift{Path: "data.a", Manager: "other"})
		}
		for n := range 20 {
			revert()
			if raised := len(alarms.raised()) > 0; raised != (n >= fightCount-1) {
				t.Fatalf("after %d reverts: %+v", n+1, alarms.raised())
			}
		}
		if a := alarms.raised()[0]; a.Kind != inspect.AlarmFight || a.Field != "data.a" || a.Manager != "other" || a.Child.Name != "shop" || a.Object.Name != "shop" {
			t.Errorf("%+v", a)
		}
		time.Sleep(2*longestDelay + time.Second)
		if synctest.Wait(); len(alarms.raised()) != 0 {
			t.Errorf("the alarm outlives the fight: %+v", alarms.raised())
		}
		for range fightCount { // the next fight
			revert()
		}
		if len(alarms.raised()) != 1 {
			t.Errorf("%d alarms about the next fight", len(alarms.raised()))
		}
		p.family.mu.Lock()
		p.family.remove(d.kind, d.name)
		p.family.mu.Unlock()
		if len(alarms.raised()) != 0 {
			t.Errorf("the alarm outlives the child: %+v", alarms.raised())
		}
	})
}

func TestAlarms_BrakeCountsParentsUntilTheyArePruned(t *testing.T) {
	p, d, alarms := alarmed()
	var held []*Pass
	for i := range brakeAtLeast + 3 {
		one := *p
		one.parent, one.owner = &parent{braking: true}, &object.Object{Name: fmt.Sprint(i)}
		if one.braked(d) {
			held = append(held, &one)
			one.braked(d) // another child
		}
	}
	if len(held) != 3 || len(alarms.raised()) != 1 || alarms.raised()[0].Count != 3 || alarms.raised()[0].Resource != "configmaps.v1" || alarms.raised()[0].Object.Resource != "shops.v1.example.com" {
		t.Fatalf("%d are held: %+v", len(held), alarms.raised())
	}
	for i, one := range held {
		one.family.mu.Lock()
		one.family.unbrake(one.parent)
		one.family.mu.Unlock()
		if left := len(held) - i - 1; left > 0 && alarms.raised()[0].Count != left || left == 0 && len(alarms.raised()) != 0 {
			t.Errorf("%d are left: %+v", left, alarms.raised())
		}
	}
}
