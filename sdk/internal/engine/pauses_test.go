package engine

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
)

// operatorStates collects what is told about the operator.
type operatorStates []observe.OperatorChanged

func (*operatorStates) Kinds() []observe.Kind { return []observe.Kind{observe.KindOperatorChanged} }

func (s *operatorStates) Receive(event observe.Event) {
	*s = append(*s, event.(observe.OperatorChanged))
}

func (s *operatorStates) last() observe.OperatorChanged { return (*s)[len(*s)-1] }

func TestPauses_LastReasonResumes(t *testing.T) {
	now := time.Unix(1700000000, 0)
	d := &deps{state: &runState{}, sink: &observe.Sink{}, now: func() time.Time { return now }}
	var told operatorStates
	d.sink.Subscribe(&told)
	p := newPauses(d, newWakeup())
	request, peer := pauseKey{kind: inspect.PauseRequest}, pauseKey{kind: inspect.PausePeering, name: "default"}

	if !p.add(peer, inspect.Pause{Reason: "by a"}) || !d.state.paused.Load() || !d.state.wasPaused.Load() {
		t.Error("the first reason pauses")
	}
	began := now
	now = now.Add(time.Second)
	if !p.add(request, inspect.Pause{Reason: "on request"}) || p.add(peer, inspect.Pause{Reason: "by b", Until: now}) {
		t.Error("another reason is added, a known one is replaced")
	}
	want := observe.OperatorChanged{State: inspect.OperatorPaused, Reason: "by b; on request", Pauses: []inspect.Pause{
		{Kind: inspect.PausePeering, Reason: "by b", Since: began, Until: now},
		{Kind: inspect.PauseRequest, Reason: "on request", Since: now},
	}}
	if diff := cmp.Diff(want, told.last()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if removed, remaining := p.remove(peer); !removed || remaining != "on request" || !d.state.paused.Load() {
		t.Errorf("the other reason remains: %q", remaining)
	}
	if removed, _ := p.remove(peer); removed {
		t.Error("it is gone already")
	}
	if removed, remaining := p.remove(request); !removed || remaining != "" || d.state.paused.Load() {
		t.Errorf("nothing remains: %q", remaining)
	}
	if got := told.last(); got.State != inspect.OperatorStarting || got.Pauses != nil {
		t.Errorf("it was not ready before the pause: %+v", got)
	}
	p.becomeReady()
	p.add(request, inspect.Pause{Reason: "on request"})
	p.remove(request)
	if got := told.last(); got.State != inspect.OperatorRunning {
		t.Errorf("%+v", got)
	}
	p.beginStopping()
	p.add(peer, inspect.Pause{Reason: "by a"})
	if got := told.last(); got.State != inspect.OperatorStopping {
		t.Errorf("%+v", got)
	}
}
