package object

import (
	"bytes"
	"encoding/json"
	"testing"
)

func FuzzParseFrame(f *testing.F) {
	f.Add([]byte(`{"type":"ADDED","object":` + pod + `}`))
	f.Add([]byte(`{"object":{"metadata":{"name":"a\"b","managedFields":[{}],"uid":"1"}},"type":"MODIFIED"}`))
	f.Add([]byte(`{"type":"ERROR","object":{"kind":"Status","code":410}}`))
	f.Add([]byte(`{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"7","annotations":{"k8s.io/initial-events-end":"true"}}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		frame, err := ParseFrame(data, ParseOptions{APIVersion: "v1", Kind: "Pod"})
		if err != nil {
			return
		}
		if frame.Type == "" || (frame.Object == nil) == (frame.Type != EventError) {
			t.Fatalf("%q: a frame of the type %q with the object %v", data, frame.Type, frame.Object)
		}
		frame.EndsInitialEvents()
		if !json.Valid(data) {
			return // the error may be within the object, whose decoding fails then
		}
		if frame.Object != nil && !json.Valid(frame.Object.Raw) || frame.Object == nil && !json.Valid(frame.Status) {
			t.Errorf("%q became %+v", data, frame)
		}
		whole := bytes.TrimRight(data, " \t\r\n")
		for i := range min(len(whole), 64) { // where a connection may break
			if _, err := ParseFrame(whole[:len(whole)-1-i], ParseOptions{}); err == nil {
				t.Fatalf("%q was accepted without its last %d bytes", whole, i+1)
			}
		}
	})
}
