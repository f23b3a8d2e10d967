package main

import (
	"os"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// workflow has the fields of a workflow of GitHub that the page may use.
type workflow struct {
	Name        string            `json:"name"`
	On          string            `json:"true"` // YAML reads the word on as true
	Permissions map[string]string `json:"permissions"`
	Jobs        map[string]struct {
		RunsOn string `json:"runs-on"`
		Steps  []struct {
			Name string            `json:"name"`
			Uses string            `json:"uses"`
			With map[string]any    `json:"with"`
			Run  string            `json:"run"`
			Env  map[string]string `json:"env"`
		} `json:"steps"`
	} `json:"jobs"`
}

func TestPlanPage_WorkflowIsValid(t *testing.T) {
	page, err := os.ReadFile("../../docs/plan.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "```yaml\n")
	text, _, found := strings.Cut(rest, "```")
	var w workflow
	if err := yaml.UnmarshalStrict([]byte(text), &w); err != nil || !found {
		t.Fatalf("%v: %s", err, text)
	}
	if w.On != "pull_request" || w.Permissions["pull-requests"] != "write" || len(w.Jobs) != 1 {
		t.Errorf("%+v", w)
	}
	plans := 0
	for _, job := range w.Jobs {
		if job.RunsOn == "" {
			t.Error("the job runs nowhere")
		}
		for _, step := range job.Steps {
			if (step.Uses == "") == (step.Run == "") {
				t.Errorf("a step must have either uses or run: %+v", step)
			}
			for line := range strings.Lines(step.Run) {
				command, isPlan := strings.CutPrefix(line, "kopf plan ")
				if !isPlan {
					continue
				}
				plans++
				command, _, _ = strings.Cut(command, " > ")
				cmd := newPlanCommand()
				if err := cmd.ParseFlags(strings.Fields(command)); err != nil || len(cmd.Flags().Args()) != 1 {
					t.Errorf("%s: %v", line, err)
				}
			}
		}
	}
	if plans != 1 {
		t.Errorf("%d plans are made", plans)
	}
}
