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
	verdict    Verdict              // about the handling of the generation
	generation int64                // generation that was handled; 0 if the resource has none that is worth recording
	observes   bool                 // the status has the field observedGeneration
	set        map[string]condition // conditions that handlers have set and the status may lack, by type
	owned      map[string]bool      // types of the conditions that handlers have set before
	whole      bool                 // the list can only be applied as a whole
	now        time.Time
}

// decision is the status to apply.
type decision struct {
	same     bool           // the object has it already
	messages bool           // the object has it but for the messages
	status   map[string]any // the fields to apply
	content  string         // the fields without the times, for comparisons
}

// decide returns the status to apply. Conditions of other programs are in it only if the list is applied as a whole.
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
		if !exists || had.timeless() != c.timeless() {
			d.same = false
			d.messages = d.messages && exists && had.silent() == c.silent()
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
		d.content += fmt.Sprintf("%+v", written[typ].timeless())
	}
	return d
}

// wanted returns the operator's conditions and the set ones, in a stable order. Conditions without a status are to be removed.
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

// since returns the time of a condition's last transition. Times in the status have a precision of seconds.
func (s *situation) since(c, had condition) string {
	switch {
	case had.status == c.status && had.since != "":
		return had.since
	case c.since != "":
		return c.since
	}
	return s.now.UTC().Format(time.RFC3339)
}

// observed returns the value of status.observedGeneration, nil for none, and whether it differs from the present one. After an
// error, the present one stays until the handlers have succeeded, have failed or wait.
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
		case ok && taken[c.typ]: // a second one of the same type
		case ok && replaced:
			list, taken[c.typ] = append(list, now.tree()), true
		case ok && slices.ContainsFunc(wanted, func(w condition) bool { return w.typ == c.typ }): // removed
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

// strange reports whether the status has conditions of which only managedFields say whether handlers have set them.
func (s *situation) strange() bool {
	live, _ := s.live["conditions"].([]any)
	return slices.ContainsFunc(live, func(value any) bool {
		c, ok := parse(value)
		return ok && !reserved(c.typ) && s.set[c.typ].status == ""
	})
}

// keys returns the types of the conditions that a manager has applied, by the managedFields of an object.
func keys(managedFields any, manager string) map[string]bool {
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
			var of struct{ Type string }
			if text, ok := strings.CutPrefix(key, "k:"); ok && json.Unmarshal([]byte(text), &of) == nil {
				types[of.Type] = true
			}
		}
	}
	return types
}
