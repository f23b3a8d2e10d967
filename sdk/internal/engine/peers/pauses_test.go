package peers

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
)

// operatorStates collects the emitted states of the operator.
type operatorStates []observe.OperatorChanged

func (*operatorStates) Kinds() []observe.Kind { return []observe.Kind{observe.KindOperatorChanged} }

func (s *operatorStates) Receive(event observe.Event) {
	*s = append(*s, event.(observe.OperatorChanged))
}

func (s *operatorStates) last() observe.OperatorChanged { return (*s)[len(*s)-1] }

func TestPauses_LastReasonResumes(t *testing.T) {
	now := time.Unix(1700000000, 0)
	d := &core.Deps{State: &core.RunState{}, Sink: &observe.Sink{}, Now: func() time.Time { return now }}
	var told operatorStates
	d.Sink.Subscribe(&told)
	p := NewPauses(d, core.NewWakeup())
	request, peer := PauseKey{Kind: inspect.PauseRequest}, PauseKey{Kind: inspect.PausePeering, name: "default"}

	if !p.Add(peer, inspect.Pause{Reason: "by a"}) || !d.State.Paused.Load() || d.State.Pauses.Load() != 1 {
		t.Error("the first reason pauses")
	}
	began := now
	now = now.Add(time.Second)
	if !p.Add(request, inspect.Pause{Reason: "on request"}) || p.Add(peer, inspect.Pause{Reason: "by b", Until: now}) {
		t.Error("another reason is added, a known one is replaced")
	}
	want := observe.OperatorChanged{State: inspect.OperatorPaused, Reason: "by b; on request", Pauses: []inspect.Pause{
		{Kind: inspect.PausePeering, Reason: "by b", Since: began, Until: now},
		{Kind: inspect.PauseRequest, Reason: "on request", Since: now},
	}}
	if diff := cmp.Diff(want, told.last()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if removed, remaining := p.Remove(peer); !removed || remaining != "on request" || !d.State.Paused.Load() {
		t.Errorf("the other reason remains: %q", remaining)
	}
	if removed, _ := p.Remove(peer); removed {
		t.Error("it is gone already")
	}
	if removed, remaining := p.Remove(request); !removed || remaining != "" || d.State.Paused.Load() {
		t.Errorf("nothing remains: %q", remaining)
	}
	if got := told.last(); got.State != inspect.OperatorStarting || got.Pauses != nil {
		t.Errorf("it was not ready before the pause: %+v", got)
	}
	p.Become(inspect.OperatorRunning)
	p.Add(request, inspect.Pause{Reason: "on request"})
	p.Remove(request)
	if got := told.last(); got.State != inspect.OperatorRunning {
		t.Errorf("%+v", got)
	}
	p.Become(inspect.OperatorStopping)
	p.Add(peer, inspect.Pause{Reason: "by a"})
	if got := told.last(); got.State != inspect.OperatorStopping {
		t.Errorf("%+v", got)
	}
}
