package object

import (
	"encoding/json"
	"testing"
)

func FuzzMembers(f *testing.F) {
	f.Add([]byte(pod), "metadata")
	f.Add([]byte(`{"a\"b":{"c":["]",{"d":"\\"}]},"a\u0062":1}`), "ab")
	f.Fuzz(func(t *testing.T, text []byte, name string) {
		found := map[string]any{}
		for key, value := range Members(text) {
			decoded, err := DecodeJSON(value)
			if err != nil {
				decoded = err
			}
			found[key] = decoded
		}
		o := &Object{Raw: text}
		member := o.Member(name)
		barrier, _, _ := o.Barrier(Path{name, "x", name})
		if len(barrier) > 2 {
			t.Errorf("%q: the barrier %v", text, barrier)
		}
		if !json.Valid(text) {
			return
		}
		tree, err := DecodeJSON(text)
		want, isObject := tree.(map[string]any)
		if err != nil || !isObject {
			return
		}
		if !Equal(want, found) {
			t.Errorf("%q has the members %v instead of %v", text, found, want)
		}
		if len(member) > 0 && !json.Valid(member) {
			t.Errorf("%q: the member %q is %q", text, name, member)
		}
	})
}
