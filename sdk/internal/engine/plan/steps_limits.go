package plan

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/kopf-dev/kopf/sdk/internal/engine/outbox"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
	"github.com/kopf-dev/kopf/sdk/internal/redact"
	"github.com/kopf-dev/kopf/sdk/internal/state"
)

// stepRoom is the room in bytes that the annotations of an object must have before a step is called.
const stepRoom = 2 * state.MaxStepResult

// CheckStepRoom returns an error if the object has no room for the record of one more step.
func (v *View) CheckStepRoom(steps state.HandlerSteps) error {
	switch {
	case len(steps.Steps) >= state.MaxSteps:
		return handlers.AsPermanent(fmt.Errorf("a handling has at most %d steps; an object is no journal", state.MaxSteps))
	case v.StepStorage().Size(v.Stored)+state.MaxStepResult > state.MaxStepsSize:
		return handlers.AsPermanent(fmt.Errorf("the steps of an object have at most %d bytes; return ids instead of whole results", state.MaxStepsSize))
	case patch.AnnotationsSize(v.Stored, nil)+stepRoom > patch.MaxAnnotationsSize:
		return handlers.AsTemporary(fmt.Errorf("the annotations of the object leave no room for the record; shorten the biggest: %s", outbox.BiggestAnnotations(v.Stored)), 0)
	}
	return nil
}

// CheckStepResult returns a permanent error if a result must not be on the object. The secrets are of the object.
func CheckStepResult(result []byte, secrets *redact.Secrets) error {
	if len(result) > state.MaxStepResult {
		return handlers.AsPermanent(fmt.Errorf("the result has %d bytes, and a record at most %d; return an id", len(result), state.MaxStepResult))
	}
	var value any
	if err := json.Unmarshal(result, &value); err != nil {
		return handlers.AsPermanent(err)
	}
	secret := secretMember(value)
	if secret == "" && secrets.Text(string(result)) != string(result) {
		secret = "a value of the object"
	}
	if secret != "" {
		return handlers.AsPermanent(fmt.Errorf("the result seems to contain a secret, %s: store it in a Secret, and return the name", secret))
	}
	return nil
}

// secretMember returns the name of a member that seems to be a secret; empty if there is none.
func secretMember(value any) string {
	switch value := value.(type) {
	case []any:
		for _, item := range value {
			if name := secretMember(item); name != "" {
				return name
			}
		}
	case map[string]any:
		for _, name := range object.SortedKeys(value) {
			if _, isText := value[name].(string); isText && seemsSecret(name) {
				return name
			}
			if name := secretMember(value[name]); name != "" {
				return name
			}
		}
	}
	return ""
}

func seemsSecret(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc([]string{"password", "token", "secret", "key"}, func(end string) bool { return strings.HasSuffix(name, end) })
}
