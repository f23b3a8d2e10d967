package kopftest

import (
	"errors"
	"strings"
	"testing"
)

func TestManifests_ReadByDocument(t *testing.T) {
	all, err := parse("x.yaml", `# a comment
---
apiVersion: v1
kind: A
metadata: {name: a}
--- # another one
apiVersion: v1
kind: List
items:
  - {apiVersion: v1, kind: B, metadata: {name: b}}
  - {apiVersion: v1, kind: C, metadata: {name: c}}
---
`)
	var kinds []string
	for _, m := range all {
		kinds = append(kinds, m.text("kind"))
	}
	if got := strings.Join(kinds, " "); err != nil || got != "A B C" {
		t.Errorf("%s, %v", got, err)
	}
}

func TestManifests_ErrorsNameDocument(t *testing.T) {
	for text, want := range map[string]string{
		"kind: A\n---\nkind: B":                 "x.yaml, document 1",
		"{apiVersion: v1, kind: A, metadata: }": "x.yaml, document 1",
		"a: b\n---\na: [":                       "x.yaml, document 2",
	} {
		_, err := parse("x.yaml", text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, err := parse("x.yaml", "{kind: A}"); !errors.Is(err, errManifest) {
		t.Error(err)
	}
}
