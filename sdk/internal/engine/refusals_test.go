package engine

import (
	"errors"
	"log/slog"
	"slices"
	"testing"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

func TestRefusals_OneAlarmForEachPermission(t *testing.T) {
	recorder, sink := &alarmRecorder{}, &observe.Sink{}
	sink.Subscribe(recorder)
	r := &refusals{deps: &core.Deps{Sink: sink, Logger: slog.New(slog.DiscardHandler)}, alarms: map[refusal]*inspect.Alarm{}}
	pods := &resources.Resource{Version: "v1", Plural: "pods"}
	call := func(res *resources.Resource, namespace string, status int, message string) {
		c := kube.Call{Verb: "patch", Status: status, Resource: res, Subresource: "status", Path: "/api/v1/namespaces/" + namespace + "/pods/x/status"}
		if message != "" {
			c.Err = errors.New(message)
		}
		r.observe(c)
	}
	const refused = `pods "x" is forbidden: User "me" cannot patch resource "pods/status" in API group "" in the namespace "a"`
	call(pods, "a", 200, "")
	call(pods, "a", 403, "exceeded quota: compute")
	call(nil, "a", 403, refused)
	call(&resources.Resource{Version: "v1", Plural: "namespaces"}, "a", 403, refused)
	if len(recorder.told) != 0 {
		t.Fatalf("%+v", recorder.told)
	}
	call(pods, "a", 403, refused)
	call(pods, "a", 403, refused)
	call(pods, "b", 200, "") // permitted in another namespace, so the alarm stays
	call(pods, "a", 409, "conflict")
	call(pods, "a", 200, "")
	call(pods, "a", 200, "")
	call(pods, "a", 403, refused)
	if len(recorder.told) != 3 {
		t.Fatalf("%+v", recorder.told)
	}
	a := recorder.told[0]
	if a.Over || a.Again || a.Alarm.Kind != inspect.AlarmForbidden || a.Alarm.Resource != "pods.v1/status" || a.Alarm.Namespace != "a" || a.Alarm.Message != refused {
		t.Errorf("%+v", a)
	}
	if over, again := recorder.told[1], recorder.told[2]; !over.Over || again.Over || !again.Again {
		t.Errorf("%+v, then %+v", over, again)
	}
}

// After an interruption, a stream continues with a watch alone.
func TestRefusals_PermittedWatchEndsTheAlarmAboutTheList(t *testing.T) {
	recorder, sink := &alarmRecorder{}, &observe.Sink{}
	sink.Subscribe(recorder)
	r := &refusals{deps: &core.Deps{Sink: sink, Logger: slog.New(slog.DiscardHandler)}, alarms: map[refusal]*inspect.Alarm{}}
	call := func(verb string, status int) {
		c := kube.Call{Verb: verb, Status: status, Resource: &resources.Resource{Version: "v1", Plural: "pods"}, Path: "/api/v1/namespaces/a/pods"}
		if status != 200 {
			c.Err = errors.New(`pods is forbidden: User "me" cannot ` + verb + ` resource "pods" in API group "" in the namespace "a"`)
		}
		r.observe(c)
	}
	call("watch", 403)
	call("list", 403)
	call("watch", 200)
	var told []string
	for _, a := range recorder.told {
		text := a.Alarm.Verb + " refused"
		if a.Over {
			text = a.Alarm.Verb + " permitted"
		}
		told = append(told, text)
	}
	if want := []string{"watch refused", "list refused", "watch permitted", "list permitted"}; !slices.Equal(told, want) {
		t.Errorf("the alarms are %q, want %q", told, want)
	}
	call("list", 403)
	call("list", 200)
	if len(recorder.told) != 6 {
		t.Errorf("%d changes of alarms", len(recorder.told))
	}
}
