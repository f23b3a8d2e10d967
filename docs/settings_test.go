package docs

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

func TestEverySettingIsDocumentedInItsGroup(t *testing.T) {
	page, err := os.ReadFile("settings.md")
	if err != nil {
		t.Fatal(err)
	}
	for group := range reflect.TypeFor[kopf.Settings]().Fields() {
		_, text, found := strings.Cut(string(page), "| **`"+group.Name+"`**")
		if !found {
			t.Errorf("%s is not there", group.Name)
			continue
		}
		text, _, _ = strings.Cut(text, "| **")
		documented := strings.Count(text, "\n| `")
		for field := range group.Type.Fields() {
			if !strings.Contains(text, "\n| `"+field.Name+"` |") {
				t.Errorf("%s.%s is not there", group.Name, field.Name)
			}
		}
		if documented != group.Type.NumField() {
			t.Errorf("%s has %d settings, and %d are documented", group.Name, group.Type.NumField(), documented)
		}
	}
}
