package object

import (
	"strings"
	"testing"
)

func TestSameBut_IgnoresStatusVolatileMetadataAndNamedAnnotations(t *testing.T) {
	const object = `{"apiVersion":"v1","kind":"X","metadata":{"annotations":{"a":"1"},"generation":1,"labels":{"l":"1"},"name":"x","resourceVersion":"1"},"spec":{"f":1}}`
	ours := func(key string) bool { return strings.HasPrefix(key, `our"s/`) }
	with := func(old, now string) string { return strings.Replace(object, old, now, 1) }
	one := parse(t, object, ParseOptions{})
	for name, text := range map[string]string{
		"nothing":                 object,
		"the version":             with(`"resourceVersion":"1"`, `"resourceVersion":"2"`),
		"the generation":          with(`"generation":1`, `"generation":2`),
		"the status":              with(`,"spec"`, `,"status":{"x":[1]},"spec"`),
		"our annotations":         with(`"a":"1"`, `"a":"1","our\"s/a":"2"`),
		"our annotations, before": with(`"a":"1"`, `"our\"s/a":"2","our\"s/b":{},"a":"1"`),
	} {
		if !one.SameBut(parse(t, text, ParseOptions{}), ours) {
			t.Errorf("%s makes a difference", name)
		}
	}
	for name, text := range map[string]string{
		"the spec":          with(`"f":1`, `"f":2`),
		"a member more":     with(`,"spec"`, `,"data":{},"spec"`),
		"a member less":     with(`,"spec":{"f":1}`, ``),
		"a label":           with(`"l":"1"`, `"l":"2"`),
		"no labels":         with(`"labels":{"l":"1"},`, ``),
		"a finalizer":       with(`"generation"`, `"finalizers":["f"],"generation"`),
		"a deletion":        with(`"generation"`, `"deletionTimestamp":"2024-05-06T07:08:09Z","generation"`),
		"an annotation":     with(`"a":"1"`, `"a":"2"`),
		"another's":         with(`"a":"1"`, `"a":"1","our/a":"2"`),
		"no annotations":    with(`"annotations":{"a":"1"},`, ``),
		"another order":     with(`"generation":1,"labels":{"l":"1"},"name":"x"`, `"name":"x","labels":{"l":"1"}`),
		"a broken text":     with(`"f":1`, `"f":"`),
		"something instead": with(`{"a":"1"}`, `["a"]`),
	} {
		other := &Object{Raw: []byte(text)}
		if one.SameBut(other, ours) || other.SameBut(one, ours) {
			t.Errorf("%s makes no difference", name)
		}
	}
	bare := parse(t, with(`"annotations":{"a":"1"},`, ``), ParseOptions{})
	if !bare.SameBut(parse(t, with(`"a":"1"`, `"our\"s/a":"2"`), ParseOptions{}), ours) {
		t.Error("the first annotation of all makes a difference")
	}
}
