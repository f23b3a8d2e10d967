package reviews

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/admission"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
)

// sharing are operators that share a configuration. Each has a validating handler with its own name.
type sharing struct {
	*configurations
	t   *testing.T
	now time.Time
	log bytes.Buffer
}

func newSharing(t *testing.T) *sharing {
	return &sharing{configurations: &configurations{}, t: t, now: time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)}
}

func (s *sharing) operator(identity string, hs ...handlers.Handler) *webhooks {
	s.t.Helper()
	if hs == nil {
		hs = []handlers.Handler{{ID: identity}}
	}
	w := testWebhooks(s.t, s.configurations, io.MultiWriter(s.t.Output(), &s.log), hs...)
	w.identity = identity
	w.deps.Now = func() time.Time { return s.now }
	return w
}

func (s *sharing) write(all ...*webhooks) {
	s.t.Helper()
	for _, w := range all {
		if err := w.writeNow(s.t); err != nil {
			s.t.Fatal(err)
		}
	}
}

// want checks the webhooks in the configuration.
func (s *sharing) want(when string, ids ...string) {
	s.t.Helper()
	names := []string{}
	for _, id := range ids {
		names = append(names, id+".a.dev")
	}
	if got := s.names(validatingPath); !slices.Equal(got, names) {
		s.t.Errorf("%s: %q, want %q", when, got, names)
	}
}

// claims returns the operators with a claim.
func (s *sharing) claims() (operators []string) {
	annotations, _ := s.objects[validatingPath]["metadata"].(map[string]any)["annotations"].(map[string]any)
	for key, value := range annotations {
		var claim admission.Claim
		if err := json.Unmarshal([]byte(value.(string)), &claim); err != nil || !strings.HasPrefix(key, admission.ClaimPrefix) {
			s.t.Errorf("%s: %v: %v", key, value, err)
		}
		operators = append(operators, claim.Operator)
	}
	slices.Sort(operators)
	return operators
}

func TestWebhooks_NewestOperatorDecidesUntilItLeaves(t *testing.T) {
	s := newSharing(t)
	old, middle, young := s.operator("old"), s.operator("middle"), s.operator("young")
	s.write(old, middle)
	s.want("the next one has come", "middle")
	s.write(old, middle, old)
	s.want("the old one does not fight", "middle")
	s.write(young, middle, old)
	s.want("a third one has come", "young")
	if got := s.claims(); !slices.Equal(got, []string{"middle", "old", "young"}) {
		t.Errorf("claims: %q", got)
	}
	young.withdraw(t.Context())
	s.want("the newest one has left", "middle")
	old.withdraw(t.Context())
	s.want("the oldest one has left", "middle")
	middle.withdraw(t.Context())
	s.want("the last one has left")
	if got := s.claims(); len(got) != 0 {
		t.Errorf("claims: %q", got)
	}
}

func TestWebhooks_NewestOperatorLeavesNoUnansweredWebhooks(t *testing.T) {
	s := newSharing(t)
	old, young := s.operator("old"), s.operator("young")
	s.write(old, young)
	old.announced(admission.ClientConfig{URL: "https://elsewhere"}) // young does not know these webhooks
	s.write(old)
	young.withdraw(t.Context())
	s.want("the newest one has left")
	s.write(old)
	s.want("the next write of the old one", "old")
}

func TestWebhooks_ReplicasWithTheSameWebhooksKeepThem(t *testing.T) {
	s := newSharing(t)
	check := handlers.Handler{ID: "check"}
	one, two := s.operator("one", check), s.operator("two", check)
	s.write(one, two)
	two.withdraw(t.Context())
	s.want("one of two has left", "check")
	one.withdraw(t.Context())
	s.want("both have left")
}

func TestWebhooks_OlderCodeWithoutFamilyKeepsNewOnes(t *testing.T) {
	s := newSharing(t)
	old := s.operator("old", handlers.Handler{ID: "inject", Family: handlers.Mutate})
	s.write(old)
	young := s.operator("young")
	s.write(young, old)
	s.want("the old one has no validating handlers", "young")
	if got := s.names(mutatingPath); len(got) != 0 {
		t.Errorf("the young one has no mutating handlers, but there is %q", got)
	}
	old.withdraw(t.Context())
	s.want("the old one has left", "young")
}

func TestWebhooks_ClaimOfKilledOperatorExpires(t *testing.T) {
	s := newSharing(t)
	killed, op := s.operator("killed"), s.operator("op")
	s.write(op, killed)
	s.now = s.now.Add(admission.ClaimExpires - time.Second)
	s.write(op)
	s.want("shortly before", "killed")
	s.now = s.now.Add(time.Second)
	s.write(op)
	s.want("afterwards", "op")
	if got := s.claims(); !slices.Equal(got, []string{"op"}) {
		t.Errorf("claims: %q", got)
	}
	op.withdraw(t.Context())
	s.want("the other one has left")
}

func TestWebhooks_RestartedProcessContinuesItsClaim(t *testing.T) {
	s := newSharing(t)
	old, young := s.operator("old"), s.operator("young")
	s.write(old, young)
	s.write(s.operator("old")) // the old process was killed
	s.want("the old one is back", "young")
}

func TestWebhooks_RegistrationWhileAnotherLeavesIsKept(t *testing.T) {
	s := newSharing(t)
	old, young := s.operator("old"), s.operator("young")
	s.write(old)
	looks := 0
	s.refuse = func(method, path string) int { // called before each request
		if method == http.MethodPatch && path == validatingPath {
			if looks++; looks == 2 { // after the read, and before the removal
				s.refuse = nil
				s.mu.Unlock()
				s.write(young)
				s.mu.Lock()
			}
		}
		return 0
	}
	old.withdraw(t.Context())
	s.want("the old one has left", "young")
	if got := s.claims(); looks != 2 || !slices.Equal(got, []string{"young"}) {
		t.Errorf("after %d looks: %q", looks, got)
	}
}

func TestWebhooks_OtherAnnotationsStayAndBrokenClaimsGo(t *testing.T) {
	s := newSharing(t)
	s.objects = map[string]map[string]any{validatingPath: {"metadata": map[string]any{
		"name": "a.dev", "resourceVersion": "1", "annotations": map[string]any{"a": "b", admission.ClaimPrefix + "x": "{"},
	}, "webhooks": []any{}}}
	op := s.operator("op")
	s.write(op)
	op.withdraw(t.Context())
	s.want("it has left")
	if got := s.objects[validatingPath]["metadata"].(map[string]any)["annotations"].(map[string]any); len(got) != 1 || got["a"] != "b" {
		t.Errorf("annotations: %v", got)
	}
}
