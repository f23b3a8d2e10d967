package object

import (
	"errors"
	"io"
	"testing"
)

func TestParseFrame_AnyOrderOfMembers(t *testing.T) {
	for _, text := range []string{
		`{"type":"MODIFIED","object":` + pod + `}`,
		`{"object":` + pod + `,"type":"MODIFIED"}` + "\n",
		`{ "type" : "MODIFIED" , "extra":[{}], "object" : ` + pod + ` }`,
	} {
		f, err := ParseFrame([]byte(text), ParseOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if f.Type != EventModified || f.Object.Name != "web-0" || f.EndsInitialEvents() {
			t.Errorf("%+v", f)
		}
	}
}

func TestParseFrame_ErrorsAndBookmarks(t *testing.T) {
	f, err := ParseFrame([]byte(`{"type":"ERROR","object":{"kind":"Status","code":410}}`), ParseOptions{})
	if err != nil || f.Object != nil || string(f.Status) != `{"kind":"Status","code":410}` {
		t.Error(f, err)
	}
	f, err = ParseFrame([]byte(`{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"7","annotations":{"k8s.io/initial-events-end":"true"}}}}`), ParseOptions{})
	if err != nil || !f.EndsInitialEvents() || f.Object.ResourceVersion != "7" {
		t.Error(f, err)
	}
	for _, text := range []string{`{}`, `{"type":"ADDED"}`, `{"object":{}}`, `{"type":"ADDED","object":1}`} {
		if _, err := ParseFrame([]byte(text), ParseOptions{}); !errors.Is(err, errSyntax) {
			t.Errorf("%s: %v", text, err)
		}
	}
	if _, err := ParseFrame([]byte(`{"type":"ADDED","object":{"metadata":`), ParseOptions{}); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Error(err)
	}
}
