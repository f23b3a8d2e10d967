package kopf

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
	"github.com/kopf-dev/kopf/sdk/internal/testhooks"
)

// Only package kopftest uses the hooks: see package testhooks.
func init() {
	testhooks.Foresee = func(p any) (after, changes map[string]any, err error) {
		public := p.(*Patch)
		if public == nil || public.patch == nil {
			return patch.NewPatch().Foresee(nil)
		}
		body, err := public.base()
		if err != nil {
			return nil, nil, err
		}
		return public.patch.Foresee(body)
	}
	testhooks.AttachTask = func(run any, task testhooks.Task, p *patch.Patch, send func(context.Context) error) {
		type attachable interface {
			attach(task testhooks.Task, p *patch.Patch, send func(context.Context) error)
		}
		run.(attachable).attach(task, p, send)
	}
	testhooks.NewRecorder = func(poster testhooks.Poster) any { return &Recorder{poster} }
	testhooks.PosterOf = func(r any) testhooks.Poster {
		if r := r.(*Recorder); r != nil {
			return r.poster
		}
		return nil
	}
	testhooks.SetClock = func(o any, now func() time.Time) { o.(*Operator).now = now }
	testhooks.PutUnderTest = func(o any, managed string, settled func(any)) {
		operator := o.(*Operator)
		operator.admission.underTest = managed
		operator.settled = func(s Settings) { settled(&s) }
	}
	testhooks.NewPatch = func(body any) any { return newPatch(body.(*Object)) }
	testhooks.FillIn = func(settings any) { *settings.(*Settings) = settings.(*Settings).withDefaults() }
	testhooks.EngineError = engineError
	testhooks.PassOf = func(request any) any { return request.(interface{ engine() any }).engine() }
	testhooks.SelectorOf = func(s any) (resources.Selector, error) { return s.(Selector).engine() }
	testhooks.CatchConditions = func(r any, set func(metav1.Condition) error) {
		r.(*Request).setCondition = func(c handlers.Condition) error { return set(metav1.Condition(c)) }
	}
	testhooks.HandlersOf = func(r any) *handlers.Registry { return &r.(*Registry).registry }
}

// onAnyPort is the meter of an operator under test. Its endpoint has any free port, because a test process runs several operators.
type onAnyPort struct{ observe.Meter }

// Endpoint implements [observe.Meter].
func (m onAnyPort) Endpoint() (endpoint string, h http.Handler) {
	endpoint, h = m.Meter.Endpoint()
	if u, err := url.Parse(endpoint); err == nil && u.Host != "" {
		u.Host = net.JoinHostPort(u.Hostname(), "0")
		endpoint = u.String()
	}
	return endpoint, h
}
