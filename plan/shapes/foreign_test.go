package shapes

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kopf-dev/kopf/plan/proxy"
	"github.com/kopf-dev/kopf/sdk/inspect"
)

// owned is the creation of a child with an owner reference, by a handler of this build or by an unknown client.
func owned(t *testing.T, i int, size, handler string) proxy.Request {
	r := volume(t, i, size)
	r.After = tree(t, `{"metadata":{"name":"claim-%d-data","uid":"u-%d","ownerReferences":[{"uid":%q,"kind":"Claim","name":"claim-%d"}]},"spec":{"storage":%q}}`, i, i, uid(i), i, size)
	r.Body = []byte(strings.Replace(string(r.Body), `{"uid"`, `{"kind":"Claim","uid"`, 1))
	if r.Handler = handler; handler == "" {
		r.UID, r.Attempt = "", 0
	}
	return r
}

// patched is a patch of a claim by an unknown client.
func patched(t *testing.T, i int, before, after string) proxy.Request {
	claim := `{"metadata":{"name":"claim-%d","uid":%q%s},"spec":{"size":"x"}}`
	return proxy.Request{
		Verb: "patch", Resource: claims, Namespace: "app", Name: fmt.Sprintf("claim-%d", i), Code: 200,
		Before: tree(t, claim, i, uid(i), before), After: tree(t, claim, i, uid(i), after),
	}
}

// ported returns the trial of a program with the effects of this build. The program sends more requests, keeps other records, and repeats
// requests after conflicts.
func ported(t *testing.T, more ...proxy.Request) Trial {
	const marked = `,"finalizers":["` + finalizer + `"]`
	conflict := patched(t, 0, marked, marked)
	conflict.Code, conflict.Status = 409, &metav1.Status{Reason: metav1.StatusReasonConflict}
	event := owned(t, 0, "", "")
	event.Resource.Resource = "events"
	grown := owned(t, 0, "1Gi", "")
	grown.Verb, grown.Before = "update", owned(t, 0, "0Gi", "").After
	return Trial{Requests: append([]proxy.Request{
		patched(t, 0, "", marked), conflict, owned(t, 0, "0Gi", ""), event, grown,
		patched(t, 0, marked, marked+`,"annotations":{"old.example.com/last-handled-configuration":"{}","old.example.com/extend":"{\"started\":\"2026-11-27T12:00:00\",\"retries\":1,\"success\":true,\"failure\":false}"}`),
	}, more...)}
}

func TestCompareForeign_ComparesEffectsAndNoHandlers(t *testing.T) {
	now := handledClaims(3, recordsOf(t, 0, "x"), owned(t, 0, "1Gi", "create"))
	for _, o := range now.Objects {
		o.Kind = "Claim"
		o.UID = "of the copy with number " + o.UID // an object of --apply has another uid in each copy
	}
	for i := range now.Requests {
		r := &now.Requests[i]
		if r.Resource == claims {
			r.Before, r.After = withUID(r.Before, now.Objects[0].UID), withUID(r.After, now.Objects[0].UID)
		}
	}
	now.Objects[2].State = inspect.StateIgnored
	now = failing(now, 1, "this build fails")
	a := CompareForeign(now, ported(t), ported(t))
	if len(a.Differences) != 0 || a.AsBefore != 2 || len(a.Noise) != 0 || !a.Foreign {
		t.Errorf("%q, %d as before, noise %q, %+v", found(a), a.AsBefore, a.Noise, a)
	}
	a.Build = "python op.py"
	const requests = "3 patch claims.v1.kopf.dev, 1 create events.v1, 1 create persistentvolumeclaims.v1, 1 update persistentvolumeclaims.v1"
	if got := a.counted(); got != requests {
		t.Errorf("got %s, want %s", got, requests)
	}
	grouped, _ := Group(now)
	if got := a.unknown(grouped); got != "the handlers of python op.py are not known, and whether they fail on the 1 object on which this build fails" {
		t.Error(got)
	}
	p := plan(1)
	p.Against = a
	a.NotTried = []string{"pods: exec needs a running program"}
	var text strings.Builder
	if err := p.WriteText(&text, 1<<20); err != nil || !strings.Contains(text.String(), "\n  compared: changed objects, their final states, and rejected requests; the handlers of python op.py are not known") ||
		!strings.Contains(text.String(), "\n  not tried by python op.py: pods: exec needs a running program\n") {
		t.Errorf("%v: %s", err, &text)
	}
}

func TestCompareForeign_Differences(t *testing.T) {
	refused := func(code int, reason metav1.StatusReason) proxy.Request {
		r := owned(t, 1, "1Gi", "create")
		r.Code, r.After, r.Status = code, nil, &metav1.Status{Reason: reason, Message: string(reason)}
		r.Before = owned(t, 1, "1Gi", "").After
		return r
	}
	stray := owned(t, 1, "1Gi", "")
	stray.Name, stray.Body, stray.After = "stray", []byte(`{"spec":{"storage":"1Gi"}}`), tree(t, `{"metadata":{"name":"stray","uid":"u-stray"},"spec":{"storage":"1Gi"}}`)
	const data = "persistentvolumeclaims.v1 {namespace}/{name}-data"
	for title, test := range map[string]struct {
		now, old []proxy.Request
		want     string
	}{
		"another value":      {[]proxy.Request{owned(t, 1, "2Gi", "create")}, []proxy.Request{owned(t, 1, "1Gi", "")}, `1 differ claim app/claim-1 ~ ` + data + ` spec.storage: "1Gi" → "2Gi"`},
		"a child is missing": {nil, []proxy.Request{owned(t, 1, "1Gi", "")}, `1 differ claim app/claim-1 - ` + data + `: create - ` + data + ` metadata.ownerReferences[0]: "Claim/{name}" - ` + data + ` spec.storage: "1Gi"`},
		"no finalizer":       {nil, []proxy.Request{patched(t, 1, "", `,"finalizers":["`+finalizer+`"]`)}, `1 differ claim app/claim-1 - own changes: + finalizer`},
		"other finalizer":    {nil, []proxy.Request{patched(t, 1, "", `,"finalizers":["old.example.com/f"]`)}, `1 differ claim app/claim-1 - claims.v1.kopf.dev {namespace}/{name}: change - claims.v1.kopf.dev {namespace}/{name} metadata.finalizers[0]: "old.example.com/f"`},
		"a new refusal":      {[]proxy.Request{refused(409, metav1.StatusReasonAlreadyExists)}, nil, `1 newly fail claim app/claim-1 + ` + data + `: create + ` + data + ` refused: create: 409 AlreadyExists`},
		"without an owner":   {nil, []proxy.Request{stray}, `1 differ requests app/stray - persistentvolumeclaims.v1 {namespace}/{name}: create - persistentvolumeclaims.v1 {namespace}/{name} spec.storage: "1Gi"`},
		"a handled conflict": {[]proxy.Request{refused(409, metav1.StatusReasonConflict)}, nil, ``},
	} {
		now := handledClaims(3, append([]proxy.Request{recordsOf(t, 0, "x"), owned(t, 0, "1Gi", "create")}, test.now...)...)
		for _, o := range now.Objects {
			o.Kind = "Claim"
		}
		a := CompareForeign(now, ported(t, test.old...), ported(t, test.old...))
		if got := strings.Join(found(a), "\n"); got != test.want {
			t.Errorf("%s: got\n%s\nwant\n%s", title, got, test.want)
		}
	}
}

func TestCompareForeign_ObjectsOfTheRunAreComparedByTheirNames(t *testing.T) {
	created := func(mark string) proxy.Request {
		r := proxy.Request{Verb: "create", Resource: claims, Namespace: "app", Name: "claim-9", Code: 201}
		r.After = tree(t, `{"metadata":{"name":"claim-9","uid":"u-%s"},"spec":{"size":1}}`, mark)
		return r
	}
	now := handledClaims(1, created("now"))
	handled := claim(9, done(inspect.HandlerState{}))
	handled.UID = "u-now"
	now.Objects = append(now.Objects, handled)
	a := CompareForeign(now, Trial{Requests: []proxy.Request{created("a")}}, Trial{Requests: []proxy.Request{created("b")}})
	if len(a.Differences) != 0 || a.AsBefore != 1 || len(a.Noise) != 0 {
		t.Errorf("%q, %d as before, noise %q", found(a), a.AsBefore, a.Noise)
	}
}

func TestCompare_PlacesOfARunAreNoDifference(t *testing.T) {
	run := func(folder, temp, port, message string) Trial {
		r := child(t, 0, "claim-0-data", `{"mountPath":"/home/me/repository/op"}`) // by chance, the folder of one build
		refused := child(t, 0, "claim-0-refused", `{}`)
		refused.Code, refused.After, refused.Status = 422, nil, &metav1.Status{Message: folder + "/op is not a name"}
		one := failing(handledClaims(1, r, refused), 0, fmt.Sprintf("open %s/op/claim-0.yaml: config %s/run: read tcp 127.0.0.1:%s->127.0.0.1:6443: %s", folder, temp, port, message))
		one.Places = map[string]string{"{repository}": folder, "{folder}": folder + "/op", "{temp}": temp, "{root}": "/", "{none}": ""}
		return one
	}
	first, second := run("/cache/run-1/sources", "/cache/run-2", "40001", "reset"), run("/cache/run-1/sources", "/cache/run-3", "40002", "reset")
	a := Compare(run("/home/me/repository", "/cache/run-4", "40003", "reset"), first, second)
	if len(a.Differences) != 0 || a.AsBefore != 1 || len(a.Noise) != 0 {
		t.Errorf("%q, %d as before, noise %q", found(a), a.AsBefore, a.Noise)
	}
	a = Compare(run("/home/me/repository", "/cache/run-4", "40003", "closed"), first, second)
	want := "1 differ claim app/claim-0 ~ handler create create error: open {folder}/{name}.yaml: config {temp}/run: read tcp 127.0.0.1:{port}->127.0.0.1:6443: reset → " +
		"open {folder}/{name}.yaml: config {temp}/run: read tcp 127.0.0.1:{port}->127.0.0.1:6443: closed"
	if got := found(a); !slices.Equal(got, []string{want}) {
		t.Errorf("got %q, want %q", got, want)
	}
}
