package runner

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/runner/settlement"
	"github.com/kopf-dev/kopf/sdk/inspect"
)

// afterSetup returns a function that applies manifests, all of which come after those that others need.
func afterSetup(apply func(paths []string) ([]settlement.Applied, error)) func(context.Context, []string, settlement.Part) ([]settlement.Applied, error) {
	return func(_ context.Context, paths []string, part settlement.Part) ([]settlement.Applied, error) {
		if part.Stage == settlement.StageSetup {
			return nil, nil
		}
		return apply(paths)
	}
}

// reviewedThings are manifests of an operator that reviews things.
type reviewedThings struct {
	refuse error // the answer to the thing

	mu     sync.Mutex
	stages []string
}

func (a *reviewedThings) apply(_ context.Context, _ []string, part settlement.Part) ([]settlement.Applied, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.stages = append(a.stages, string(part.Stage)+" "+strings.Join(part.Reviewed, ","))
	if part.Stage != settlement.StageReviewed {
		return nil, nil
	}
	if a.refuse != nil {
		return nil, a.refuse
	}
	return []settlement.Applied{{Ref: inspect.Ref{Resource: "things.v1.example.com", Namespace: "default", Name: "one", UID: "one"}, Version: "5", Change: "created"}}, nil
}

func (a *reviewedThings) kinds(context.Context, string, []string) ([]string, error) {
	return []string{"Thing.example.com"}, nil
}

// applied returns the stages that were applied.
func (a *reviewedThings) applied() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return strings.Join(a.stages, "; ")
}

const allStages = "setup ; unreviewed Thing.example.com; reviewed Thing.example.com"

func TestRun_ReviewedObjectsAreAppliedWhenTheOperatorIsReady(t *testing.T) {
	opts, printed := headlessOptions(t, `r.Review("installed"); r.Publish("one", "settled"); r.Print("ready")`)
	things := &reviewedThings{}
	opts.Manifests, opts.Reviewed, opts.UntilSettled, opts.Timeout = []string{"x.yaml"}, things.kinds, true, timeLimit
	opts.Apply = func(ctx context.Context, paths []string, part settlement.Part) ([]settlement.Applied, error) {
		if started := strings.Contains(printed(), "ready"); started != (part.Stage == settlement.StageReviewed) {
			t.Errorf("%s: the operator has started: %t", part.Stage, started)
		}
		return things.apply(ctx, paths, part)
	}
	if code, err := Run(t.Context(), opts); code != 0 || err != nil {
		t.Errorf("%d, %v", code, err)
	}
	if got := things.applied(); got != allStages {
		t.Errorf("it applied %s", got)
	}
}

func TestRun_DeniedObjectEndsWithTheMessage(t *testing.T) {
	for _, until := range []bool{true, false} {
		opts, _ := headlessOptions(t, `r.Review("installed")`)
		things := &reviewedThings{refuse: errors.New("x.yaml:1: Thing one: denied the request: too big")}
		opts.Manifests, opts.Reviewed, opts.Apply, opts.UntilSettled = []string{"x.yaml"}, things.kinds, things.apply, until
		code, err := Run(t.Context(), opts)
		if code != 1 || !errors.Is(err, things.refuse) {
			t.Errorf("until settled %t: %d, %v", until, code, err)
		}
	}
}

func TestRun_GoesOnAfterTheLastPart(t *testing.T) {
	opts, _ := headlessOptions(t, `r.Review("installed")`)
	things := &reviewedThings{}
	opts.Manifests, opts.Reviewed, opts.Apply = []string{"x.yaml"}, things.kinds, things.apply
	signals := make(chan os.Signal)
	opts.Signals = signals
	opts.Progress = func(_ bool, line string) {
		if strings.HasPrefix(line, "applied 1 object: 1 created") {
			go func() { signals <- os.Interrupt }()
		}
	}
	if code, err := Run(t.Context(), opts); code != 0 || err != nil || things.applied() != allStages {
		t.Errorf("%d, %v; it applied %s", code, err, things.applied())
	}
}

func TestRun_NamesWhatKeepsTheOperatorFromGettingReady(t *testing.T) {
	opts, _ := headlessOptions(t, `r.Review("pending")`)
	things := &reviewedThings{}
	opts.Manifests, opts.Reviewed, opts.Apply, opts.Timeout = []string{"x.yaml"}, things.kinds, things.apply, 10*time.Second
	code, err := Run(t.Context(), opts)
	late, ok := errors.AsType[*settlement.NotReadyError](err)
	const want = "the operator is not ready after 10s; the objects that it reviews are not applied: Thing.example.com\ncheck: its webhook is not installed yet\n"
	if code != 1 || !ok || !strings.HasPrefix(late.Error(), want) {
		t.Errorf("%d, %v", code, err)
	}
	if strings.Contains(things.applied(), "; reviewed") {
		t.Errorf("it applied %s", things.applied())
	}
}

func TestRun_EndOfTheOperatorBeforeTheLastPartIsAFailure(t *testing.T) {
	opts, _ := headlessOptions(t, `r.Exit(0)`)
	things := &reviewedThings{}
	opts.Manifests, opts.Reviewed, opts.Apply = []string{"x.yaml"}, things.kinds, things.apply
	code, err := Run(t.Context(), opts)
	if code != 1 || err == nil || err.Error() != "the operator exited before the objects that it reviews were applied: Thing.example.com" {
		t.Errorf("%d, %v", code, err)
	}
}

func TestSession_ReviewedObjectsAreAppliedWhenTheOperatorIsReady(t *testing.T) {
	dir := tree(t, map[string]string{"a/a.go": handlers("a", `r.Review("installed"); r.Publish("one", "settled")`)})
	things := &reviewedThings{}
	l := begin(t, Options{Dir: dir, Manifests: []string{"x.yaml"}, Apply: things.apply, Reviewed: things.kinds})
	if err := l.Settled(t.Context(), timeLimit); err != nil {
		t.Error(err)
	}
	if got := things.applied(); got != allStages {
		t.Errorf("it applied %s", got)
	}
	if s := l.State().Application; len(s.Objects) != 1 || len(s.Waiting) != 0 {
		t.Errorf("the application is %+v", s)
	}
}

func TestSession_SettledWaitsForTheLastPart(t *testing.T) {
	dir := tree(t, map[string]string{"a/a.go": handlers("a", `r.Review("pending"); r.Publish("one", "settled")`)})
	things := &reviewedThings{}
	l := begin(t, Options{Dir: dir, Manifests: []string{"x.yaml"}, Apply: things.apply, Reviewed: things.kinds})
	l.until("running", runs("one"))
	err := l.Settled(t.Context(), time.Second)
	if err == nil || !strings.Contains(err.Error(), "not applied yet, because the operator reviews them: Thing.example.com") {
		t.Errorf("got %v", err)
	}
}

func TestSession_DeniedObjectEndsUnattendedSession(t *testing.T) {
	dir := tree(t, map[string]string{"a/a.go": handlers("a", `r.Review("installed")`)})
	things := &reviewedThings{refuse: errors.New("denied the request: too big")}
	l := begin(t, Options{Dir: dir, Manifests: []string{"x.yaml"}, Apply: things.apply, Reviewed: things.kinds, Unattended: true})
	err := <-l.ended
	l.ended <- nil
	if !errors.Is(err, things.refuse) {
		t.Errorf("got %v", err)
	}
}
