package shapes

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

// Compare compares a trial with two trials of another build, which all started with identical copies. Fields that differ
// between the two trials of the other build are noise, and are not compared.
func Compare(now, first, second Trial) *Against {
	return compare(now, first, second, newOwnFields, false)
}

// compare implements [Compare], with a function that returns the operator's own fields of a trial. If foreign is true, the handlers
// and the verbs of the requests are unknown, and are not compared.
func compare(now, first, second Trial, own func(Trial) ownFields, foreign bool) *Against {
	trees := make(map[string]map[string]any)
	for _, t := range []Trial{first, second, now} {
		for _, r := range t.Requests {
			if uid := uidOf(r); uid != "" && r.Before != nil && trees[uid] == nil {
				trees[uid] = r.Before
			}
		}
	}
	c := comparer{foreign: foreign, versions: newVersions(first, now), noise: make(map[string]bool), noisy: make(map[string]bool), found: make(map[string]*Difference)}
	all := [3]map[subject]Shape{subjects(first, trees, own(first)), subjects(second, trees, own(second)), subjects(now, trees, own(now))}
	keys := maps.Clone(all[0])
	for _, m := range all[1:] {
		maps.Copy(keys, m)
	}
	random := make(map[string]int) // number of unattributed objects that only the first trial has, minus those that only this build has
	for s := range keys {
		_, inFirst := all[0][s]
		_, inSecond := all[1][s]
		switch _, inNow := all[2][s]; {
		case !s.unattributed || inFirst == inNow || inSecond:
		case inFirst:
			random[s.resource]++
			c.noisy[s.resource] = true
		default:
			random[s.resource]--
		}
	}
	maps.DeleteFunc(c.noisy, func(resource string, _ bool) bool { return random[resource] != 0 })
	for s, known := range keys {
		c.compare(s, known, all[2][s], all[0][s], all[1][s])
	}
	a := &Against{AsBefore: c.same, Noise: slices.AppendSeq([]string{}, maps.Keys(c.noise)), Differences: []Difference{}}
	slices.Sort(a.Noise)
	for _, d := range c.found {
		slices.Sort(d.Objects)
		a.Differences = append(a.Differences, *d)
	}
	slices.SortFunc(a.Differences, compareDifferences)
	a.Requests = countRequests(first.Requests)
	a.Handlers = c.versions.differences()
	return a
}

// subject is an object that a trial has handled. An unattributed subject is an object that was changed by requests without a handled object.
type subject struct {
	resource, namespace, name string
	unattributed              bool
}

// subjects returns the shapes of all objects of a trial.
func subjects(t Trial, trees map[string]map[string]any, own ownFields) map[subject]Shape {
	g := &grouper{own: own, started: t.Operator.Started, trees: trees, body: t.Body, exact: true, places: placesOf(t)}
	byObject, rest := g.attribute(t)
	all := make(map[subject]Shape)
	for _, o := range t.Objects {
		if o.State == inspect.StateIgnored && len(byObject[o.UID]) == 0 {
			continue
		}
		s := subject{resource: o.Resource, namespace: o.Namespace, name: o.Name}
		if _, known := all[s]; known {
			s.name += " " + o.UID // another object with the name, which was deleted and created again
		}
		all[s] = g.shape(o, byObject[o.UID])
	}
	for _, e := range effects(rest) {
		n := newNormaliser(e.namespace, e.name, uidOf(e.requests[0]), nil)
		n.exact, n.places = true, g.places
		if w, ok := e.write(n, g.own); ok {
			all[subject{e.resource, e.namespace, e.name, true}] = Shape{Resource: e.resource, Writes: []Write{w}}
		}
	}
	return all
}

// comparer collects the result of a comparison.
type comparer struct {
	foreign bool            // the clients and the verbs of requests are not compared
	noise   map[string]bool // fields that are not compared
	noisy   map[string]bool // resources whose unattributed objects seem to have random names
	found   map[string]*Difference
	same    int

	versions *versions
}

// compare compares the shapes of an object in the trial of this build and in the two trials of the other build. The argument known is
// the shape in one of the trials that have the object.
func (c *comparer) compare(s subject, known, now, first, second Shape) {
	one, two := len(first.Writes) > 0, len(second.Writes) > 0
	if s.unattributed && (one != two || !one && c.noisy[s.resource]) {
		c.noise[s.resource+" without a handled object"] = true
		return
	}
	a, b, n := c.factsOf(first, nil), c.factsOf(second, first.Writes), c.factsOf(now, first.Writes)
	isNewFailure := func(path string) bool { return n.failures[path] && !a.failures[path] && !b.failures[path] }
	masked, keys := make(map[string]bool), make(map[string]int)
	for _, change := range a.differences(b) {
		masked[change.Path] = true
		c.noise[hideSecrets(change.Path)] = true
		if f := a.values[change.Path]; f != nil && b.values[change.Path] == nil && n.values[change.Path] == nil {
			keys[f.parent]++
		}
	}
	added := make(map[string]int)
	changes := slices.DeleteFunc(a.differences(n), func(d Change) bool {
		if f := n.values[d.Path]; f != nil && a.values[d.Path] == nil && b.values[d.Path] == nil {
			added[f.parent]++
		}
		return masked[d.Path] && !isNewFailure(strings.TrimSuffix(d.Path, " refused"))
	})
	changes = slices.DeleteFunc(changes, func(d Change) bool {
		// Map keys that differ in each trial are no difference if their number is the same.
		f := n.values[d.Path]
		return f != nil && f.parent != "" && a.values[d.Path] == nil && b.values[d.Path] == nil && keys[f.parent] > 0 && keys[f.parent] == added[f.parent]
	})
	newly := slices.ContainsFunc(slices.Collect(maps.Keys(n.failures)), isNewFailure)
	noLonger := len(a.failures) > 0 && len(b.failures) > 0 && len(n.failures) == 0
	verdict := Differs
	switch {
	case newly:
		verdict = NewlyFails
	case noLonger:
		verdict = NoLongerFails
	case len(changes) == 0:
		if !s.unattributed {
			c.same++
		}
		return
	}
	for i := range changes {
		d := &changes[i]
		c.versions.blame(a.values[d.Path], n.values[d.Path])
		d.Path, d.Old, d.New = hideSecrets(d.Path), hideSecrets(d.Old), hideSecrets(d.New)
	}
	c.add(Difference{Verdict: verdict, Resource: known.Resource, Short: known.Short, Changes: changes}, joinName(s.namespace, s.name))
}

// add adds an object to the group of its difference.
func (c *comparer) add(d Difference, name string) {
	text, err := json.Marshal(d)
	if err != nil {
		text = []byte(fmt.Sprint(d)) // a Difference has only strings and numbers
	}
	sum := sha256.Sum256(text)
	d.ID = hex.EncodeToString(sum[:4])
	known := c.found[d.ID]
	if known == nil {
		known = &d
		c.found[d.ID] = known
	}
	known.Count++
	known.Objects = append(known.Objects, name)
}

// facts are the compared values of an object, by their names, without an order.
type facts struct {
	values   map[string]*fact
	failures map[string]bool // names of failed handlers and requests
}

// fact is a compared value of an object. An object without the fact is compared as if the value were otherwise. For the field of an object,
// parent is the path of the map or list that contains the field. If perObject is true, the value can depend on the object, because it is
// a field or a message. The handlers in by are the cause of the fact.
type fact struct {
	value, otherwise, parent string

	perObject bool
	by        []string
}

// differences returns the facts that differ, with the values of f as old values.
func (f facts) differences(now facts) []Change {
	paths := maps.Clone(f.values)
	maps.Copy(paths, now.values)
	var all []Change
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		a, b := f.values[path], now.values[path]
		c := Change{Path: path, perObject: a != nil && a.perObject || b != nil && b.perObject}
		switch {
		case a == nil:
			c.Old, c.New = b.otherwise, b.value
		case b == nil:
			c.Old, c.New = a.value, a.otherwise
		default:
			c.Old, c.New = a.value, b.value
		}
		if c.Old != c.New {
			all = append(all, c)
		}
	}
	return all
}

// factsOf returns the facts of a shape. The reference is the writes of the first trial of the other build. A created object whose name is
// not in the reference is matched with a created object of the reference: see [identities].
func (c *comparer) factsOf(s Shape, reference []Write) facts {
	f := facts{values: make(map[string]*fact), failures: make(map[string]bool)}
	names := make(counter)
	for _, h := range s.Handlers {
		path := names.next(strings.TrimSpace("handler " + h.ID + " " + h.Reason))
		f.set(path, string(h.Outcome), h.ID)
		f.setMessage(path+" error", h.Error, h.ID)
		f.set(path+" delay", h.Delay, h.ID)
		f.set(path+" step", h.Step, h.ID)
		f.failures[path] = h.Outcome == OutcomeFails
	}
	if p := s.Pass; p != nil {
		f.set("pass", p.Outcome)
		f.setMessage("pass message", p.Message)
		f.failures["pass"] = p.Outcome == string(inspect.PassFailed) || p.Refused > 0
	}
	f.set("own changes", strings.Join(s.Own, ", "))
	paths, renamed := identities(s.Writes, reference)
	for i, path := range paths {
		w := s.Writes[i]
		if old, ok := renamed[i]; ok {
			f.values[path+" name"] = &fact{value: w.Name, otherwise: old, by: w.By}
		}
		if c.foreign {
			f.set(path, w.effect(), w.By...)
		} else {
			f.set(path, strings.Join(slices.Sorted(slices.Values(w.Verbs)), ", ")+" by "+cmp.Or(strings.Join(w.By, ", "), "an unknown client"), w.By...)
		}
		for _, change := range w.Changes {
			parent := path + " " + change.Path[:max(0, strings.LastIndexAny(change.Path, ".["))]
			f.values[path+" "+change.Path] = &fact{change.New, change.Old, parent, true, w.By}
		}
		f.setMessage(path+" refused", strings.Join(w.Refused, "; "), w.By...)
		f.failures[path] = len(w.Refused) > 0
	}
	maps.DeleteFunc(f.failures, func(_ string, failed bool) bool { return !failed })
	if s.Verdict == VerdictFails && len(f.failures) == 0 {
		f.failures["object"] = true
	}
	return f
}

func (f facts) set(path, value string, by ...string) {
	if value != "" {
		f.values[path] = &fact{value: value, by: by}
	}
}

// setMessage sets a fact that is a message about the object.
func (f facts) setMessage(path, message string, by ...string) {
	if message != "" {
		f.values[path] = &fact{value: message, perObject: true, by: by}
	}
}

// identities returns the names of the writes for comparisons. A created object whose name is not in the reference, such as an object with a
// random name, gets the name of a created object that only the reference has. The keys of renamed are the indices of these writes.
func identities(writes, reference []Write) (all []string, renamed map[int]string) {
	own, known := make(counter), make(counter)
	var free []int // writes of the reference without a counterpart
	wanted := make([]string, len(reference))
	for i, w := range reference {
		wanted[i] = known.next(w.Resource + " " + w.Name)
		free = append(free, i)
	}
	all, renamed = make([]string, len(writes)), make(map[int]string)
	for i, w := range writes {
		all[i] = own.next(w.Resource + " " + w.Name)
		free = slices.DeleteFunc(free, func(j int) bool { return wanted[j] == all[i] })
	}
	for _, same := range []bool{true, false} { // first match objects with the same fields, because random names have a random order
		for i, w := range writes {
			if slices.Contains(wanted, all[i]) {
				continue
			}
			at := slices.IndexFunc(free, func(j int) bool {
				r := reference[j]
				return isCreated(w) && isCreated(r) && w.Resource == r.Resource && (!same || slices.Equal(w.Changes, r.Changes))
			})
			if at >= 0 {
				all[i], renamed[i] = wanted[free[at]], reference[free[at]].Name
				free = slices.Delete(free, at, at+1)
			}
		}
	}
	return all, renamed
}

func isCreated(w Write) bool { return slices.Contains(w.Verbs, "create") }

// counter makes equal names different by appending numbers.
type counter map[string]int

func (c counter) next(name string) string {
	if c[name]++; c[name] > 1 {
		return fmt.Sprintf("%s #%d", name, c[name])
	}
	return name
}
