package planning

import (
	"net/http"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

// inPlan makes the test run in a plan with a number of calls.
func inPlan(t *testing.T, calls int) {
	t.Helper()
	former := Calls
	Calls = calls
	t.Cleanup(func() { Calls = former })
}

func request(t *testing.T) *http.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPatch, "http://server.invalid/", nil)
	if err != nil {
		t.Fatal(err)
	}
	return req
}

func TestReadCalls_OfAnyValueMeansAPlan(t *testing.T) {
	for value, want := range map[string]int{"": 0, "3": 3, "0": 1, "-1": 1, "yes": 1} {
		if got := readCalls(value); got != want {
			t.Errorf("%q: got %d, want %d", value, got, want)
		}
	}
}

func TestSign_OutsideOfAPlanReturnsTheRequest(t *testing.T) {
	req := request(t)
	req = req.WithContext(WithAuthor(req.Context(), "create", "u1", 1))
	if signed := Sign(req); signed != req || len(req.Header) > 0 {
		t.Error(signed.Header)
	}
}

func TestSign_NamesTheHandlerOrTheEngine(t *testing.T) {
	inPlan(t, 2)
	req := request(t)
	if got := Sign(req).Header.Get(inspect.PlanHeader); got != "engine" || len(req.Header) > 0 {
		t.Errorf("got %q, %v", got, req.Header)
	}
	parent := WithAuthor(req.Context(), "create", "u1", 1)
	if got := Sign(req.WithContext(WithAuthor(parent, "create/sub", "u1", 3))).Header.Get(inspect.PlanHeader); got != "create/sub u1 3" {
		t.Errorf("got %q", got)
	}
}

func TestDelay_IsNoneBeforeTheLastCall(t *testing.T) {
	minute := time.Minute
	if got := Delay(1, &minute); got != &minute {
		t.Error(got)
	}
	inPlan(t, 2)
	if got := Delay(1, &minute); got != nil {
		t.Error(*got)
	}
	if got := Delay(2, &minute); got == nil || *got != inspect.PlanLater+minute {
		t.Error(got)
	}
	if got := Delay(2, nil); got == nil || *got != inspect.PlanLater {
		t.Error(got)
	}
}
