package reviews

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/state"
)

// changeReview returns a review of a change by a user.
func changeReview(user, subresource, older, newer string) string {
	return fmt.Sprintf(`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{
		"uid":"u1","resource":{"group":"kopf.dev","version":"v1","resource":"kopfexamples"},"subResource":%q,
		"kind":{"group":"kopf.dev","version":"v1","kind":"KopfExample"},"name":"x","namespace":"ns",
		"operation":"UPDATE","userInfo":{"username":%q},"object":%s,"oldObject":%s}}`, subresource, user, newer, older)
}

func TestReviews_OnlyOwnRecordsOfOwnUserPassUnasked(t *testing.T) {
	object := func(metadata, rest string) string {
		return `{"apiVersion":"kopf.dev/v1","kind":"KopfExample","metadata":{"name":"x","namespace":"ns","uid":"uid-x"` + metadata + `},"spec":{"a":1}` + rest + `}`
	}
	const finalizer, mark = `,"finalizers":["kopf.zalando.org/KopfFinalizerMarker"]`, `,"annotations":{"kopf.zalando.org/x":"1"}`
	for name, tt := range map[string]struct {
		user, subresource, older, newer string
		asked                           bool
	}{
		"finalizer added":            {"me", "", object("", ""), object(finalizer, ""), false},
		"finalizer removed":          {"me", "", object(finalizer, ""), object("", ""), false},
		"finalizer beside others":    {"me", "", object(`,"finalizers":["a/b","kopf.zalando.org/KopfFinalizerMarker"]`, ""), object(`,"finalizers":["a/b"]`, ""), false},
		"annotation":                 {"me", "", object("", ""), object(mark, ""), false},
		"annotation removed":         {"me", "", object(mark, ""), object("", ""), false},
		"version and managed fields": {"me", "", object("", ""), object(`,"resourceVersion":"2","generation":3,"managedFields":[{"manager":"kopf"}]`, ""), false},
		"result":                     {"me", "status", object("", ""), object("", `,"status":{"make":{"a":1}}`), false},
		"result of a sub-handler":    {"me", "status", object("", ""), object("", `,"status":{"make/sub":1}`), false},
		"nothing":                    {"me", "", object("", ""), object("", ""), false},

		"another user":                {"you", "", object(finalizer, ""), object("", ""), true},
		"finalizer of others":         {"me", "", object(`,"finalizers":["a/b","kopf.zalando.org/KopfFinalizerMarker"]`, ""), object("", ""), true},
		"finalizer and a label":       {"me", "", object(finalizer, ""), object(`,"labels":{"a":"b"}`, ""), true},
		"annotation of others":        {"me", "", object("", ""), object(`,"annotations":{"example.com/x":"1"}`, ""), true},
		"pause":                       {"me", "", object("", ""), object(`,"annotations":{"kopf.dev/paused":"x"}`, ""), true},
		"spec":                        {"me", "", object("", ""), strings.Replace(object(mark, ""), `"a":1`, `"a":2`, 1), true},
		"status that is no result":    {"me", "status", object("", ""), object("", `,"status":{"phase":"x"}`), true},
		"subresource of its own":      {"me", "scale", object("", ""), object("", ""), true},
		"result together with status": {"me", "status", object("", ""), object("", `,"status":{"make":1,"phase":"x"}`), true},
	} {
		for _, family := range []handlers.Family{handlers.Validate, handlers.Mutate} {
			h := doing("check", func(context.Context, *handlers.Call) error { return handlers.AsDenial(errors.New("frozen"), 403) })
			h.Family, h.Admission.Subresource = family, "*"
			r := testReviews(t, admissionHandlers(h, handlers.Handler{ID: "make", Family: handlers.Create}), kex)
			s := r.deps.Settings
			s.Finalizer, s.Progress, s.DiffBase = "kopf.zalando.org/KopfFinalizerMarker", state.NewSmartProgress(), state.NewAnnotationsDiffBase()
			me := "me"
			r.ownUser.Store(&me)
			if got := answerOf(t, ask(t, r, "/check", changeReview(tt.user, tt.subresource, tt.older, tt.newer))).Response; got.Allowed == tt.asked {
				t.Errorf("%s, %s: %+v", family, name, got)
			}
			r.ownUser.Store(nil)
			if got := answerOf(t, ask(t, r, "/check", changeReview(tt.user, tt.subresource, tt.older, tt.newer))).Response; got.Allowed {
				t.Errorf("%s, %s, by an operator that does not know its user: %+v", family, name, got)
			}
		}
	}
}
