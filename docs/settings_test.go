package docs

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

func TestSettings_EachIsDocumentedInItsGroup(t *testing.T) {
	page, err := os.ReadFile("settings.md")
	if err != nil {
		t.Fatal(err)
	}
	for group := range reflect.TypeFor[kopf.Settings]().Fields() {
		_, text, found := strings.Cut(string(page), "| **`"+group.Name+"`**")
		if !found {
			t.Errorf("group %s is not documented", group.Name)
			continue
		}
		text, _, _ = strings.Cut(text, "| **")
		documented := strings.Count(text, "\n| `")
		for field := range group.Type.Fields() {
			if !strings.Contains(text, "\n| `"+field.Name+"` |") {
				t.Errorf("setting %s.%s is not documented", group.Name, field.Name)
			}
		}
		if documented != group.Type.NumField() {
			t.Errorf("%s has %d settings, but settings.md documents %d", group.Name, group.Type.NumField(), documented)
		}
	}
}
