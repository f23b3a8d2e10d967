package object

import "testing"

func FuzzComputeDiff(f *testing.F) {
	f.Add([]byte(`{"spec":{"a":1,"b":[1,2]}}`), []byte(`{"spec":{"a":1.0,"b":[2]},"x":null}`))
	f.Add([]byte(`{"a":{"b":null}}`), []byte(`{"a":{}}`))
	f.Add([]byte(`null`), []byte(`[true]`))
	f.Fuzz(func(t *testing.T, before, after []byte) {
		a, errA := DecodeJSON(before)
		b, errB := DecodeJSON(after)
		if errA != nil || errB != nil {
			return
		}
		for _, item := range ComputeDiff(a, b) {
			old, _ := Lookup(a, item.Path)
			now, _ := Lookup(b, item.Path)
			indexed := false // a key in brackets is looked up without them
			for _, key := range item.Path {
				_, isIndex := indexOf(key)
				indexed = indexed || isIndex
			}
			if !indexed && (same(old, now) || item.Old == nil && item.New == nil) {
				t.Errorf("%s, %s: %+v", before, after, item)
			}
		}
		if d := ComputeDiff(a, a); len(d) > 0 && Equal(a, a) {
			t.Errorf("%s differs from itself by %v", before, d)
		}
	})
}
