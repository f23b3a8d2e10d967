package shapes

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kopf-dev/kopf/plan/proxy"
	"github.com/kopf-dev/kopf/sdk/inspect"
)

// CompareForeign compares a trial with two trials of a program without the inspector, which all started with identical copies. The handlers
// of the program are unknown, so only the changed objects, their final states and the rejected requests are compared. Otherwise, it is as
// [Compare].
func CompareForeign(now, first, second Trial) *Against {
	var requests []proxy.Request
	for _, t := range []Trial{now, first, second} {
		requests = append(requests, t.Requests...)
	}
	// Both operators may use either's annotations: the new one takes over from the other one.
	own := ownFieldsIn(Trial{Requests: requests, Operator: now.Operator}, true, func(proxy.Request) bool { return true })
	objects := handledBefore(now)
	a := compare(anonymous(now, objects), anonymous(first, objects), anonymous(second, objects), func(Trial) ownFields { return own }, true)
	a.Foreign, a.Requests = true, countRequests(first.Requests)
	return a
}

// handledBefore returns the handled objects that existed before the trial, without the decisions of the operator.
func handledBefore(t Trial) []*inspect.Object {
	created := make(map[string]bool)
	for _, r := range t.Requests {
		if r.Before == nil {
			created[uidOf(r)] = true
		}
	}
	var all []*inspect.Object
	for _, o := range t.Objects {
		if created[o.UID] {
			continue
		}
		bare := &inspect.Object{Ref: o.Ref, Kind: o.Kind, Short: o.Short}
		if o.State == inspect.StateIgnored {
			bare.State = o.State
		}
		all = append(all, bare)
	}
	return all
}

// anonymous returns a trial as if its operator had no inspector. Requests belong to the handled object that they change, or to its
// handled owner. Objects are identified by their names, because an object of --apply has another uid in each copy.
func anonymous(t Trial, objects []*inspect.Object) Trial {
	known := make(map[string]*inspect.Object, 2*len(objects))
	for _, o := range objects {
		known[o.Resource+" "+o.Namespace+"/"+o.Name] = o
		known[o.Kind+" "+o.Namespace+"/"+o.Name] = o
	}
	var requests []proxy.Request
	for _, r := range t.Requests {
		if isBookkeeping(r) || isRepeated(r) {
			continue
		}
		r.Handler, r.UID, r.Attempt = "", "", 0
		if o := known[resourceKey(r)+" "+r.Namespace+"/"+r.Name]; o != nil {
			r.UID, r.Before, r.After = o.UID, withUID(r.Before, o.UID), withUID(r.After, o.UID)
		}
		for _, owner := range ownersOf(r) {
			if o := known[owner]; o != nil && r.UID == "" {
				r.UID = o.UID
			}
		}
		requests = append(requests, r)
	}
	return Trial{Requests: requests, Objects: objects, Operator: inspect.Operator{Started: t.Operator.Started}, Places: t.Places}
}

// ownersOf returns the owners of the object of a request, as "KIND NAMESPACE/NAME": owners are in the namespace of the object, or in none.
func ownersOf(r proxy.Request) []string {
	var all []string
	for _, object := range []map[string]any{r.Before, r.After} {
		meta, _ := object["metadata"].(map[string]any)
		owners, _ := meta["ownerReferences"].([]any)
		for _, owner := range owners {
			if ref, ok := owner.(map[string]any); ok {
				all = append(all, fmt.Sprintf("%v %s/%v", ref["kind"], r.Namespace, ref["name"]), fmt.Sprintf("%v /%v", ref["kind"], ref["name"]))
			}
		}
	}
	return all
}

// withUID returns an object with another uid; nil for no object.
func withUID(object map[string]any, uid string) map[string]any {
	meta, ok := object["metadata"].(map[string]any)
	if !ok || meta["uid"] == uid {
		return object
	}
	object, meta = maps.Clone(object), maps.Clone(meta)
	meta["uid"], object["metadata"] = uid, meta
	return object
}

// isRepeated reports whether an operator repeats a rejected request by itself: after a conflict with another request, or after the object
// was deleted.
func isRepeated(r proxy.Request) bool {
	switch r.Code {
	case http.StatusNotFound:
		return r.Verb != "create"
	case http.StatusConflict:
		return r.Status == nil || r.Status.Reason != metav1.StatusReasonAlreadyExists
	case http.StatusUnprocessableEntity: // a test of a JSON patch has failed, or the object is invalid
		return !isInvalid(r)
	}
	return false
}

// isInvalid reports whether the API server has rejected a request because of the fields of the object, except its uid: the object may have
// been deleted and created again.
func isInvalid(r proxy.Request) bool {
	return r.Code == http.StatusUnprocessableEntity && r.Status != nil && r.Status.Details != nil &&
		slices.ContainsFunc(r.Status.Details.Causes, func(c metav1.StatusCause) bool {
			return c.Type != metav1.CauseTypeUnexpectedServerResponse && c.Field != "metadata.uid"
		})
}

// effect returns the effect of the requests for an object, however they were sent: create, change or delete.
func (w *Write) effect() string {
	var all []string
	for _, verb := range []string{"create", "change", "delete", "deletecollection"} {
		is := slices.Contains(w.Verbs, verb)
		if verb == "change" {
			is = len(all) == 0 && slices.ContainsFunc(w.Verbs, func(v string) bool { return v == "update" || v == "patch" }) && !slices.Contains(w.Verbs, "delete")
		}
		if is {
			all = append(all, verb)
		}
	}
	return strings.Join(all, ", ")
}

// counted formats the numbers of requests of the other build.
func (a *Against) counted() string {
	if !a.Foreign {
		return counted(a.Requests)
	}
	return cmp.Or(listed(a.Requests), "none")
}

// unknown returns the text about the handlers that are not compared.
func (a *Against) unknown(shapes []Shape) string {
	text := "the handlers of " + a.name() + " are not known"
	failing := 0
	for _, s := range shapes {
		if s.Verdict == VerdictFails {
			failing += s.Count
		}
	}
	if failing > 0 {
		text += ", and whether they fail on the " + plural(failing, "object") + " on which this build fails"
	}
	return text
}
