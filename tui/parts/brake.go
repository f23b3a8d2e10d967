package parts

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/kopf-dev/kopf/explain"
	"github.com/kopf-dev/kopf/runner"
)

// ReleaseBrake returns the action that releases the brake on the pruning of children; no action while the brake keeps no
// children.
func ReleaseBrake(s *Screen) []Action {
	brakes := s.State.Brakes()
	if len(brakes) == 0 {
		return nil
	}
	return []Action{{
		Binding: Key("B", "release brake"), Name: "continue to prune children", Column: Act, Unavailable: s.State.NotOperating(),
		Do: func() tea.Msg { return Ask{askReleaseBrake(s, brakes)} },
	}}
}

// askReleaseBrake returns the question before the brake is released. It has one answer for each resource whose objects keep
// children.
func askReleaseBrake(s *Screen, brakes []explain.Brake) *Question {
	var text []string
	if s.State.Cluster.Provider == "context" {
		text = append(text, "In the cluster of the context "+s.State.Cluster.Name+".")
	}
	text = append(text, "After its start, the operator pruned many children of unchanged objects.", "It then stopped, and keeps these children, which are no longer applied:")
	answers := []Answer{{Key: "esc", Name: "keep them"}}
	for i, brake := range brakes {
		for _, k := range brake.Kept {
			text = append(text, fmt.Sprintf("  %s of %s %s", k.Plural, explain.Thousands(k.Objects), brake.Resource))
		}
		release := &Action{Name: "continue to prune children", Do: func() tea.Msg { return releaseBrake(s, brake.Resource) }}
		answer := Answer{Key: "y", Name: "delete them", Then: Perform{release}}
		if len(brakes) > 1 {
			answer.Key, answer.Name = strconv.Itoa(i+1), "of "+pluralOf(brake.Resource)
		}
		answers = append(answers, answer)
	}
	text = append(text, "If a new release is the cause, roll it back instead.")
	return &Question{Title: "Delete the children that the brake keeps?", Text: text, Answers: answers}
}

// releaseBrake requests the release for the objects of a resource. It does nothing if the brake ended while the question was
// open, because the request would release the brake of an operator that started in the meantime.
func releaseBrake(s *Screen, resource string) tea.Msg {
	if !slices.ContainsFunc(s.State.Brakes(), func(b explain.Brake) bool { return b.Resource == resource }) {
		return Notify{"the brake keeps no children of " + pluralOf(resource) + " any longer"}
	}
	return Request{"continuing to prune the children of " + pluralOf(resource), runner.Intent{Kind: runner.IntentUnbrake, Value: resource}}
}

func pluralOf(resource string) string {
	plural, _, _ := strings.Cut(resource, ".")
	return plural
}
