package records

import (
	"encoding/json"
	"os"
	"reflect"
	"regexp"
	"slices"
	"testing"
)

// TestIsAnnotation_DocumentedNames reads the table of the records.
func TestIsAnnotation_DocumentedNames(t *testing.T) {
	text, err := os.ReadFile("../../docs/state-on-objects.md")
	if err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile("(?m)^\\| `metadata\\.annotations\\[[A-Za-z.]+/(.+)\\]`").FindAllStringSubmatch(string(text), -1)
	if len(names) < 10 {
		t.Fatalf("the table has %d annotations", len(names))
	}
	for _, match := range names {
		name := match[1]
		if name != "<handler id>" && name != "reconcile" && !IsAnnotation([]string{"acme.com"}, "acme.com/"+name, "") { // both have the progress of a handler
			t.Errorf("%s is no record", name)
		}
		if IsAnnotation([]string{"acme.com"}, "other.com/"+name, "") || IsAnnotation([]string{"acme.com"}, name, "") {
			t.Errorf("%s is a record with any prefix", name)
		}
	}
}

func decode(t *testing.T, text string) (object map[string]any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &object); err != nil {
		t.Fatal(err)
	}
	return object
}

func TestIsState_FieldsOfTheObject(t *testing.T) {
	claim := decode(t, `{"apiVersion":"v1","kind":"Claim","metadata":{"labels":{}},"spec":{"size":1},"status":{}}`)
	for text, want := range map[string]bool{
		"{\"spec\":{\"size\":2}}\n": true, "{\"spec\":{},\"metadata\":{},\"status\":{}}\n": true, "{\"spec\":null}\n": true,
		"{\"spec\":{}}": false, "{\"size\":1}\n": false, "{\"spec\":{},\"data\":{}}\n": false, "{\"kind\":\"Claim\"}\n": false,
		"{}\n": false, "[{}]\n": false, "\n": false, "": false, "{\"spec\":{}\n": false,
	} {
		if IsState(text, claim) != want {
			t.Errorf("%q: want %v", text, want)
		}
	}
	if IsState(1, claim) || IsState("{\"spec\":{}}\n", nil) {
		t.Error("a number, or no object")
	}
}

func TestWithout_EmptiedMapsAreRemoved(t *testing.T) {
	const text = `{"a":{"b":{"c":1}},"d":{"e":1,"f":{}}}`
	for path, want := range map[string]string{
		"a b c": `{"d":{"e":1,"f":{}}}`, "a b": `{"d":{"e":1,"f":{}}}`, "d e": `{"a":{"b":{"c":1}},"d":{"f":{}}}`,
		"d e x": text, "x": text, "": text,
	} {
		object := decode(t, text)
		got := Without(object, regexp.MustCompile(`\w`).FindAllString(path, -1))
		if !reflect.DeepEqual(got, decode(t, want)) {
			t.Errorf("%s: got %v, want %s", path, got, want)
		}
		if !reflect.DeepEqual(object, decode(t, text)) {
			t.Errorf("%s: the object has changed to %v", path, object)
		}
	}
}

func TestMarked_PrefixesOfOperators(t *testing.T) {
	got := Marked(map[string]any{"acme.com/kopf-managed": "yes", "kopf-managed": "yes", "other.com/note": ""})
	if !slices.Equal(got, []string{"acme.com"}) {
		t.Errorf("got %v", got)
	}
}
