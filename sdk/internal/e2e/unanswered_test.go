package e2e

import (
	"net/http"
	"strings"
	"testing"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopftest"
)

func TestPatch_WithoutAnswerIsShown(t *testing.T) {
	cluster, c := newCluster(t), &calls{}
	proxy := cluster.FaultProxy(kopftest.Faults{Rules: []kopftest.FaultRule{{
		Match: func(r *http.Request) bool {
			return r.Method == http.MethodPatch && strings.Contains(r.URL.Path, "kopfexamples/")
		},
		Fault: kopftest.Fault{Kind: kopftest.FaultSilence}, Times: 1,
	}}})
	op := cluster.Run(func(r *kopf.Registry) { kopf.OnCreate(r, kexes, c.does("create"), kopf.ID("create")) }, proxy.Connect)
	x := cluster.Create(example("x"))
	shown := func(what string, unanswered bool) {
		op.WaitInspect(what, func(s *inspect.Snapshot) bool {
			if len(s.Objects) != 1 || (s.Objects[0].Unanswered != nil) != unanswered {
				return false
			}
			if unanswered && (s.Objects[0].State != inspect.StateWaiting || s.Objects[0].Unanswered.Since.IsZero()) {
				t.Errorf("%s: since %v", s.Objects[0].State, s.Objects[0].Unanswered.Since)
			}
			return true
		})
	}
	shown("the request has no answer", true)
	proxy.Calm()
	shown("the request is over", false)
	op.WaitHandled(x)
}
