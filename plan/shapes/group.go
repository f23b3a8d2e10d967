package shapes

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/kopf-dev/kopf/plan/proxy"
	"github.com/kopf-dev/kopf/sdk/inspect"
)

// Trial is the record of a run on a copy.
type Trial struct {
	Requests []proxy.Request
	Objects  []*inspect.Object
	Operator inspect.Operator
	Handlers []inspect.Handler

	// Body returns an object as it was before the run, for objects without requests; nil if it is not known. May be nil.
	Body func(*inspect.Object) map[string]any

	// Places are folders and addresses of this run, by their placeholders. A comparison replaces them, because they differ between runs.
	Places map[string]string
}

// Group returns the shapes of a trial, with failures first, and the numbers of requests.
func Group(t Trial) ([]Shape, []Request) {
	g := &grouper{own: newOwnFields(t), started: t.Operator.Started, body: t.Body, shapes: make(map[string]*Shape)}
	byObject, rest := g.attribute(t)
	for _, o := range t.Objects {
		if o.State == inspect.StateIgnored && len(byObject[o.UID]) == 0 {
			continue // no handler matches
		}
		g.add(g.shape(o, byObject[o.UID]), joinName(o.Namespace, o.Name))
	}
	for _, r := range rest {
		g.addUnattributed(r)
	}
	all := slices.Collect(maps.Values(g.shapes))
	result := make([]Shape, len(all))
	for i, s := range all {
		result[i] = *s
	}
	slices.SortFunc(result, func(a, b Shape) int {
		return cmp.Or(cmp.Compare(slices.Index(verdicts, a.Verdict), slices.Index(verdicts, b.Verdict)), -cmp.Compare(a.Count, b.Count), cmp.Compare(a.ID, b.ID))
	})
	return result, countRequests(t.Requests)
}

type grouper struct {
	own     ownFields
	started time.Time         // start of the operator
	shapes  map[string]*Shape // shapes by the JSON of the shape without its id

	trees  map[string]map[string]any            // objects by uid before the first request; nil if the requests have them
	body   func(*inspect.Object) map[string]any // Body of the [Trial]
	exact  bool                                 // keep the differences between replaced values of Secrets
	places []place                              // replaced texts; nil outside of comparisons
}

// attribute divides the requests among the handled objects. The requests in rest belong to no handled object.
func (g *grouper) attribute(t Trial) (byObject map[string][]proxy.Request, rest []proxy.Request) {
	known := make(map[string]bool, len(t.Objects))
	for _, o := range t.Objects {
		known[o.UID] = true
	}
	byObject = make(map[string][]proxy.Request)
	for _, r := range t.Requests {
		uid := r.UID
		if !known[uid] {
			uid = ""
			for _, candidate := range related(r) {
				if known[candidate] && (r.Handler != "" || candidate == uidOf(r)) {
					uid = candidate
					break
				}
			}
		}
		switch {
		case uid != "":
			byObject[uid] = append(byObject[uid], r)
		case r.Handler != inspect.PlanEngine || r.Code < 400 && !isBookkeeping(r):
			rest = append(rest, r)
		}
	}
	return byObject, rest
}

// isBookkeeping reports whether a request is for objects that only serve operators: events, leases, and peers. Other groups can have
// resources with these names.
func isBookkeeping(r proxy.Request) bool {
	switch r.Resource.Resource {
	case "events":
		return r.Resource.Group == "" || r.Resource.Group == "events.k8s.io"
	case "leases":
		return r.Resource.Group == "coordination.k8s.io"
	case "kopfpeerings", "clusterkopfpeerings":
		return r.Resource.Group == "kopf.dev" || r.Resource.Group == "zalando.org"
	}
	return false
}

// related returns the UIDs of the object of a request, and of its owners.
func related(r proxy.Request) []string {
	all := []string{uidOf(r)}
	for _, object := range []map[string]any{r.Before, r.After} {
		meta, _ := object["metadata"].(map[string]any)
		owners, _ := meta["ownerReferences"].([]any)
		for _, owner := range owners {
			if ref, ok := owner.(map[string]any); ok {
				uid, _ := ref["uid"].(string)
				all = append(all, uid)
			}
		}
	}
	return all
}

func uidOf(r proxy.Request) string {
	for _, object := range []map[string]any{r.Before, r.After} {
		if meta, ok := object["metadata"].(map[string]any); ok {
			if uid, _ := meta["uid"].(string); uid != "" {
				return uid
			}
		}
	}
	return ""
}

// shape returns the shape of an object, without its name.
func (g *grouper) shape(o *inspect.Object, requests []proxy.Request) Shape {
	tree := g.trees[o.UID]
	for _, r := range requests {
		if tree == nil && uidOf(r) == o.UID {
			tree = r.Before
			break
		}
	}
	if tree == nil && len(requests) > 0 && g.body != nil {
		tree = g.body(o) // the operator has changed only other objects, such as children
	}
	n := newNormaliser(o.Namespace, o.Name, o.UID, tree)
	n.exact, n.places = g.exact, g.places
	s := Shape{Resource: o.Resource, Short: o.Short, Handlers: g.handlers(o, n), Pass: pass(o, n)}
	for _, e := range effects(requests) {
		isSelf := uidOf(e.requests[0]) == o.UID
		if slices.ContainsFunc(e.requests, isBookkeeping) && len(e.handlers) == 0 && !isSelf {
			continue
		}
		if isSelf {
			s.Own = append(s.Own, g.own.records(e)...)
		}
		if w, ok := e.write(n, g.own); ok {
			if ids := called(s.Handlers); isSelf && slices.Contains(w.By, theOperator) && len(ids) > 0 {
				w.By = ids // the operator sends the changes of all handlers in one request
			}
			s.Writes = append(s.Writes, w)
		}
	}
	slices.SortFunc(s.Writes, compareWrites)
	s.Verdict = verdict(o, s)
	return s
}

func called(handlers []Handler) []string {
	var ids []string
	for _, h := range handlers {
		if h.Outcome != OutcomeFailed {
			ids = append(ids, h.ID)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

var stepPattern = regexp.MustCompile(`step "((?:[^"\\]|\\.)*)": ` + regexp.QuoteMeta(inspect.PlanStep))

// handlers returns the handlers that were called, or that had failed before the copy was made.
func (g *grouper) handlers(o *inspect.Object, n *normaliser) []Handler {
	var all []Handler
	for _, past := range slices.Backward(o.History) {
		for _, id := range past.Handlers {
			h := Handler{ID: id, Reason: string(past.Reason), Outcome: OutcomeSucceeds}
			if slices.Contains(past.Failed, id) {
				h.Outcome = OutcomeFails
			}
			all = append(all, h)
		}
	}
	for i := range o.Handlers {
		if h, ok := g.handler(o, &o.Handlers[i], n); ok {
			all = append(all, h)
		}
	}
	slices.SortStableFunc(all, func(a, b Handler) int { return cmp.Compare(a.ID, b.ID) })
	return slices.Compact(all)
}

func (g *grouper) handler(o *inspect.Object, state *inspect.HandlerState, n *normaliser) (Handler, bool) {
	h := Handler{ID: state.ID, Outcome: OutcomeSucceeds, Calls: len(state.Attempts)}
	switch state.Kind {
	case inspect.KindDaemon, inspect.KindTimer, inspect.KindIndex:
		return h, false
	case inspect.KindEvent, inspect.KindReconcile:
		h.Calls = 0 // several events or reasons can be handled by one call, so the number of calls differs from run to run
		if len(state.Attempts) == 0 {
			return h, false
		}
	default:
		if o.Cause != nil {
			h.Reason = string(o.Cause.Reason)
		}
	}
	if state.Error != nil {
		h.Error = n.message(state.Error.Message)
	}
	switch state.State {
	case inspect.PhaseFailed:
		h.Outcome = OutcomeFails
		if len(state.Attempts) == 0 {
			h.Outcome = OutcomeFailed
		}
	case inspect.PhaseRetrying:
		if state.Error != nil && state.Error.Kind == inspect.ErrorPanic {
			h.Outcome = OutcomeFails // a retry would not repair the code
			break
		}
		if h.Outcome = OutcomeWaits; o.Pass != nil && o.Pass.Outcome == inspect.PassWaiting && state.Kind == inspect.KindReconcile {
			h.Outcome, h.Error = OutcomeSucceeds, "" // the pass has the reason of the wait
			break
		}
		h.Delay = delay(state)
		if len(state.Attempts) == 0 {
			h.Delay = "" // the delay depends on the time of the copy
		}
	case inspect.PhaseRunning, inspect.PhaseNext:
		h.Outcome = OutcomeRuns
	default:
		if len(state.Attempts) == 0 {
			return h, false
		}
		if last := state.Attempts[len(state.Attempts)-1]; last.Error != nil && state.State == inspect.PhaseDone { // the state does not have an ignored error
			h.Outcome, h.Error = OutcomeIgnored, n.message(last.Error.Message)
		}
	}
	if state.Error != nil {
		if m := stepPattern.FindStringSubmatch(state.Error.Message); m != nil {
			h.Outcome, h.Step, h.Error = OutcomeStops, m[1], ""
		}
	}
	if h.Outcome == OutcomeSucceeds {
		h.Error, h.Calls = "", min(h.Calls, 1)
	}
	return h, true
}

// delay returns the time after which a handler wants to be called again.
func delay(h *inspect.HandlerState) string {
	if len(h.Attempts) == 0 {
		return ""
	}
	last := h.Attempts[len(h.Attempts)-1]
	d := h.Next.Sub(last.At.Add(time.Duration(last.Took)))
	if d > inspect.PlanLater-time.Minute {
		d -= inspect.PlanLater
	}
	if d = d.Round(time.Second); d <= 0 {
		return ""
	}
	return d.String()
}

// pass returns the last pass of the reconcile handler.
func pass(o *inspect.Object, n *normaliser) *Pass {
	if o.Pass == nil {
		return nil
	}
	p := o.Pass
	return &Pass{Outcome: string(p.Outcome), Message: n.message(p.Message), Applied: p.Applied, Pruned: p.Pruned, Refused: p.Refused}
}

// verdict returns the verdict on an object with a shape.
func verdict(o *inspect.Object, s Shape) Verdict {
	has := func(outcomes ...Outcome) bool {
		return slices.ContainsFunc(s.Handlers, func(h Handler) bool { return slices.Contains(outcomes, h.Outcome) })
	}
	refused := slices.ContainsFunc(s.Writes, func(w Write) bool { return len(w.Refused) > 0 })
	passFailed := s.Pass != nil && (s.Pass.Outcome == string(inspect.PassFailed) || s.Pass.Refused > 0)
	switch {
	case has(OutcomeFails), refused:
		return VerdictFails
	case has(OutcomeStops): // checked first, because a handler that stops at a step also makes its pass fail
		return VerdictStops
	case passFailed, o.Failing != nil:
		return VerdictFails
	case has(OutcomeWaits, OutcomeRuns), s.Pass != nil && s.Pass.Outcome == string(inspect.PassRetrying):
		return VerdictWaits
	case len(s.Writes) > 0:
		return VerdictChanges
	case o.State == inspect.StatePaused:
		return VerdictPaused
	case len(s.Own) > 0:
		return VerdictRecords
	}
	return VerdictUnchanged
}

// addUnattributed adds a request that belongs to no handled object.
func (g *grouper) addUnattributed(r proxy.Request) {
	e := effects([]proxy.Request{r})[0]
	w, ok := e.write(newNormaliser(r.Namespace, r.Name, uidOf(r), nil), g.own)
	if !ok {
		return
	}
	s := Shape{Verdict: VerdictChanges, Writes: []Write{w}}
	if len(w.Refused) > 0 {
		s.Verdict = VerdictFails
	}
	g.add(s, joinName(r.Namespace, r.Name))
}

// add adds an object to the group of its shape.
func (g *grouper) add(s Shape, name string) {
	text, err := json.Marshal(s)
	if err != nil {
		text = []byte(fmt.Sprint(s)) // a Shape has only strings and numbers
	}
	sum := sha256.Sum256(text)
	known := g.shapes[string(text)] // two shapes can have the same short id, but not the same JSON
	if known == nil {
		s.ID = hex.EncodeToString(sum[:4])
		known = &s
		g.shapes[string(text)] = known
	}
	known.Count++
	known.Objects = append(known.Objects, name)
}

func joinName(namespace, name string) string { return strings.TrimPrefix(namespace+"/"+name, "/") }

// countRequests counts the requests by verb, resource and sender.
func countRequests(requests []proxy.Request) []Request {
	counts := make(map[Request]int)
	for _, r := range requests {
		key := Request{Verb: r.Verb, Resource: resourceKey(r), Own: r.Handler == inspect.PlanEngine}
		if r.Subresource != "" {
			key.Resource += "/" + r.Subresource
		}
		counts[key]++
	}
	var all []Request
	for key, n := range counts {
		key.Count = n
		all = append(all, key)
	}
	slices.SortFunc(all, func(a, b Request) int {
		return cmp.Or(-cmp.Compare(a.Count, b.Count), cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.Verb, b.Verb))
	})
	return all
}
