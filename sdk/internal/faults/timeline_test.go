package faults

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// timeline returns the versions of the object and the calls of its handlers and steps, in the order of their times.
func (i *inspection) timeline() string {
	type event struct {
		at   time.Time
		text string
	}
	var events []event
	for _, v := range i.object.versions {
		events = append(events, event{v.came, fmt.Sprintf("version %d (life %d): value %s, last %s, held %t, deleting %t, gone %t, records %v, steps %v, started %v, status %+v",
			v.number, i.lifeAt(v.number), v.value, v.last, v.held, v.deleting, v.gone, v.records, v.steps, v.started, v.status)})
	}
	for what, all := range map[string][]call{"called": i.tries, "succeeded": i.calls} {
		for _, c := range all {
			events = append(events, event{c.at, what + ": " + c.String()})
		}
	}
	for what, all := range map[string][]stepCall{
		"step called": i.steps, "step at most once asked for": i.onces.asked, "step at most once called": i.onces.called, "step at most once unsure": i.onces.unsure,
	} {
		for _, c := range all {
			events = append(events, event{c.at, what + ": " + c.String()})
		}
	}
	slices.SortStableFunc(events, func(a, b event) int { return a.at.Compare(b.at) })
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s, starts of lives: %v\n", i.object.kind, i.object.name, i.starts)
	for _, e := range events {
		fmt.Fprintf(&b, "%s %s\n", e.at.Format("05.000"), e.text)
	}
	return b.String()
}
