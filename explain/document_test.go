package explain_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-dev/kopf/explain"
)

func TestDocument_KnowsWhatFolds(t *testing.T) {
	const text = `apiVersion: v1
metadata:
  annotations:
    "a: b": '{"x": 1}'
    note: |-
      first: line

      second
  finalizers:
  - one
  - two
  name: x
spec:
  containers:
  - env:
    - name: A
      value: "1"
    image: web:1
  - image: log
  empty: {}
status: {}`
	lines := strings.Split(text, "\n")
	d := explain.NewDocument(lines)
	var got []string
	for i := range d.Lines {
		l := &d.Lines[i]
		if want := strings.TrimLeft(lines[i], " "); strings.TrimSuffix(l.Text(), " ") != want {
			t.Errorf("line %d is %q, want %q", i, l.Text(), want)
		}
		if l.Folds(i) {
			got = append(got, fmt.Sprintf("%d-%d %s", i, l.End, l.Path))
		}
	}
	want := []string{
		"1-12 metadata", "2-8 metadata/annotations", "4-8 metadata/annotations/note", "8-11 metadata/finalizers",
		"12-20 spec", "13-19 spec/containers", "14-18 spec/containers/#0", "15-17 spec/containers/#0/env/#0",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
