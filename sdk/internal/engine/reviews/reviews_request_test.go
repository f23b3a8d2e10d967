package reviews

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
)

func TestReviews_UnverifiedCertificatesNeverReachHandlers(t *testing.T) {
	var got *tls.ConnectionState
	r := testReviews(t, admissionHandlers(doing("check", func(_ context.Context, call *handlers.Call) error {
		got = call.Cause.Review.TLS
		return nil
	})), kex)
	cert := &x509.Certificate{Raw: []byte("x")}
	for name, tt := range map[string]struct {
		state *tls.ConnectionState
		want  int
	}{
		"without TLS": {nil, 0},
		"unverified":  {&tls.ConnectionState{PeerCertificates: []*x509.Certificate{cert}}, 0},
		"verified":    {&tls.ConnectionState{PeerCertificates: []*x509.Certificate{cert}, VerifiedChains: [][]*x509.Certificate{{cert}}}, 1},
	} {
		req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/check", strings.NewReader(reviewOf("CREATE", "")))
		req.TLS = tt.state
		got = nil
		r.ServeHTTP(httptest.NewRecorder(), req)
		if (got == nil) != (tt.state == nil) || got != nil && len(got.PeerCertificates) != tt.want {
			t.Errorf("%s: the handler sees %+v", name, got)
		}
	}
}

func TestReviews_HeadersHaveTheHost(t *testing.T) {
	var got map[string][]string
	r := testReviews(t, admissionHandlers(doing("check", func(_ context.Context, call *handlers.Call) error {
		got = call.Cause.Review.Header
		return nil
	})), kex)
	req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "https://hooks.example.com:8443/check", strings.NewReader(reviewOf("CREATE", "")))
	req.Header.Set("Authorization", "Bearer x")
	r.ServeHTTP(httptest.NewRecorder(), req)
	if header := http.Header(got); header.Get("Host") != "hooks.example.com:8443" || header.Get("Authorization") != "Bearer x" {
		t.Errorf("the handler sees %q", got)
	}
}

// TestReviews_IgnoredFailuresAdmit covers each way in which a handler can fail. With ignored failures, the request is
// admitted with a warning, as if the handler did not exist; otherwise, it is denied with the code.
func TestReviews_IgnoredFailuresAdmit(t *testing.T) {
	fails := func(err error) func(context.Context, *handlers.Call) error {
		return func(context.Context, *handlers.Call) error { return err }
	}
	for name, tt := range map[string]struct {
		family handlers.Family
		act    func(context.Context, *handlers.Call) error
		when   func(context.Context, *handlers.Cause) bool
		code   int
		says   string
	}{
		"denial":           {act: fails(handlers.AsDenial(errors.New("no"), 418)), code: 418, says: "no"},
		"permanent error":  {act: fails(handlers.AsPermanent(errors.New("never"))), code: 500, says: "never"},
		"temporary error":  {act: fails(handlers.AsTemporary(errors.New("later"), time.Second)), code: 500, says: "later"},
		"arbitrary error":  {act: fails(errors.New("oops")), code: 500, says: "oops"},
		"panic":            {act: func(context.Context, *handlers.Call) error { panic("oops") }, code: 500, says: "panic: oops"},
		"panicking filter": {act: fails(nil), when: func(context.Context, *handlers.Cause) bool { panic("filter") }, code: 500, says: "panic: filter"},
		"too slow": {act: func(ctx context.Context, _ *handlers.Call) error {
			<-ctx.Done()
			return ctx.Err()
		}, code: 500, says: "has not ended within"},
		"validator that changes": {act: func(_ context.Context, call *handlers.Call) error {
			call.Patch.Set(object.Path{"spec", "a"}, int64(2))
			return nil
		}, code: 500, says: "register it with OnMutate"},
		"change that does not fit": {family: handlers.Mutate, act: func(_ context.Context, call *handlers.Call) error {
			call.Patch.Set(object.Path{"spec", "a", "b"}, int64(2))
			return nil
		}, code: 500, says: "change the object"},
		"denial after a change": {family: handlers.Mutate, act: func(_ context.Context, call *handlers.Call) error {
			call.Patch.Set(object.Path{"spec", "b"}, int64(2))
			return handlers.AsDenial(errors.New("half"), 409)
		}, code: 409, says: "half"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				for _, ignore := range []bool{true, false} {
					h := doing("check", tt.act)
					h.Family, h.When, h.Admission.IgnoreFailures = tt.family, tt.when, ignore
					r := testReviews(t, admissionHandlers(h), kex)
					got := answerOf(t, ask(t, r, "/check?timeout=1s", reviewOf("UPDATE", ""))).Response
					if got.Allowed != ignore {
						t.Errorf("ignored %v: %+v", ignore, got)
						continue
					}
					if ignore && (got.Patch != nil || len(got.Warnings) != 1 || !strings.Contains(got.Warnings[0], "check is ignored: ") || !strings.Contains(got.Warnings[0], tt.says)) {
						t.Errorf("ignored: %+v", got)
					}
					if !ignore && (got.Status.Code != tt.code || !strings.Contains(got.Status.Message, tt.says)) {
						t.Errorf("denied: %+v", got.Status)
					}
				}
			})
		})
	}
}

// An object under review may not be validated yet, so its labels can have any type. Kopf compares them unchanged.
func TestReviews_LabelsThatAreNoStringsAreComparedAsTheyAre(t *testing.T) {
	five := handlers.EqualStringCriterion("5")
	isFive := func(want any) handlers.Criterion {
		return handlers.FuncCriterion("isFive", func(_ context.Context, _ *handlers.Cause, value any, found bool) bool {
			return found && object.Equal(value, want)
		})
	}
	criteria := map[string]handlers.Criterion{
		"text": five, "present": handlers.Present, "absent": handlers.Absent, "func": isFive(5), "func of text": isFive("5"),
	}
	for value, want := range map[string][]string{
		`5`:       {"func", "present"},
		`"5"`:     {"func of text", "present", "text"},
		`null`:    {"present"},
		`true`:    {"present"},
		`{"b":5}`: {"present"},
	} {
		for _, kind := range []string{"labels", "annotations"} {
			var called []string
			var hs []handlers.Handler
			for _, id := range object.SortedKeys(criteria) {
				h := doing(id, func(context.Context, *handlers.Call) error { called = append(called, id); return nil })
				if kind == "labels" {
					h.Labels = map[string]handlers.Criterion{"a": criteria[id]}
				} else {
					h.Annotations = map[string]handlers.Criterion{"a": criteria[id]}
				}
				hs = append(hs, h)
			}
			body := strings.Replace(reviewOf(handlers.OperationCreate, ""), `"uid":"uid-x"`, fmt.Sprintf(`"uid":"uid-x",%q:{"a":%s}`, kind, value), 1)
			a := answerOf(t, ask(t, testReviews(t, admissionHandlers(hs...), kex), "/", body))
			if diff := cmp.Diff(want, called); diff != "" || !a.Response.Allowed {
				t.Errorf("%s {a: %s}: allowed %t, called (-want +got)\n%s", kind, value, a.Response.Allowed, diff)
			}
		}
	}
}
