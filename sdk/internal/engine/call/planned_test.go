package call

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/planning"
)

func TestInvoker_PlannedRetriesComeAtOnceUpToTheLimit(t *testing.T) {
	planning.Calls = 2
	defer func() { planning.Calls = 0 }()
	var authors []string
	try := func(family handlers.Family, retries int, err error) handlers.Outcome {
		i, _ := newTestInvoker(0)
		a := newTestAttempt(family, func(ctx context.Context) (any, error) {
			req, failed := http.NewRequestWithContext(ctx, http.MethodPatch, "http://server.invalid/", nil)
			if failed != nil {
				t.Fatal(failed)
			}
			authors = append(authors, planning.Sign(req).Header.Get(inspect.PlanHeader))
			return nil, err
		})
		a.Call.Cause, a.Retries, a.Started = &handlers.Cause{Object: &object.Object{UID: "u1"}}, retries, time.Now()
		out, _ := i.Try(t.Context(), a)
		return out
	}
	boom := errors.New("boom")
	if out := try(handlers.Create, 0, boom); out.Final || out.Delay != nil {
		t.Errorf("first call: %+v", out)
	}
	if out := try(handlers.Create, 1, boom); out.Final || out.Delay == nil || *out.Delay != inspect.PlanLater+time.Minute {
		t.Errorf("last call: %+v", out)
	}
	if out := try(handlers.Create, 5, &handlers.ChildrenRetry{}); out.Delay != nil {
		t.Errorf("sub-handlers: %+v", out)
	}
	if out := try(handlers.Create, 1, nil); !out.Final || out.Delay != nil {
		t.Errorf("success: %+v", out)
	}
	if len(authors) != 4 || authors[0] != "fn u1 1" || authors[1] != "fn u1 2" {
		t.Error(authors)
	}
}
