package listing

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kopf-dev/kopf/explain"
	"github.com/kopf-dev/kopf/sdk/inspect"
)

// Kind is a kind of items that can be listed.
type Kind string

// The kinds.
const (
	Resources Kind = "resources" // the objects that the operator has seen
	Children  Kind = "children"  // the children that the operator keeps for objects
	Handlers  Kind = "handlers"
	Indices   Kind = "indices"
	Daemons   Kind = "daemons" // the daemons and timers of the objects
	Reviews   Kind = "reviews" // the latest admission reviews
	Peers     Kind = "peers"   // the operators that know of each other through peering
)

// kinds maps the words for the kinds.
var kinds = map[string]Kind{
	"resources": Resources, "resource": Resources, "objects": Resources, "object": Resources,
	"children": Children, "child": Children,
	"handlers": Handlers, "handler": Handlers,
	"indices": Indices, "indexes": Indices, "index": Indices,
	"daemons": Daemons, "daemon": Daemons, "timers": Daemons, "timer": Daemons,
	"reviews": Reviews, "review": Reviews,
	"peers": Peers, "peer": Peers,
}

// Kinds returns the names of the kinds, as they are suggested to users.
func Kinds() []string {
	return []string{string(Resources), string(Children), string(Handlers), string(Indices), string(Daemons), string(Reviews), string(Peers)}
}

// ParseKind returns the kind that a word names, in the singular or the plural.
func ParseKind(word string) (Kind, bool) {
	kind, ok := kinds[strings.ToLower(word)]
	return kind, ok
}

// OfObjects reports whether the items belong to objects, which have a kind and a namespace.
func (k Kind) OfObjects() bool {
	return k == Resources || k == Children || k == Daemons || k == Reviews
}

// Selection selects items. The zero value selects all items.
type Selection struct {
	Namespace string              // namespace of the objects
	Resource  string              // the kind, the plural or the short name of the objects
	Name      string              // name of the object, id of the handler or the index, or identity of the peer
	State     inspect.ObjectState // state of the objects; empty for any
	Orphans   bool                // only children whose object is unknown
}

// ResourceNames returns the words for the resources of an operator: the kinds in lower case, the plurals and the short names.
func ResourceNames(s *inspect.Snapshot) []string {
	var names []string
	forResources(s, func(plural, kind, short string) { names = append(names, plural, strings.ToLower(kind), short) })
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), func(name string) bool { return name == "" })
}

// Plurals returns the plurals of the resources of an operator.
func Plurals(s *inspect.Snapshot) []string {
	var plurals []string
	forResources(s, func(plural, _, _ string) { plurals = append(plurals, plural) })
	slices.Sort(plurals)
	return slices.Compact(plurals)
}

// forResources calls a function with the names of each resource, possibly several times. Unknown ones are empty.
func forResources(s *inspect.Snapshot, add func(plural, kind, short string)) {
	plural := func(key string) string {
		name, _, _ := strings.Cut(key, ".")
		return name
	}
	for i := range s.Served {
		add(plural(s.Served[i].Key), s.Served[i].Kind, s.Served[i].Short)
	}
	for _, key := range s.Reviewed {
		add(plural(key), "", "")
	}
	for _, o := range s.Objects {
		add(plural(o.Resource), o.Kind, o.Short)
	}
	for i := range s.Reviews {
		add(plural(s.Reviews[i].Object.Resource), s.Reviews[i].Kind, "")
	}
}

// HasResource reports whether a word names a resource of an operator, with or without its group.
func HasResource(s *inspect.Snapshot, word string) bool {
	plural, _, _ := strings.Cut(strings.ToLower(word), ".")
	return slices.Contains(ResourceNames(s), plural)
}

// Daemon is a daemon or a timer of an object.
type Daemon struct {
	Object  inspect.Ref          `json:"object"`
	Handler inspect.HandlerState `json:"handler"`
}

// Peer is an operator in a peering object, which has a kind, a name and perhaps a namespace.
type Peer struct {
	Peering inspect.Peering `json:"peering"` // peering object without its peers
	inspect.Peer
}

// row is a line of a table, with its item.
type row struct {
	group string // identifies the object that it belongs to, if any
	key   string // identifies the item
	cells []string
	item  any
}

// stateGone is the state of a deleted object.
const stateGone = "gone"

// asGone returns the row of an object, a daemon or a peer that no longer exists; nothing for other rows.
func (r row) asGone() []row {
	cells := slices.Clone(r.cells)
	cells[0] = stateGone
	switch item := r.item.(type) {
	case *inspect.Object:
		o := *item
		o.State = stateGone
		return []row{{r.group, r.key, cells, &o}}
	case *Daemon:
		d := *item
		d.Handler.State = stateGone
		return []row{{r.group, r.key, cells, &d}}
	case *Peer:
		p := *item
		p.State = stateGone
		return []row{{r.group, r.key, cells, &p}}
	}
	return nil
}

// table holds the rows of one snapshot.
type table struct {
	header []string
	rows   []row
}

// tableOf lists a state of the operator.
func tableOf(s *inspect.Snapshot, kind Kind, selection Selection, now time.Time, wide bool) table {
	t := table{header: headers(kind, wide)}
	switch kind {
	case Children: // not part of the state: WriteChildren
	case Resources:
		t.addObjects(s, selection, now, wide)
	case Daemons:
		t.addDaemons(s, selection, now, wide)
	case Reviews:
		t.addReviews(s, selection, now, wide)
	case Peers:
		t.addPeers(s, selection, now, wide)
	case Handlers:
		used := explain.UsedSlots(s)
		for i := range s.Handlers {
			if h := &s.Handlers[i]; selection.Name == "" || h.ID == selection.Name {
				t.add(h.ID, h, handlerCells(h, used, now, wide)...)
			}
		}
	case Indices:
		for i := range s.Indices {
			if x := &s.Indices[i]; selection.Name == "" || x.ID == selection.Name {
				t.add(x.ID, x, x.ID, x.Key, x.Value, strconv.Itoa(x.Keys), strconv.Itoa(x.Values), strconv.Itoa(x.Objects), strings.Join(x.Resources, ","))
			}
		}
	}
	return t
}

func headers(kind Kind, wide bool) []string {
	var header, more []string
	switch kind {
	case Resources:
		header = []string{"STATE", "KIND", "NAMESPACE", "NAME", "HANDLER", "TRY", "NEXT", "AGE"}
		more = []string{"CAUSE", "VERSION", "ERROR"}
	case Children:
		header = []string{"PARENT", "KIND", "NAMESPACE", "NAME", "STATE", "SINCE", "DETAIL"}
		more = []string{"RESULT", "APPLIED"}
	case Handlers:
		header = []string{"ID", "KIND", "SELECTOR", "RUNS", "RETRIED", "FAILED", "P50", "P99"}
		more = []string{"WAITED", "DENIED", "SLOTS", "SOURCE", "FILTERS", "LAST ERROR"}
	case Indices:
		header = []string{"ID", "KEY", "VALUE", "KEYS", "VALUES", "OBJECTS", "RESOURCES"}
	case Daemons:
		header = []string{"STATE", "HANDLER", "KIND", "NAMESPACE", "NAME", "TRY", "NEXT"}
		more = []string{"STARTED", "ERROR"}
	case Reviews:
		header = []string{"ANSWER", "OPERATION", "KIND", "NAMESPACE", "NAME", "USER", "TOOK", "AGE"}
		more = []string{"ID", "HANDLERS", "MESSAGE"}
	case Peers:
		header = []string{"STATE", "IDENTITY", "PRIORITY", "SEEN", "PEERING", "NAMESPACE", "NAME"}
		more = []string{"SINCE", "MESSAGE", "PAUSED BY"}
	}
	if wide {
		header = append(header, more...)
	}
	return header
}

func (t *table) add(key string, item any, cells ...string) {
	t.rows = append(t.rows, row{key: key, item: item, cells: cells})
}

// addOf adds a row that belongs to an object.
func (t *table) addOf(o *inspect.Object, key string, item any, cells ...string) {
	group := groupOf(o.Ref)
	t.rows = append(t.rows, row{group: group, key: group + key, item: item, cells: cells})
}

func (t *table) addObjects(s *inspect.Snapshot, selection Selection, now time.Time, wide bool) {
	for _, o := range selected(s, selection) {
		cells := []string{explain.WordOf(o).Text, o.Kind, o.Namespace, o.Name, "", "", "", age(o.Created, now)}
		message := ""
		if h := explain.Active(o); h != nil {
			cells[4], cells[5], cells[6] = h.ID, explain.Try(h), explain.Next(h, now, held(s)).Cell()
			message = errorOf(h)
		}
		if wide {
			cause := ""
			if o.Cause != nil {
				cause = explain.ReasonWord(o.Cause.Reason)
			}
			cells = append(cells, cause, o.ResourceVersion, message)
		}
		t.addOf(o, "", o, cells...)
	}
}

func (t *table) addDaemons(s *inspect.Snapshot, selection Selection, now time.Time, wide bool) {
	for _, o := range selected(s, selection) {
		for i := range o.Handlers {
			h := &o.Handlers[i]
			if !explain.IsBackground(h) {
				continue
			}
			cells := []string{explain.HandlerWordOf(h).Text, h.ID, o.Kind, o.Namespace, o.Name, explain.Try(h), explain.Next(h, now, held(s)).Cell()}
			if wide {
				cells = append(cells, age(h.Started, now), errorOf(h))
			}
			t.addOf(o, " "+h.ID, &Daemon{Object: o.Ref, Handler: *h}, cells...)
		}
	}
}

func (t *table) addReviews(s *inspect.Snapshot, selection Selection, now time.Time, wide bool) {
	for i := range s.Reviews {
		r := &s.Reviews[i]
		if !selection.Has(&inspect.Object{Ref: r.Object, Kind: r.Kind, Short: shortOf(s, r.Object.Resource)}) {
			continue
		}
		cells := []string{
			explain.ReviewWord(r).Text, explain.ReviewOperation(r), r.Kind, r.Object.Namespace, r.Object.Name, r.User.Name, explain.Took(r.Took), age(r.At, now),
		}
		if wide {
			message := r.Message
			if message == "" {
				message = strings.Join(r.Warnings, "; ")
			}
			cells = append(cells, r.ID, reviewers(r), message)
		}
		t.add(r.ID, r, cells...)
	}
}

// reviewers returns the ids of the handlers that were called for a review.
func reviewers(r *inspect.Review) string {
	ids := make([]string, len(r.Handlers))
	for i, h := range r.Handlers {
		ids[i] = h.ID
	}
	return strings.Join(ids, ",")
}

// shortOf returns the short name of a resource, or "" if the operator does not watch it.
func shortOf(s *inspect.Snapshot, key string) string {
	for i := range s.Served {
		if s.Served[i].Key == key {
			return s.Served[i].Short
		}
	}
	return ""
}

func (t *table) addPeers(s *inspect.Snapshot, selection Selection, now time.Time, wide bool) {
	for i := range s.Operator.Peerings {
		peering := s.Operator.Peerings[i]
		peers := peering.Peers
		peering.Peers = nil
		for _, p := range peers {
			if selection.Name != "" && p.Identity != selection.Name {
				continue
			}
			cells := []string{
				explain.PeerWord(p.State).Text, p.Identity, strconv.Itoa(p.Priority), age(p.LastSeen, now), peering.Kind, peering.Namespace, peering.Name,
			}
			if p.Self {
				cells[1] += " (this one)"
			}
			if wide {
				cells = append(cells, age(p.Since, now), p.Message, strings.Join(p.PausedBy, ","))
			}
			t.add(peering.String()+" "+p.Identity, &Peer{Peering: peering, Peer: p}, cells...)
		}
	}
}

// selected returns the chosen objects, in the order of the workbench.
func selected(s *inspect.Snapshot, selection Selection) []*inspect.Object {
	return slices.DeleteFunc(explain.Sorted(s), func(o *inspect.Object) bool { return !selection.Has(o) })
}

// Refs returns the references of the chosen objects, in the order of the workbench.
func Refs(s *inspect.Snapshot, selection Selection) []inspect.Ref {
	var refs []inspect.Ref
	for _, o := range selected(s, selection) {
		refs = append(refs, o.Ref)
	}
	return refs
}

// Has reports whether an object is chosen.
func (s Selection) Has(o *inspect.Object) bool {
	return (s.Namespace == "" || o.Namespace == s.Namespace) &&
		(s.Name == "" || o.Name == s.Name) &&
		(s.State == "" || o.State == s.State) &&
		(s.Resource == "" || inspect.IsNamed(o, s.Resource))
}

// held returns why nothing is retried; empty if retries continue.
func held(s *inspect.Snapshot) string {
	switch {
	case s.Operator.Lost != "":
		return "the cluster does not answer"
	case s.Operator.State == inspect.OperatorPaused:
		return "paused"
	}
	return ""
}

func handlerCells(h *inspect.Handler, used map[int]int, now time.Time, wide bool) []string {
	s := &h.Stats
	selector := h.Selector
	if h.Field != "" {
		selector += " " + h.Field
	}
	cells := []string{
		h.ID, string(h.Kind), selector, strconv.Itoa(s.Runs), strconv.Itoa(s.Retried), strconv.Itoa(s.Failed), explain.Took(s.P50), explain.Took(s.P99),
	}
	if wide {
		last := s.LastError
		if last != "" {
			last = age(s.LastAt, now) + " ago: " + last
		}
		slots := ""
		if h.Slots != nil {
			slots = strconv.Itoa(used[h.Slots.ID]) + "/" + strconv.Itoa(h.Slots.Running)
		}
		cells = append(cells, strconv.Itoa(s.Waited), strconv.Itoa(s.Denied), slots, h.Source, strings.Join(h.Filters, "; "), last)
	}
	return cells
}

func errorOf(h *inspect.HandlerState) string {
	if h.Error == nil {
		return ""
	}
	return h.Error.Message
}

func age(at, now time.Time) string {
	if at.IsZero() {
		return ""
	}
	return explain.Ago(now.Sub(at))
}
