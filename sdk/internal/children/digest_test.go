package children

import (
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unique"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-dev/kopf/sdk/internal/object"
)

var lens = Lens{
	Manager: "kopf.dev/webapps.example.com", OwnerLabel: "kopf.dev/owner-uid", AppliedAnnotation: "kopf.zalando.org/applied",
	HasStatus: true, Observe: []object.Path{{"status", "address"}},
}

const web = `
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  namespace: shop
  uid: 5d0b1b8e-1c9e-4b1f-9b53-0a3d6a2f8a01
  resourceVersion: "100"
  generation: 2
  labels: {kopf.dev/owner-uid: 5d0b1b8e-1c9e-4b1f-9b53-0a3d6a2f8a02}
  annotations: {kopf.zalando.org/applied: "1:00000000000000ff", foreign: "1"}
  managedFields:
  - {manager: other, operation: Update, fieldsV1: {"f:metadata": {"f:annotations": {"f:foreign": {}}}}}
  - {manager: kopf.dev/webapps.example.com, operation: Update, fieldsV1: {"f:x": {}}}
  - {manager: kopf.dev/webapps.example.com, operation: Apply, fieldsV1: {"f:spec": {"f:replicas": {}}}}
spec: {replicas: 3}
status: {observedGeneration: 2, replicas: 3, updatedReplicas: 3, readyReplicas: 1, address: 10.0.0.1}
`

// digest returns the digest of the web with replacements in its text.
func digest(t testing.TB, replacements ...string) Digest {
	t.Helper()
	d, err := lens.Digest(parsed(t, strings.NewReplacer(replacements...).Replace(web)))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestDigest_KeepsWhatTheOperatorNeeds(t *testing.T) {
	d := digest(t)
	if d.UID != "5d0b1b8e-1c9e-4b1f-9b53-0a3d6a2f8a01" || d.Owner() != "5d0b1b8e-1c9e-4b1f-9b53-0a3d6a2f8a02" || d.Namespace() != "shop" || d.Name != "web" || d.ResourceVersion != "100" {
		t.Errorf("identity: %+v", d)
	}
	if d.Applied != 0xff || d.Entry == 0 || d.State != Progressing || d.Message() != "1 of 3 replicas are ready" || d.Observed() != `["10.0.0.1"]` {
		t.Errorf("content: %+v %s %s", d, d.Message(), d.Observed())
	}
	without := digest(t, "operation: Apply", "operation: Update")
	if without.Entry != 0 {
		t.Errorf("the entry of another operation has the hash %x", without.Entry)
	}
}

func TestDigest_WakesForWhatConcernsTheParent(t *testing.T) {
	newer := []string{`resourceVersion: "100"`, `resourceVersion: "101"`}
	for name, tt := range map[string]struct {
		replacements []string
		want         Wake
		changes      object.Diff
	}{
		"same":               {nil, NoWake, nil},
		"foreign annotation": {append(newer, `foreign: "1"`, `foreign: "2"`), NoWake, nil},
		"heartbeat":          {append(newer, "observedGeneration: 2,", "observedGeneration: 2, terminatingReplicas: 1,"), NoWake, nil},
		"ready replicas": {append(newer, "readyReplicas: 1", "readyReplicas: 2"), WakeParent, object.Diff{
			{Op: object.DiffChange, Path: object.Path{"status", "readyReplicas"}, Old: int64(1), New: int64(2)},
		}},
		"observed": {append(newer, "10.0.0.1", "10.0.0.2"), WakeParent, object.Diff{
			{Op: object.DiffChange, Path: object.Path{"status", "address"}, Old: "10.0.0.1", New: "10.0.0.2"},
		}},
		"condition": {append(newer, "address:", `conditions: [{type: Progressing, status: "True"}], address:`), WakeParent, object.Diff{
			{Op: object.DiffAdd, Path: object.Path{"status", "conditions"}, New: tree{"Progressing": "True"}},
		}},
		"our entry":                 {append(newer, `{"f:spec": {"f:replicas": {}}}`, `{"f:spec": {}}`), WakeParent, nil},
		"entry of others":           {append(newer, `{"f:foreign": {}}`, `{"f:other": {}}`), NoWake, nil},
		"annotation of the hash":    {append(newer, "00ff", "00fe"), WakeParent, nil},
		"another owner":             {append(newer, "8a02", "8a03"), WakeParent, nil},
		"created again":             {append(newer, "8a01", "8a03"), WakeParent, nil},
		"generation":                {append(newer, "generation: 2", "generation: 3", "observedGeneration: 2", "observedGeneration: 3"), WakeVerify, nil},
		"generation, not seen yet":  {append(newer, "\n  generation: 2", "\n  generation: 3"), WakeParent, object.Diff{{Op: object.DiffRemove, Path: object.Path{"status", "readyReplicas"}}}},
		"deletion":                  {append(newer, "  generation: 2", "  generation: 2\n  deletionTimestamp: '2026-01-01T00:00:00Z'"), WakeParent, nil},
		"version of no generation":  {append(newer, "  generation: 2\n", ""), WakeVerify, nil},
		"no generation, no version": {[]string{"  generation: 2\n", ""}, NoWake, nil},
	} {
		t.Run(name, func(t *testing.T) {
			before := digest(t)
			if strings.Contains(name, "no generation") {
				before = digest(t, "  generation: 2\n", "")
			}
			after := digest(t, tt.replacements...)
			if got := after.Wake(&before); got != tt.want {
				t.Errorf("it wakes %d, not %d", got, tt.want)
			}
			if name == "generation, not seen yet" || name == "deletion" { // the state is judged by other facts
				return
			}
			changes, err := lens.Changes(&before, &after)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.changes, changes); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestLens_ProgressIsNoOtherState(t *testing.T) {
	counted := lens
	counted.Observe = append(slices.Clone(lens.Observe), object.Path{"status", "count"}, object.Path{"status", "nodes"})
	const status = "address: 10.0.0.1"
	const available = `conditions: [{type: Available, status: "True"}]`
	for name, tt := range map[string]struct {
		before, after string // fields of the status in place of the address
		meta          []string
		want          bool
	}{
		"only the version":       {status, status, []string{`resourceVersion: "100"`, `resourceVersion: "101"`}, true},
		"ready replicas":         {status, status, []string{"readyReplicas: 1", "readyReplicas: 2"}, true},
		"a condition":            {status, status + `, conditions: [{type: Progressing, status: "True"}]`, nil, true},
		"a number":               {"count: 1", "count: 2", nil, true},
		"a fraction":             {"count: 1", "count: 1.5", nil, true},
		"a number within a map":  {"nodes: {a: 1, b: x}", "nodes: {a: 2, b: x}", nil, true},
		"the first number":       {status, status + ", count: 1", nil, false},
		"no number any longer":   {status + ", count: 1", status, nil, false},
		"a text for a number":    {"count: 1", "count: x", nil, false},
		"an observed text":       {status, "address: 10.0.0.2", nil, false},
		"a text beside a number": {"nodes: {a: 1, b: x}", "nodes: {a: 2, b: y}", nil, false},
		"the state":              {available, available, []string{"readyReplicas: 1", "readyReplicas: 3, availableReplicas: 3"}, false},
		"the generation":         {status, status, []string{"generation: 2", "generation: 3", "observedGeneration: 2", "observedGeneration: 3"}, false},
		"our entry":              {status, status, []string{`{"f:spec": {"f:replicas": {}}}`, `{"f:spec": {}}`}, false},
		"the hash":               {status, status, []string{"00ff", "00fe"}, false},
		"another owner":          {status, status, []string{"8a02", "8a03"}, false},
		"created again":          {status, status, []string{"8a01", "8a03"}, false},
	} {
		digests := make([]Digest, 2)
		for i, replacements := range [][]string{{status, tt.before}, append([]string{status, tt.after}, tt.meta...)} {
			var err error
			if digests[i], err = counted.Digest(parsed(t, strings.NewReplacer(replacements...).Replace(web))); err != nil {
				t.Fatal(err)
			}
		}
		if got := counted.IsProgress(&digests[0], &digests[1]); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// BenchmarkDigest_Memory reports the bytes of a digest in a map of 100,000, with 25,000 parents.
func BenchmarkDigest_Memory(b *testing.B) {
	const children = 100_000
	for b.Loop() {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		type key struct {
			namespace unique.Handle[string]
			name      string
		}
		all := map[key]*Digest{}
		var owner string
		for i := range children {
			text := fmt.Sprintf(`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web-%d","namespace":"shop-%d","uid":"5d0b1b8e-1c9e-4b1f-9b53-%012d",`+
				`"resourceVersion":"%d","generation":2,"labels":{"kopf.dev/owner-uid":"5d0b1b8e-1c9e-4b1f-9b54-%012d"},"annotations":{"kopf.zalando.org/applied":"1:%016x"}},`+
				`"spec":{"replicas":3},"status":{"observedGeneration":2,"replicas":3,"updatedReplicas":3,"readyReplicas":%d}}`, i, i%100, i, 1_000_000+i, i/4, i, i%4)
			o, err := object.Parse([]byte(text), object.ParseOptions{KeepManagedFields: true})
			if err != nil {
				b.Fatal(err)
			}
			d, err := (&Lens{OwnerLabel: lens.OwnerLabel, AppliedAnnotation: lens.AppliedAnnotation, HasStatus: true}).Digest(o)
			if err != nil {
				b.Fatal(err)
			}
			if d.Owner() != owner {
				owner = d.Owner()
			}
			d.Name = strings.Clone(d.Name)
			d.SetOwner(owner)
			all[key{d.namespace, d.Name}] = &d
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/children, "B/digest")
		runtime.KeepAlive(all)
	}
}

// BenchmarkDigest is the work for an event that is irrelevant.
func BenchmarkDigest(b *testing.B) {
	o := parsed(b, web)
	previous := digest(b)
	b.ReportAllocs()
	for b.Loop() {
		d, err := lens.Digest(o)
		if err != nil || d.Wake(&previous) != NoWake {
			b.Fatal(err, "it wakes")
		}
	}
}

// BenchmarkUnchanged is the work for a child that is to stay as it is: encode and hash a typed object.
func BenchmarkUnchanged(b *testing.B) {
	w := &Widget{Spec: WidgetSpec{Required: 1, Optional: "x", List: []string{"a", "b"}, Items: []Strategy{{"a"}, {"b"}, {"c"}}, Template: Template{Spec: Strategy{"s"}}}}
	w.Name, w.Labels, w.Annotations = "w", map[string]string{"a": "b", "c": "d"}, map[string]string{"e": "f"}
	b.ReportAllocs()
	for b.Loop() {
		encoded, err := Encode(w, widgets)
		if err == nil {
			_, err = Hash(encoded)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}

func FuzzDigest_SurvivesAnyObject(f *testing.F) {
	data, err := json.Marshal(fromYAML(f, web))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte(`{"apiVersion":"apps/v1","kind":"StatefulSet","metadata":{"name":"a","managedFields":[1,{"manager":1}]},"status":{"conditions":[1,{"type":1}]}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		o, err := object.Parse(data, object.ParseOptions{KeepManagedFields: true})
		if err != nil {
			t.Skip("the input is no object")
		}
		d, err := lens.Digest(o)
		if err != nil {
			t.Skip("the object has no digest")
		}
		changes, err := lens.Changes(&d, &d)
		if err != nil || len(changes) > 0 || d.Wake(&d) != NoWake {
			t.Errorf("a digest differs from itself: %v %v", changes, err)
		}
	})
}
