package parts

import (
	"fmt"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/kopf-dev/kopf/explain"
	"github.com/kopf-dev/kopf/runner"
)

// ReleaseBrake returns the action that continues the pruning of children; none while no pruning has stopped.
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

// askReleaseBrake returns the question before children are deleted. It has an answer for each resource of parents.
func askReleaseBrake(s *Screen, brakes []explain.Brake) *Question {
	var text []string
	if s.State.Cluster.Provider == "context" {
		text = append(text, "In the cluster of the context "+s.State.Cluster.Name+".")
	}
	text = append(text, "After its start, the operator pruned many children of unchanged objects.", "It stopped, and keeps these, which the objects no longer apply:")
	answers := []Answer{{Key: "esc", Name: "keep them"}}
	for i, brake := range brakes {
		plural, _, _ := strings.Cut(brake.Resource, ".")
		for _, k := range brake.Kept {
			text = append(text, fmt.Sprintf("  %s of %s %s", k.Plural, explain.Thousands(k.Objects), brake.Resource))
		}
		answer := Answer{Key: "y", Name: "delete them", Then: Request{
			"continuing to prune the children of " + plural, runner.Intent{Kind: runner.IntentUnbrake, Value: brake.Resource},
		}}
		if len(brakes) > 1 {
			answer.Key, answer.Name = strconv.Itoa(i+1), "of "+plural
		}
		answers = append(answers, answer)
	}
	text = append(text, "If a new release is the cause, roll it back instead.")
	return &Question{Title: "Delete the children that the brake keeps?", Text: text, Answers: answers}
}
