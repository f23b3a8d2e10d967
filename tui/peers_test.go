package tui

import (
	"reflect"
	"strings"
	"testing"

	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/sdk/inspect"
)

// asked fails the test unless the last intent is this one.
func (u *user) asked(want runner.Intent) *user {
	u.t.Helper()
	if n := len(u.source.intents); n == 0 || !reflect.DeepEqual(u.source.intents[n-1], want) {
		u.t.Fatalf("asked for %+v; want %+v", u.source.intents, want)
	}
	return u
}

func TestPeers_FreezeAndRelease(t *testing.T) {
	u := start(t, "peers", 140, 40).press("6").sees("· 6 shows the peers")
	for _, text := range []string{"▸ active", "‖ paused", "me  bob@desk/2026/x7f", "restoring the database", "KopfPeering default in test, which does not exist"} {
		u.sees(text)
	}
	u.press("x").sees("✓ released alice@laptop").asked(runner.Intent{Kind: runner.IntentRelease, Value: "alice@laptop"})
	u.press("j", "x").sees("this operator would come back at once")
	u.press("f").sees("✓ frozen for 10m").asked(runner.Intent{Kind: runner.IntentFreeze, Value: "10m"})
	u.publish(func(s *runner.State) { s.Snapshot.Operator.Peerings = nil }).sees("takes part in no peering")
	u.press("f").sees("the operator takes part in no peering")
}

func TestPeers_MarkThisOperatorWhateverItsName(t *testing.T) {
	u := start(t, "peers", 80, 24).press("6")
	u.publish(func(s *runner.State) {
		peers := s.Snapshot.Operator.Peerings[0].Peers
		for i := range peers {
			if peers[i].Self {
				peers[i].Identity = "alice@" + strings.Repeat("laptop", 20) + "/20260131120000/x7f"
			}
		}
	}).sees("me  alice@laptop")
}

func TestPauseKey_DoesNotResumeForPeers(t *testing.T) {
	u := start(t, "peers", 120, 40).press("p").asked(runner.Intent{Kind: runner.IntentPause})
	u.publish(func(s *runner.State) {
		s.Snapshot.Operator.Pauses = append(s.Snapshot.Operator.Pauses, inspect.Pause{Kind: inspect.PauseRequest, Reason: "on request"})
	}).sees("p resumes").press("p").asked(runner.Intent{Kind: runner.IntentResume})
}

func TestObject_HeldAndLetGo(t *testing.T) {
	u := start(t, "normal", 120, 40)
	ref := u.app.screen.State.Objects[0].Ref
	for i := range u.source.State().Snapshot.Objects {
		if o := u.source.State().Snapshot.Objects[i]; o.Ref == ref && o.Paused != nil {
			t.Fatal("it is held already")
		}
	}
	u.press("H")
	held := u.source.intents[len(u.source.intents)-1]
	if held.Kind != runner.IntentPauseObject || held.Object == nil || held.Value == "" {
		t.Fatalf("%+v", held)
	}
	u.publish(func(s *runner.State) {
		for i := range s.Snapshot.Objects {
			if o := s.Snapshot.Objects[i]; o.Ref == *held.Object {
				o.State, o.Paused = inspect.StatePaused, &inspect.ObjectPause{Reason: held.Value}
			}
		}
	}).sees("‖ paused").press("H").asked(runner.Intent{Kind: runner.IntentPauseObject, Object: held.Object})
}
