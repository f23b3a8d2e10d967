package conditions

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kopf-dev/kopf/sdk/internal/object"
)

// situation is the input of a decision.
type situation struct {
	live       map[string]any       // status of the newest version of the object
	verdict    Verdict              // verdict about the handlers of this generation
	generation int64                // handled generation; 0 without a status subresource, where each write of the status raises it
	observes   bool                 // the schema has the field status.observedGeneration
	set        map[string]condition // unwritten conditions of handlers, by type
	owned      map[string]bool      // types of the conditions that handlers set earlier
	whole      bool                 // the list can only be applied as a whole
	now        time.Time
}

// decision is the status to apply.
type decision struct {
	same     bool           // the object already has this status
	messages bool           // the object has this status, except for messages
	status   map[string]any // fields to apply
	content  string         // fields without times, for comparisons
}

// decide returns the status to apply. The status has conditions of other programs only if the list is applied as a whole.
func decide(s *situation) decision {
	live, _ := s.live["conditions"].([]any)
	wanted := s.wanted()
	d := decision{same: true, messages: true}
	written := map[string]condition{}
	for _, c := range wanted {
		had, exists := find(live, c.typ)
		if c.status == "" {
			if exists && (s.whole || s.owned[c.typ]) {
				d.same, d.messages = false, false
			}
			continue
		}
		c.since = s.since(c, had)
		if !exists || had.withoutTime() != c.withoutTime() {
			d.same = false
			d.messages = d.messages && exists && had.withoutTimeAndMessage() == c.withoutTimeAndMessage()
		}
		written[c.typ] = c
	}
	observed, changed := s.observed()
	if changed {
		d.same, d.messages = false, false
	}
	d.status = map[string]any{"conditions": s.list(live, wanted, written)}
	if observed != nil {
		d.status["observedGeneration"] = observed
	}
	d.content = fmt.Sprint(observed)
	for _, typ := range slices.Sorted(maps.Keys(written)) {
		d.content += fmt.Sprintf("%+v", written[typ].withoutTime())
	}
	return d
}

// wanted returns the operator's own conditions, and then the unwritten conditions of handlers, sorted by type. A condition with an
// empty status must be removed.
func (s *situation) wanted() []condition {
	all := s.verdict.conditions()
	for i := range all {
		all[i].generation = s.generation
	}
	for _, typ := range slices.Sorted(maps.Keys(s.set)) {
		c := s.set[typ]
		if s.generation == 0 {
			c.generation = 0
		}
		all = append(all, c)
	}
	return all
}

// since returns the lastTransitionTime of a condition, which keeps its previous time unless the status has changed.
func (s *situation) since(c, had condition) string {
	switch {
	case had.status == c.status && had.since != "":
		return had.since
	case c.since != "":
		return c.since
	}
	return s.now.UTC().Format(time.RFC3339)
}

// observed returns the new value of status.observedGeneration, or nil to write none. It also reports whether the value changes.
// While a handler is retried, the present value stays.
func (s *situation) observed() (value any, changed bool) {
	present, exists := s.live["observedGeneration"]
	switch {
	case !s.observes || s.generation == 0:
		return nil, false
	case s.verdict.Retried && exists:
		return present, false
	case s.verdict.Retried:
		return nil, false
	}
	return s.generation, present != any(s.generation)
}

// list returns the list of conditions to apply.
func (s *situation) list(live []any, wanted []condition, written map[string]condition) []any {
	list := []any{}
	taken := map[string]bool{}
	for _, value := range live {
		c, ok := parse(value)
		switch now, replaced := written[c.typ]; {
		case ok && taken[c.typ]: // drop a second condition of this type
		case ok && replaced:
			list, taken[c.typ] = append(list, now.tree()), true
		case ok && slices.ContainsFunc(wanted, func(w condition) bool { return w.typ == c.typ }): // drop a condition to remove
		case s.whole, s.owned[c.typ]:
			list = append(list, object.Clone(value))
		}
	}
	for _, c := range wanted {
		if now, ok := written[c.typ]; ok && !taken[c.typ] {
			list = append(list, now.tree())
		}
	}
	return list
}

// find returns the first condition of a type.
func find(live []any, typ string) (condition, bool) {
	for _, value := range live {
		if c, ok := parse(value); ok && c.typ == typ {
			return c, true
		}
	}
	return condition{}, false
}

// hasUnattributed reports whether the status has conditions that handlers may have set in earlier processes. Only managedFields show
// the manager of such conditions.
func (s *situation) hasUnattributed() bool {
	live, _ := s.live["conditions"].([]any)
	return slices.ContainsFunc(live, func(value any) bool {
		c, ok := parse(value)
		return ok && !reserved(c.typ) && s.set[c.typ].status == ""
	})
}

// appliedTypes returns the types of the conditions that a manager has applied, by the managedFields of an object.
func appliedTypes(managedFields any, manager string) map[string]bool {
	types := map[string]bool{}
	entries, _ := managedFields.([]any)
	for _, value := range entries {
		entry, _ := value.(map[string]any)
		if entry["manager"] != manager || entry["operation"] != string(metav1.ManagedFieldsOperationApply) {
			continue
		}
		fields, _ := object.Lookup(entry, object.Path{"fieldsV1", "f:status", "f:conditions"})
		items, _ := fields.(map[string]any)
		for key := range items {
			var keys struct{ Type string }
			if text, ok := strings.CutPrefix(key, "k:"); ok && json.Unmarshal([]byte(text), &keys) == nil {
				types[keys.Type] = true
			}
		}
	}
	return types
}
