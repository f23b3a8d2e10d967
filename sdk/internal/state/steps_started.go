package state

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
)

// The start of an at-most-once step has a separate annotation. A person can remove the annotation with kubectl, without the results of
// other steps.

// startedName is the start of the names of the annotations. Ids of handlers cannot start with it.
const startedName = "started-step."

// CanStart reports whether a step with the name can have a start: the name is a part of the name of the annotation.
func CanStart(name string) bool {
	edge := func(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' }
	other := func(r rune) bool { return !edge(r) && r != '-' && r != '_' }
	return name != "" && !strings.ContainsFunc(name, other) && strings.TrimFunc(name, func(r rune) bool { return !edge(r) }) == name
}

// startedText is the JSON of a start.
type startedText struct {
	Handler string `json:"handler"`
	Step    string `json:"step"`
	At      string `json:"at"`
	UID     string `json:"uid"` // object of the start: see [stepsText]
}

// StartedKey returns the annotation with the start of a step.
func (s StepStorage) StartedKey(id, step string, obj map[string]any) string {
	return annotationKeys(s.Prefix, false, startedName+id+"/"+step, obj)[0]
}

// started returns the starts of the steps of a handler by their names; nil if there are none.
func (s StepStorage) started(obj map[string]any, id string) (started map[string]string) {
	for key, stored := range object.Annotations(obj) {
		text, _ := stored.(string)
		if !s.owns(key) || !strings.HasPrefix(key[len(s.Prefix)+1:], startedName) {
			continue
		}
		var t startedText
		if err := json.Unmarshal([]byte(text), &t); err != nil || t.Handler != id || t.UID != uidOf(obj) || t.At == "" {
			continue // of another handler, another object, or another program
		}
		if started == nil {
			started = make(map[string]string, 1)
		}
		started[t.Step] = t.At
	}
	return started
}

// storeStarted records the starts through the patch.
func (s StepStorage) storeStarted(obj map[string]any, steps HandlerSteps, p *patch.Patch) error {
	stored := s.started(obj, steps.Handler)
	for name, at := range steps.Started {
		path := annotation(s.StartedKey(steps.Handler, name, obj))
		switch at {
		case "":
			p.Remove(path)
			continue
		case stored[name]:
			continue // a person can remove it at the same time
		}
		text, err := json.Marshal(startedText{Handler: steps.Handler, Step: name, At: at, UID: uidOf(obj)})
		if err != nil {
			return fmt.Errorf("record the start of step %q: %w", name, err)
		}
		p.Set(path, string(text))
	}
	return nil
}
