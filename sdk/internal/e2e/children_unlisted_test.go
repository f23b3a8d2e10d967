package e2e

import (
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/kopf"
)

// outage is a time in which the operator can neither list nor watch the Secrets.
type outage struct {
	begin, end func()
	alarm      bool // the operator raises an alarm
}

// outages begin before the operator starts.
var outages = map[string]func(k *keeper) (outage, func(*kopf.Operator)){
	"forbidden": func(k *keeper) (outage, func(*kopf.Operator)) {
		config := permitted(k.Cluster, "list", "watch", "patch")
		grant(k.Cluster, "parents", false, rule(k.own.group, "*", "list", "watch", "patch"))
		grant(k.Cluster, "children", false, rule("", "configmaps", "*"))
		return outage{
			begin: func() {
				k.Object("rolebindings.rbac.authorization.k8s.io", "secrets").Delete()
				k.Object("roles.rbac.authorization.k8s.io", "secrets").Delete()
			},
			end:   func() { grant(k.Cluster, "secrets", false, rule("", "secrets", "list", "watch")) },
			alarm: true,
		}, connect(config)
	},
	"unavailable": func(*keeper) (outage, func(*kopf.Operator)) {
		var out atomic.Bool
		out.Store(true)
		return outage{begin: func() { out.Store(true) }, end: func() { out.Store(false) }}, transport(func(next http.RoundTripper) http.RoundTripper {
			return roundTrip(func(req *http.Request) (*http.Response, error) {
				if out.Load() && strings.HasSuffix(req.URL.Path, "/secrets") {
					return failing(http.StatusServiceUnavailable)(req, next)
				}
				return next.RoundTrip(req)
			})
		})
	},
}

// waitOutage waits until the operator shows the outage, or no longer shows it.
func (k *keeper) waitOutage(o outage, lasts bool) {
	k.t.Helper()
	if o.alarm {
		k.WaitInspect("the alarm about the Secrets", func(s *inspect.Snapshot) bool {
			return lasts == slices.ContainsFunc(s.Operator.Alarms, func(a inspect.Alarm) bool {
				return a.Kind == inspect.AlarmForbidden && a.Resource == "secrets.v1"
			})
		})
	}
}

func TestChildren_ReferredObjectsThatCannotBeListed(t *testing.T) {
	for name, prepare := range outages {
		t.Run(name, func(t *testing.T) {
			k := &keeper{t: t, Cluster: newCluster(t), others: []kopf.ReconcileOption{kopf.RefersTo(secrets, "spec.secrets")}}
			k.own = ownResource(k.Cluster)
			o, configure := prepare(k)
			interrupted := "The watch-stream for secrets.v1 in " + k.Namespace + " is interrupted."
			cert, gone := k.Create(secret("cert", "1")), k.Create(secret("gone", "1"))
			k.run(owning("v1 configmaps"), versionsOf(secrets), configure, settings(hasty), settings(func(s *kopf.Settings) {
				s.Watching.ReconnectBackoff, s.Watching.ServerTimeout = time.Millisecond, time.Second
			}))
			k.parent = k.add("main", tree{"secrets": []any{"cert", "gone"}})
			k.WaitLogs(interrupted, 3)
			k.waitOutage(o, true)
			if passes := k.passed(); len(passes) > 0 {
				t.Errorf("the passes %v do not wait for the first list", passes)
			}
			o.end()
			k.waitVersions("main", cert, gone)
			k.waitOutage(o, false)
			k.settle(k.parent)

			o.begin()
			mark := k.LogMark()
			k.WaitLogSince(mark, interrupted)
			k.waitOutage(o, true)
			before := k.Object("configmaps", "main").Get()
			cert.Set("stringData.key", "2")
			gone.Delete()
			if wakes := k.tick(); !slices.Equal(wakes, []string{string(kopf.WakeObject)}) { // with the known versions
				t.Errorf("the pass during the outage has the reasons %q", wakes)
			}
			same(t, k.Object("configmaps", "main"), before)
			o.end()
			k.waitVersions("main", cert)
			k.waitOutage(o, false)
			k.checkIdle()
		})
	}
}
