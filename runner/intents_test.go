package runner

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/kopf-dev/kopf/runner/settlement"
	"github.com/kopf-dev/kopf/sdk/inspect"
)

func TestIntent_AcceptedOrRejectedWithReason(t *testing.T) {
	dir := tree(t, map[string]string{"a/a.go": handlers("a", `r.Publish("one", "settled")`)})
	var got []string
	l := begin(t, Options{Dir: dir, Apply: func(_ context.Context, paths []string, _ settlement.Part) ([]settlement.Applied, error) {
		got = append(got, paths...)
		if paths[0] == "bad.yaml" {
			return nil, errors.New("bad.yaml:3: not YAML")
		}
		return nil, nil
	}})
	first := l.until("running", runs("one")).Process.PID
	for _, test := range []struct {
		intent Intent
		want   string
	}{
		{Intent{Kind: IntentPause}, "<nil>"},
		{Intent{Kind: IntentRetry, Object: &inspect.Ref{Name: "one"}}, "nothing to retry"},
		{Intent{Kind: IntentLogLevel, Value: "debug"}, "<nil>"},
		{Intent{Kind: IntentApply}, "no manifests to apply: the folders of the packages have none; name some with --apply"},
		{Intent{Kind: IntentApply, Value: "good.yaml"}, "<nil>"},
		{Intent{Kind: IntentApply, Value: "bad.yaml"}, "bad.yaml:3: not YAML"},
		{Intent{Kind: "dance"}, `unknown intent "dance"`},
		{Intent{Kind: IntentRestart}, "<nil>"},
	} {
		if got := fmt.Sprint(l.Do(t.Context(), test.intent)); got != test.want {
			t.Errorf("%s: %s", test.intent.Kind, got)
		}
	}
	if fmt.Sprint(got) != "[good.yaml bad.yaml]" {
		t.Errorf("the applied manifests are %v", got)
	}
	second := l.until("restarted", func(s *State) bool { return runs("one")(s) && s.Process.PID != first }).Process.PID
	if err := l.Do(t.Context(), Intent{Kind: IntentRebuild}); err != nil {
		t.Error(err)
	}
	l.until("rebuilt", func(s *State) bool { return runs("one")(s) && s.Process.PID != second })

	same := l.State().Process.PID
	write(t, dir, "a/a.go", handlers("a", `r.Publish("one", "settled")`)+"\n// a comment at the end\n")
	l.until("built again", func(s *State) bool {
		return len(s.Build.History) == 3 && len(s.Build.History[0].Files) == 1 && s.Build.Phase == BuildBuilt
	})
	if now := l.State().Process; now.PID != same || now.Phase != ProcessRunning {
		t.Errorf("a rebuild without a change of the binary restarted the operator: %+v", now)
	}
}
