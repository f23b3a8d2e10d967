package conditions

import (
	"fmt"
	"regexp"
	"slices"
	"time"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
)

// The types of the operator's own conditions.
const (
	Ready       = "Ready"
	Reconciling = "Reconciling"
	Stalled     = "Stalled"
)

func reserved(typ string) bool { return typ == Ready || typ == Reconciling || typ == Stalled }

// condition is a condition in the status of an object. With an empty status, it is a condition to remove.
type condition struct {
	typ, status, reason, message string
	generation                   int64  // observedGeneration; 0 if there is none
	since                        string // lastTransitionTime
}

const (
	maxMessage = 1000  // maximum number of characters of the operator's own messages
	maxGiven   = 32768 // maximum number of characters of a handler's message, by the API conventions
)

// conditions returns the conditions Ready, Reconciling and Stalled for a verdict.
func (v Verdict) conditions() []condition {
	message := firstRunes(v.Message, maxMessage)
	make := func(typ string, holds, speaks bool) condition {
		c := condition{typ: typ, status: string(metav1.ConditionFalse), reason: v.State.String()}
		if holds {
			c.status = string(metav1.ConditionTrue)
		}
		if speaks {
			c.message = message
		}
		return c
	}
	return []condition{
		make(Ready, v.State == Complete, true),
		make(Reconciling, v.State.reconciling(), v.State.reconciling()),
		make(Stalled, v.State.stalled(), v.State.stalled()),
	}
}

func firstRunes(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

// parse returns the condition of an item of status.conditions; false if the item is no condition.
func parse(value any) (condition, bool) {
	m, ok := value.(map[string]any)
	if !ok {
		return condition{}, false
	}
	text := func(name string) string {
		s, _ := m[name].(string)
		return s
	}
	c := condition{text("type"), text("status"), text("reason"), text("message"), 0, text("lastTransitionTime")}
	c.generation, _ = m["observedGeneration"].(int64)
	return c, c.typ != ""
}

func (c condition) tree() map[string]any {
	m := map[string]any{
		"type": c.typ, "status": c.status, "reason": c.reason, "message": c.message, "lastTransitionTime": c.since,
	}
	if c.generation != 0 {
		m["observedGeneration"] = c.generation
	}
	return m
}

func (c condition) withoutTime() condition {
	c.since = ""
	return c
}

func (c condition) withoutTimeAndMessage() condition {
	c.since, c.message = "", ""
	return c
}

var (
	typePattern   = regexp.MustCompile(`^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$`)
	reasonPattern = regexp.MustCompile(`^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$`)
)

// Check returns an error if a handler must not set a condition.
func Check(c handlers.Condition) error {
	_, err := given(c, 0)
	return err
}

// given converts a condition of a handler, or returns an error if the condition is invalid. A condition without an
// ObservedGeneration gets the generation.
func given(c handlers.Condition, generation int64) (condition, error) {
	fail := func(format string, args ...any) (condition, error) {
		return condition{}, fmt.Errorf("set the condition %q: %s", c.Type, fmt.Sprintf(format, args...))
	}
	statuses := []metav1.ConditionStatus{metav1.ConditionTrue, metav1.ConditionFalse, metav1.ConditionUnknown}
	switch {
	case reserved(c.Type):
		return fail("the operator itself keeps this condition; choose another type")
	case !typePattern.MatchString(c.Type) || len(c.Type) > 316:
		return fail("the type is not valid; use a name in CamelCase, such as DatabaseReady")
	case c.Status == "":
		return condition{typ: c.Type}, nil
	case !slices.Contains(statuses, c.Status):
		return fail("the status is %q; want True, False or Unknown", c.Status)
	case !reasonPattern.MatchString(c.Reason) || len(c.Reason) > 1024:
		return fail("the reason is %q; use one word in CamelCase, such as Provisioned", c.Reason)
	case utf8.RuneCountInString(c.Message) > maxGiven:
		return fail("the message has more than %d characters", maxGiven)
	}
	made := condition{c.Type, string(c.Status), c.Reason, c.Message, c.ObservedGeneration, ""}
	if made.generation == 0 {
		made.generation = generation
	}
	if !c.LastTransitionTime.IsZero() {
		made.since = c.LastTransitionTime.UTC().Format(time.RFC3339)
	}
	return made, nil
}
