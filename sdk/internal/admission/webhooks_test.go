package admission

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

func TestNames_Distinct(t *testing.T) {
	got := Names([]*handlers.Handler{{ID: "checkSize"}, {ID: "check_size"}, {ID: "checkURLPath"}, {ID: "checkSize"}, {ID: "x.Y"}})
	if got["checkURLPath"] != "check-url-path" || got["x.Y"] != "x.y" {
		t.Errorf("%q", got)
	}
	a, b := got["checkSize"], got["check_size"]
	if a == b || !strings.HasPrefix(a, "check-size-") || !strings.HasPrefix(b, "check-size-") {
		t.Errorf("%q and %q", a, b)
	}
}

func TestBuild_DevelopmentBlocksNobody(t *testing.T) {
	h := &handlers.Handler{ID: "check", Family: handlers.Validate, Selector: resources.Selector{Name: "pods"}, Admission: handlers.AdmissionOptions{Persistent: true}}
	o := Options{Client: ClientConfig{URL: "https://h"}, Suffix: "a.dev", Names: Names([]*handlers.Handler{h}), Development: true}
	selector := func(namespaces []string) LabelRequirement {
		o.Namespaces = namespaces
		w := Build([]*handlers.Handler{h}, o)[0]
		if w.FailurePolicy != PolicyIgnore || w.TimeoutSeconds != 10 {
			t.Errorf("%+v", w)
		}
		return w.NamespaceSelector.MatchExpressions[0]
	}
	for _, tt := range []struct {
		namespaces []string
		want       LabelRequirement
	}{
		{nil, LabelRequirement{Key: namespaceName, Operator: "NotIn", Values: systemNamespaces}},
		{[]string{"mine"}, LabelRequirement{Key: namespaceName, Operator: "In", Values: []string{"mine"}}},
		{[]string{}, LabelRequirement{Key: namespaceName, Operator: "DoesNotExist"}},
	} {
		if diff := cmp.Diff(tt.want, selector(tt.namespaces)); diff != "" {
			t.Errorf("%q: %s", tt.namespaces, diff)
		}
	}
	marks := SessionMarks("s1", time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC))
	if marks.Labels[SessionLabel] != "s1" || *marks.Annotations[ExpiryKey] != "2026-01-31T12:05:00Z" || ConfigurationName("a.dev", "s1") != "s1.a.dev" {
		t.Errorf("%+v", marks)
	}
}

func TestBuild_LabelsThatNoObjectCanHaveAreNotPushedDown(t *testing.T) {
	got := labelSelector(map[string]handlers.Criterion{
		"tier": handlers.EqualStringCriterion("gold"), "bad": handlers.EqualStringCriterion("a b"), "a b": handlers.Present,
	})
	want := &LabelSelector{MatchExpressions: []LabelRequirement{{Key: "tier", Operator: "In", Values: []string{"gold"}}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestCheckManaged(t *testing.T) {
	for name, ok := range map[string]bool{"claims.example.com": true, "a.b": true, "claims": false, "": false, "Claims.example.com": false, "a..b": false} {
		if err := CheckManaged(name); (err == nil) != ok {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestRespond_CodesOutsideOfErrorsAre500(t *testing.T) {
	for code, want := range map[int]int{0: 500, 200: 500, 399: 500, 400: 400, 599: 599, 600: 500} {
		if got := Respond([]error{handlers.AsDenial(errors.New("x"), code)}, nil, nil); got.Code != want || got.Allowed {
			t.Errorf("%d: %+v", code, got)
		}
	}
	long := Respond([]error{errors.New(strings.Repeat("é", maxMessage))}, nil, nil)
	if len(long.Message) > maxMessage+3 || !strings.HasSuffix(long.Message, "é…") {
		t.Errorf("%d bytes", len(long.Message))
	}
}
