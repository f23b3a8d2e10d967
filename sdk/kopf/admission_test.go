package kopf

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

// reviewCall returns a call of an admission handler. Empty texts are absent objects.
func reviewCall(t *testing.T, older, now string, warnings *[]string) *handlers.Call {
	t.Helper()
	parse := func(text string) *object.Object {
		if text == "" {
			return nil
		}
		o, err := object.Parse([]byte(text), object.ParseOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	review := &handlers.Review{
		Operation: "UPDATE", Subresource: "status", DryRun: true, Object: parse(now), Old: parse(older),
		User:   handlers.UserInfo{Username: "me", UID: "1", Groups: []string{"devs"}, Extra: map[string][]string{"k": {"v"}}},
		Header: map[string][]string{"User-Agent": {"test"}},
	}
	subject := review.Object
	if subject == nil {
		subject = review.Old
	}
	return &handlers.Call{
		Cause:   &handlers.Cause{Resource: &resources.Resource{Version: "v1", Plural: "kopfexamples"}, Object: subject, Review: review, Views: &handlers.Views{}},
		Handler: &handlers.Handler{Param: "param"}, Patch: patch.NewPatch(), Logger: slog.New(slog.NewTextHandler(t.Output(), nil)),
		Warn: func(more []string) { *warnings = append(*warnings, more...) },
	}
}

func TestAdmission_RequestHasAllFields(t *testing.T) {
	var got *Admission[sized]
	var warnings []string
	h := registered(t, func(r *Registry) {
		OnMutate(r, Resource("kopfexamples"), func(_ context.Context, a *Admission[sized]) error {
			got = a
			a.Warnf("%d is %s", 1, "one")
			Edit(a.Patch, func(s *sized) { s.Spec.Size++ })
			return AdmissionError{Message: "no", Code: 418}
		}, ID("inject"), When(func(_ context.Context, a *Admission[sized]) bool {
			return a.Old.Spec.Size == 3 && a.User.Username == "me"
		}))
	})
	call := reviewCall(t, `{"spec":{"size":3}}`, `{"metadata":{"name":"x"},"spec":{"size":30}}`, &warnings)
	if !h.When(t.Context(), call.Cause) {
		t.Error("the filter on the request is not met")
	}
	_, err := h.Invoke(t.Context(), call)
	var denial handlers.Denial
	if !errors.As(err, &denial) || denial.KopfCode() != 418 || err.Error() != "no" {
		t.Errorf("%v", err)
	}
	if diff := cmp.Diff([]string{"1 is one"}, warnings); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]any{"spec": map[string]any{"size": int64(31)}}, call.Patch.Tree()); diff != "" {
		t.Error(diff)
	}
	if got.Name != "x" || got.Object.Spec.Size != 30 || got.Old.Spec.Size != 3 || got.Operation != OperationUpdate || got.Subresource != "status" ||
		!got.DryRun || got.User.Groups[0] != "devs" || got.User.Extra["k"][0] != "v" || got.Header.Get("User-Agent") != "test" || got.Param != "param" {
		t.Errorf("%+v", got)
	}
}

func TestAdmission_ObjectsThatDoNotDecode(t *testing.T) {
	called := false
	var warnings []string
	h := registered(t, func(r *Registry) {
		OnValidate(r, Resource("kopfexamples"), func(_ context.Context, a *Admission[sized]) error {
			called = true
			return nil
		}, ID("check"))
	})
	const misfit = `{"spec":{"size":"big"}}`
	_, err := h.Invoke(t.Context(), reviewCall(t, "", misfit, &warnings))
	var denial handlers.Denial
	if !errors.As(err, &denial) || denial.KopfCode() != 422 || !strings.Contains(err.Error(), "spec.size") || called {
		t.Errorf("%v, called: %t", err, called)
	}
	// An invalid stored object does not matter: users must be able to repair or delete it.
	if _, err := h.Invoke(t.Context(), reviewCall(t, misfit, "", &warnings)); err != nil || !called {
		t.Errorf("%v, called: %t", err, called)
	}
}

func TestAdmission_MistakesInRegistrations(t *testing.T) {
	kex := Resource("kopfexamples")
	check := func(context.Context, *Admission[Object]) error { return nil }
	for says, register := range map[string]func(r *Registry){
		`Webhook.Operations has "PATCH"`:  func(r *Registry) { OnValidate(r, kex, check, ID("a"), Webhook{Operations: []Operation{"PATCH"}}) },
		"Webhook is given twice":          func(r *Registry) { OnMutate(r, kex, check, ID("a"), Webhook{}, Webhook{}) },
		"is a function literal":           func(r *Registry) { OnMutate(r, kex, check) },
		"has a webhook of its own":        func(r *Registry) { OnMutate(r, kex, check, ID("a")); OnValidate(r, kex, check, ID("a")) },
		"a value is checked without a fi": func(r *Registry) { OnMutate(r, kex, check, ID("a"), Value("x")) },
		"takes a *kopf.Change": func(r *Registry) {
			OnMutate(r, kex, check, ID("a"), When(func(context.Context, *Change[Object]) bool { return true }))
		},
	} {
		var r Registry
		register(&r)
		if err := r.Err(); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", says, err)
		}
	}
}

func TestAdmissionError_FoundThroughWrapping(t *testing.T) {
	for name, err := range map[string]error{
		"value": AdmissionError{Message: "no", Code: 418}, "pointer": &AdmissionError{Message: "no", Code: 418},
		"wrapped": fmt.Errorf("check: %w", AdmissionError{Message: "no", Code: 418}),
	} {
		marked := engineError(err)
		var denial handlers.Denial
		if !errors.As(marked, &denial) || denial.KopfCode() != 418 || marked.Error() != err.Error() || handlers.ErrorKindOf(marked) != handlers.KindAdmission {
			t.Errorf("%s: %v", name, marked)
		}
	}
	if got := handlers.ErrorKindOf(engineError(Permanentf("%w", AdmissionError{}))); got != handlers.KindPermanent {
		t.Errorf("the outermost error decides: %s", got)
	}
}

func TestMain_WebhookFlags(t *testing.T) {
	parse := func(args ...string) (*mainFlags, error) { return parseFlags("operator", args) }
	for _, args := range [][]string{
		{"--webhook-listen=127.0.0.1:0"},
		{"--webhook-listen=:9443", "--webhook-service=ns/name", "--webhook-cert=c", "--webhook-key=k", "--webhook-ca=ca", "--webhook-client-ca=x"},
		{"--webhook-listen=unix:/s", "--webhook-url=https://x/y", "--webhook-ca=ca", "--webhook-dev=s1"},
		{"--webhook-listen=unix:/s", "--webhook-config=c", "--webhook-dev=s1"},
		{"--webhook-managed=a.dev"},
		{"--webhook-listen=127.0.0.1:0", "--webhook-prefix=/x", "--webhook-dump-ca=x"},
	} {
		if _, err := parse(args...); err != nil {
			t.Errorf("%q: %v", args, err)
		}
	}
	for says, args := range map[string][]string{
		"requires --webhook-listen":  {"--webhook-url=https://x"},
		"excludes --webhook-service": {"--webhook-listen=:1", "--webhook-url=https://x", "--webhook-service=a/b"},
		"excludes --webhook-url":     {"--webhook-listen=:1", "--webhook-url=https://x", "--webhook-config=c"},
		"belong together":            {"--webhook-listen=127.0.0.1:0", "--webhook-cert=c"},
		"begins with a slash":        {"--webhook-listen=127.0.0.1:0", "--webhook-prefix=x"},
		"lower-case letters":         {"--webhook-dev=S_1"},
		"wants https":                {"--webhook-listen=:1", "--webhook-url=http://x"},
		"cannot end the names":       {"--webhook-managed=x"},
		"lacks the path":             {"--webhook-listen=unix:"},
		"certificates belong":        {"--webhook-listen=unix:/s", "--webhook-url=https://x", "--webhook-cert=c", "--webhook-key=k"},
		"cannot reach a socket":      {"--webhook-listen=unix:/s"},
		"want HOST:PORT":             {"--webhook-listen=x"},
		"listens on all addresses":   {"--webhook-listen=:9443"},
		"the namespace is missing":   {"--webhook-listen=:9443", "--webhook-service=x"},
	} {
		if _, err := parse(args...); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: want %q, got %v", args, says, err)
		}
	}
	f, err := parse("--webhook-listen=127.0.0.1:0", "--webhook-dev=s1")
	if err != nil {
		t.Fatal(err)
	}
	mine := AdmissionSettings{Managed: "mine.dev"}
	if got := f.admission.override(mine, listenerOf); got.Server == nil || got.Managed != "mine.dev" {
		t.Errorf("%+v", got)
	}
	if got := f.admission.override(AdmissionSettings{}, listenerOf); got.Managed != developmentManaged {
		t.Errorf("%+v", got)
	}
	if got := (&admissionFlags{}).override(mine, listenerOf); got.Server != nil || got.Managed != "mine.dev" {
		t.Errorf("%+v", got)
	}
	if !strings.Contains(f.usage, "--webhook-listen") {
		t.Error("the usage lacks the flags")
	}
}

func TestAdmission_DiffLeadsFromOldToNewObject(t *testing.T) {
	const older, now = `{"metadata":{"name":"x"},"spec":{"size":3,"hidden":"a"}}`, `{"metadata":{"name":"x"},"spec":{"size":4,"hidden":"b"}}`
	var got Diff
	h := registered(t, func(r *Registry) {
		OnValidate(r, Resource("kopfexamples"), func(_ context.Context, a *Admission[sized]) error {
			got = a.Diff()
			return nil
		}, ID("check"))
	})
	diff := func(older, now string) string {
		t.Helper()
		var warnings []string
		got = nil
		if _, err := h.Invoke(t.Context(), reviewCall(t, older, now, &warnings)); err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(got)
	}
	// Fields that the type of the handler lacks are compared, too.
	if got := diff(older, now); got != fmt.Sprint(Diff{{"spec.hidden", "a", "b"}, {"spec.size", int64(3), int64(4)}}) {
		t.Errorf("an update: %s", got)
	}
	if diff("", now); len(got) != 1 || got[0].Path != "" || got[0].Old != nil || got[0].New == nil {
		t.Errorf("a creation: %v", got)
	}
	if diff(older, ""); len(got) != 1 || got[0].Old == nil || got[0].New != nil {
		t.Errorf("a deletion: %v", got)
	}
	a := &Admission[sized]{Old: &sized{}, Object: &sized{}}
	a.Object.Spec.Size = 5
	if got := a.Diff(); len(got) != 1 || got[0].Path != "spec.size" || got[0].New != int64(5) {
		t.Errorf("a request of a test: %v", got)
	}
}
