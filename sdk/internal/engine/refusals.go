package engine

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
)

// refusals tracks the requests that the API server refuses because permissions are missing. It is safe for concurrent
// use.
type refusals struct {
	deps *core.Deps
	some atomic.Bool // set if there are refusals; otherwise, successful requests need no lock

	mu     sync.Mutex
	open   map[refusal]inspect.Alarm
	logged map[refusal]bool
}

// refusal identifies a missing permission.
type refusal struct{ verb, resource, namespace string }

// dispensable are resources that the operator can work without. It logs the fallback elsewhere.
var dispensable = []string{
	"customresourcedefinitions", "namespaces", "clusterkopfpeerings", "kopfpeerings", "events",
	"validatingwebhookconfigurations", "mutatingwebhookconfigurations",
}

// observe raises an alarm for a refused request, and ends the alarm when the request succeeds.
func (r *refusals) observe(call kube.Call) {
	refused := call.Status == http.StatusForbidden && call.Resource != nil && observe.IsRefused(call)
	if !refused && (!r.some.Load() || call.Status/100 != 2 || call.Resource == nil) {
		return
	}
	if slices.Contains(dispensable, call.Resource.Plural) {
		return
	}
	of := refusal{call.Verb, call.Resource.Key(), namespaceOf(call.Path)}
	if call.Subresource != "" {
		of.resource += "/" + call.Subresource
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.set(of, refused, call.Err)
	if of.verb == "watch" && !refused {
		of.verb = "list"
		r.set(of, false, nil) // a stream that has begun needs no list, so that no list would end the alarm
	}
}

// set raises or ends the alarm about a request. The lock must be held.
func (r *refusals) set(of refusal, refused bool, err error) {
	alarm, known := r.open[of]
	if known == refused {
		return
	}
	if refused {
		alarm = inspect.Alarm{Kind: inspect.AlarmForbidden, Since: time.Now(), Verb: of.verb, Resource: of.resource, Namespace: of.namespace, Message: err.Error()}
		if r.open == nil {
			r.open, r.logged = map[refusal]inspect.Alarm{}, map[refusal]bool{}
		}
		r.open[of] = alarm
	} else {
		delete(r.open, of)
	}
	r.some.Store(len(r.open) > 0)
	observe.Emit(r.deps.Sink, observe.AlarmChanged{Logger: r.deps.Logger, Alarm: alarm, Over: !refused, Again: r.logged[of]})
	r.logged[of] = true
}

// namespaceOf returns the namespace in the path of a request; empty if there is none.
func namespaceOf(path string) string {
	_, rest, _ := strings.Cut(path, "/namespaces/")
	namespace, _, inside := strings.Cut(rest, "/")
	if !inside {
		return ""
	}
	return namespace
}
