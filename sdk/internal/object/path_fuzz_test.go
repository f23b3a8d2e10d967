package object

import "testing"

func FuzzParsePath(f *testing.F) {
	for _, s := range []string{"spec.size", "metadata.labels[app.kubernetes.io/name]", "spec.items[0].name", `a["b]c"].d`, "[", "..", `["\x00"]`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		path, err := ParsePath(s)
		if err != nil {
			return
		}
		again, err := ParsePath(path.String())
		if err != nil || !path.Equal(again) {
			t.Errorf("%q is %q, written %q, which is %q, %v", s, []string(path), path.String(), []string(again), err)
		}
		_ = path.CheckKeys()
		_, _ = Lookup(map[string]any{"spec": []any{map[string]any{}}}, path)
	})
}
