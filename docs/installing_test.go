package docs

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

var yamlFence = regexp.MustCompile("(?ms)^```yaml\n(.*?)^```$")

// TestInstalling_ActionHasTheInputs compares the use of the action for continuous integration with the action.
func TestInstalling_ActionHasTheInputs(t *testing.T) {
	const folder = ".github/actions/setup"
	var action struct {
		Inputs map[string]struct {
			Required bool `json:"required"`
		} `json:"inputs"`
		Runs struct {
			Using string `json:"using"`
		} `json:"runs"`
	}
	body, err := os.ReadFile("../" + folder + "/action.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(body, &action); err != nil || action.Runs.Using != "composite" {
		t.Fatalf("the action is %+v, %v", action, err)
	}
	page, err := os.ReadFile("installing.md")
	if err != nil {
		t.Fatal(err)
	}
	uses := 0
	for _, match := range yamlFence.FindAllStringSubmatch(string(page), -1) {
		var steps []struct {
			Uses string            `json:"uses"`
			With map[string]string `json:"with"`
		}
		if err := yaml.Unmarshal([]byte(match[1]), &steps); err != nil {
			t.Errorf("%v:\n%s", err, match[1])
		}
		for _, step := range steps {
			if !strings.Contains(step.Uses, "/"+folder+"@") {
				continue
			}
			uses++
			for name := range step.With {
				if _, ok := action.Inputs[name]; !ok {
					t.Errorf("the action has no input %s", name)
				}
			}
			for name, input := range action.Inputs {
				if _, given := step.With[name]; input.Required && !given {
					t.Errorf("the required input %s is not given", name)
				}
			}
		}
	}
	if uses == 0 {
		t.Error("the page does not use the action")
	}
}
