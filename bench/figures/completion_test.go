package main

import "testing"

func TestHandledName_NeedsResultAndDiffBase(t *testing.T) {
	const head = `{"type":"MODIFIED","object":{"metadata":{"annotations":{`
	const state = `"kopf.zalando.org/last-handled-configuration":"{\"metadata\":{\"name\":\"no\"}}"`
	const fields = `"managedFields":[{"f:kopf.zalando.org/last-handled-configuration":{}}]`
	const tail = `},` + fields + `,"name":"example-7","resourceVersion":"42"}`
	const result = `,"status":{"create":{"message":"hello"}}}}`
	for text, want := range map[string]string{
		head + state + tail + result: "example-7",
		head + state + tail + `}}`:   "",
		head + tail + result:         "",

		head + `"kopf.zalando.org/child-kinds":"configmaps"` + tail + `}}`: "example-7",
	} {
		if got := handledName([]byte(text)); got != want {
			t.Errorf("%s: %q", text, got)
		}
	}
	if got := objectVersion([]byte(head + state + tail + result)); got != "42" {
		t.Errorf("version %q", got)
	}
}

func TestCompletion_CountsEarlierObjects(t *testing.T) {
	f := newCompletion()
	f.handlerLine("a 1")
	f.handlerLine("b 2")
	f.handlerLine("b 3")
	f.handlerLine("no time")
	<-f.expect(3)
	select {
	case <-f.expect(4):
		t.Error("an object was counted twice")
	default:
	}
}
