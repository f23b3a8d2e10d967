package explain

import (
	"cmp"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

var stepWords = map[inspect.StepState]Word{
	inspect.StepRecorded:   {"✓", "recorded", OK},
	inspect.StepRunning:    {"▸", "running", Busy},
	inspect.StepUnrecorded: {"◌", "unrecorded", Warn},
	inspect.StepUnsure:     {"?", "unsure", Err},
	inspect.StepUnknown:    {"?", "unknown", Err},
	inspect.StepAbandoned:  {"?", "abandoned", Err},
}

// StepWord returns the word for the state of a step.
func StepWord(s inspect.StepState) Word { return lookup(stepWords, s) }

// StepNote returns the time since a step was called, and the beginning of its key: "12s ago · key 4f0k…". If the handler no longer asks
// for the step, it asks whether the step was renamed, instead of the key.
func StepNote(step *inspect.Step, now time.Time) string {
	at := Since(now.Sub(step.At))
	switch {
	case step.At.IsZero():
		at = ""
	case step.State == inspect.StepRunning:
		at = For(now.Sub(step.At))
	case step.State == inspect.StepUnknown, step.State == inspect.StepAbandoned:
		return at + " · renamed or removed?"
	}
	key := []rune(step.Key)
	if len(key) > 4 {
		key = append(key[:4:4], '…')
	}
	if at == "" {
		return "key " + string(key)
	}
	return at + " · key " + string(key)
}

// StepText describes a step with its whole key: "create-bucket is recorded, 12s ago, key 4f0k2…".
func StepText(step *inspect.Step, now time.Time) string {
	text := step.Name + " is " + StepWord(step.State).Text
	switch step.State {
	case inspect.StepUnknown:
		text += " to the handler, which no longer asks for it, but recorded"
	case inspect.StepAbandoned:
		text += " by the handler, which no longer asks for it, and has perhaps happened"
	default:
	}
	switch {
	case step.State == inspect.StepRunning:
		text += ", " + cmp.Or(For(now.Sub(step.At)), "since a moment ago")
	case !step.At.IsZero():
		text += ", " + Since(now.Sub(step.At))
	}
	return text + ", key " + step.Key
}

func isUnsure(step inspect.Step) bool {
	return step.State == inspect.StepUnsure || step.State == inspect.StepAbandoned
}

// unsure returns the alarm about steps that must happen at most once, and have no result.
func (s *State) unsure() Alarm {
	if s.Unsure == 0 {
		return Alarm{}
	}
	return Alarm{Warn, "! unsure: " + Count(s.Unsure, "object") + pick(s.Unsure, " has", " have") + " a step that has perhaps happened", "the error of the handler says how to continue"}
}

// stepsNote names the recorded steps of a handler, and the step that a restart would repeat now. It is empty without steps, and
// begins with a blank otherwise. The number of all steps is unknown until the handler has called them.
func stepsNote(h *inspect.HandlerState) string {
	recorded, repeated, unknown := []string{}, "", ""
	for _, step := range h.Steps {
		switch step.State {
		case inspect.StepRecorded:
			recorded = append(recorded, step.Name)
		case inspect.StepRunning, inspect.StepUnrecorded:
			if step.Once {
				unknown += " Step " + step.Name + " happens at most once; a restart now does not repeat it."
			} else {
				repeated = step.Name
			}
		case inspect.StepUnsure:
			unknown += " Step " + step.Name + " has perhaps happened, and is not repeated."
		case inspect.StepUnknown:
			unknown += " Step " + step.Name + " is recorded, but the handler no longer asks for it."
		case inspect.StepAbandoned:
			unknown += " Step " + step.Name + " has perhaps happened, and the handler no longer asks for it."
		}
	}
	done := ""
	switch len(recorded) {
	case 0:
		if repeated == "" {
			return unknown
		}
		return " A restart now repeats step " + repeated + "." + unknown
	case 1:
		done = " Step " + recorded[0] + " is recorded"
	default:
		done = " " + Count(len(recorded), "step") + " are recorded"
	}
	if repeated == "" {
		return done + pick(len(recorded), ", and is not repeated.", ", and are not repeated.") + unknown
	}
	return done + "; a restart now repeats " + repeated + "." + unknown
}
