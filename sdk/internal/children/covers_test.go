package children

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// fromYAML decodes a text into a canonical tree.
func fromYAML(t testing.TB, text string) tree {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	v, err := canonical(decoded(data))
	if err != nil {
		t.Fatal(err)
	}
	m, _ := v.(tree)
	return m
}

// fieldsOfEntry decodes fieldsV1.
func fieldsOfEntry(t testing.TB, text string) tree {
	t.Helper()
	var fields tree
	if err := json.Unmarshal([]byte(text), &fields); err != nil {
		t.Fatal(err)
	}
	return fields
}

func texts(paths []fieldPath) []string {
	var all []string
	for _, path := range paths {
		all = append(all, path.String())
	}
	return all
}

func TestUncovered_NamesFieldsThatEntryLacks(t *testing.T) {
	for name, tt := range map[string]struct {
		fields, desired string
		want            []string
	}{
		"identity is not recorded": {`{}`, `{apiVersion: v1, kind: X, metadata: {name: a, namespace: b}, status: {a: 1}}`, nil},
		"member":                   {`{"f:data":{"f:a":{}}}`, `{data: {a: x, b: x}}`, []string{"data.b"}},
		"whole map":                {`{}`, `{data: {a: x, b: x}}`, []string{"data.a", "data.b"}},
		"empty map":                {`{"f:spec":{"f:emptyDir":{}}}`, `{spec: {emptyDir: {}}}`, nil},
		"empty map lost":           {`{"f:spec":{}}`, `{spec: {emptyDir: {}}}`, nil}, // atomic
		"empty map missing":        {`{"f:spec":{"f:x":{}}}`, `{spec: {emptyDir: {}}}`, []string{"spec.emptyDir"}},
		"labels":                   {`{"f:metadata":{"f:labels":{".":{},"f:app.kubernetes.io/name":{}}}}`, `{metadata: {labels: {app.kubernetes.io/name: x, app.kubernetes.io/part-of: x}}}`, []string{"metadata.labels[app.kubernetes.io/part-of]"}},
		"owner": {`{"f:metadata":{"f:ownerReferences":{"k:{\"uid\":\"u1\"}":{}}}}`, `{metadata: {ownerReferences: [{uid: u1, kind: A}, {uid: u2, kind: B}]}}`, []string{
			"metadata.ownerReferences[u2]",
		}},
		"atomic list": {`{"f:spec":{"f:rules":{}}}`, `{spec: {rules: [{host: a}]}}`, nil},
		"field of an item": {`{"f:spec":{"f:containers":{"k:{\"name\":\"web\"}":{".":{},"f:name":{}}}}}`, `{spec: {containers: [{name: web, image: i}]}}`, []string{
			"spec.containers[web].image",
		}},
		"item": {`{"f:spec":{"f:containers":{"k:{\"name\":\"web\"}":{".":{},"f:name":{}}}}}`, `{spec: {containers: [{name: web}, {name: side, image: i}]}}`, []string{
			"spec.containers[side]",
		}},
		"all items": {`{"f:spec":{"f:containers":{".":{}}}}`, `{spec: {containers: [{name: web}]}}`, []string{"spec.containers"}},
		"absent key": {`{"f:ports":{"k:{\"port\":80,\"protocol\":\"TCP\"}":{".":{},"f:port":{}},"k:{\"port\":80,\"protocol\":\"UDP\"}":{".":{},"f:port":{},"f:protocol":{}}}}`,
			`{ports: [{port: 80}, {port: 80, protocol: UDP}]}`, nil},
		"absent key that another item has taken": {`{"f:ports":{"k:{\"port\":80,\"protocol\":\"UDP\"}":{".":{},"f:port":{},"f:protocol":{}}}}`,
			`{ports: [{port: 80}, {port: 80, protocol: UDP}]}`, []string{"ports[80]"}},
		"keys of an item":         {`{"f:ports":{"k:{\"port\":1,\"protocol\":\"TCP\"}":{}}}`, `{ports: [{port: 1}, {port: 80, protocol: UDP}]}`, []string{"ports[80,UDP]"}},
		"set":                     {`{"f:tags":{"v:\"a\"":{},"v:1":{}}}`, `{tags: [a, 1, b]}`, []string{"tags[b]"}},
		"index":                   {`{"f:list":{"i:0":{}}}`, `{list: [a, b]}`, []string{"list[1]"}},
		"empty list":              {`{"f:spec":{"f:x":{}}}`, `{spec: {x: 1}, list: []}`, nil},
		"text that was a map":     {`{"f:spec":{"f:x":{"f:y":{}}}}`, `{spec: {x: a}}`, []string{"spec.x"}},
		"list that was a map":     {`{"f:spec":{"f:x":{"f:y":{}}}}`, `{spec: {x: [a]}}`, []string{"spec.x"}},
		"map that was a map list": {`{"f:spec":{"f:x":{"k:{\"name\":\"a\"}":{}}}}`, `{spec: {x: {name: a}}}`, []string{"spec.x.name"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := texts(cover(fieldsOfEntry(t, tt.fields), fromYAML(t, tt.desired)).missing)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestUncovered_SurvivesMalformedFields(t *testing.T) {
	desired := fromYAML(t, `{spec: {list: [{name: a}], x: 1}}`)
	for _, text := range []string{`{"f:spec":1}`, `{"f:spec":{"f:list":{"k:x":{}}}}`, `{"f:spec":{"f:list":{"k:[1]":{},"v:":{}}}}`, `{"":{}}`, `{"f:spec":{"f:list":{"k:{\"name\":{}}":{}}}}`} {
		if got := texts(cover(fieldsOfEntry(t, text), desired).missing); len(got) == 0 {
			t.Errorf("%s covers everything", text)
		}
	}
}

func TestJudge_NamesOwners(t *testing.T) {
	const desired = `{apiVersion: apps/v1, spec: {replicas: 3, selector: {app: x, tier: y}, containers: [{name: web, image: i}], paused: true}, data: {a: x}}`
	own := func(fields string) string {
		return `{manager: ours, operation: Apply, apiVersion: apps/v1, time: "2026-01-01T10:00:00Z", fieldsV1: ` + fields + `}`
	}
	const most = `{"f:spec":{"f:replicas":{},"f:selector":{},"f:paused":{},"f:containers":{"k:{\"name\":\"web\"}":{".":{},"f:name":{},"f:image":{}}}},"f:data":{"f:a":{}}}`
	for name, tt := range map[string]struct {
		entries string
		verdict Ownership
		drift   []string
	}{
		"none":              {`[]`, Lost, nil},
		"others":            {`[{manager: other, operation: Update, fieldsV1: {}}, {manager: ours, operation: Update, fieldsV1: ` + most + `}]`, Lost, nil},
		"through status":    {`[{manager: ours, operation: Apply, subresource: status, fieldsV1: ` + most + `}]`, Lost, nil},
		"all":               {`[` + own(most) + `]`, Covered, nil},
		"of another policy": {`[{manager: ours, operation: Apply, apiVersion: apps/v1beta1, fieldsV1: ` + most + `}]`, OtherVersion, nil},
		"taken": {`[` + own(`{"f:spec":{"f:replicas":{},"f:selector":{},"f:containers":{"k:{\"name\":\"web\"}":{".":{},"f:name":{}}}},"f:data":{"f:a":{}}}`) + `,
			{manager: kubectl-edit, operation: Update, time: "2026-01-01T10:32:00Z", fieldsV1: {"f:spec":{"f:containers":{"k:{\"name\":\"web\"}":{"f:image":{}}}}}},
			{manager: early, operation: Update, time: "2026-01-01T09:32:00Z", fieldsV1: {"f:spec":{"f:containers":{"k:{\"name\":\"web\"}":{"f:image":{}}}}}}]`, Drifted, []string{
			"spec.containers[web].image, taken by kubectl-edit at 2026-01-01T10:32:00Z at the latest",
			"spec.paused, removed or taken by an unknown manager",
		}},
		"scaled, although another changed it later": {`[` + own(`{"f:spec":{"f:paused":{},"f:selector":{},"f:containers":{}},"f:data":{}}`) + `,
			{manager: hpa, operation: Update, subresource: scale, fieldsV1: {"f:spec":{"f:replicas":{}}}},
			{manager: later, operation: Update, time: "2026-01-01T10:32:00Z", fieldsV1: {"f:spec":{"f:replicas":{}}}}]`, Drifted, []string{
			"spec.replicas, taken by hpa through /scale",
		}},
		"atomic map": {`[` + own(`{"f:spec":{"f:paused":{},"f:replicas":{},"f:containers":{}},"f:data":{}}`) + `,
			{manager: other, operation: Apply, fieldsV1: {"f:spec":{"f:selector":{}}}}]`, Drifted, []string{"spec.selector, taken by other"}},
		"within a map without a schema": {`[` + own(`{"f:spec":{"f:paused":{},"f:replicas":{},"f:containers":{},"f:selector":{}},"f:data":{}}`) + `,
			{manager: other, operation: Update, fieldsV1: {"f:spec":{"f:selector":{"f:tier":{}},"f:containers":{"k:{\"name\":\"web\"}":{"f:image":{}}}}}}]`, Drifted, []string{
			"spec.containers[web].image, taken by other", "spec.selector.tier, taken by other",
		}},
		"forgotten": {`[` + own(`{"f:spec":{"f:paused":{},"f:selector":{},"f:containers":{},"f:replicas":{}}}`) + `,
			{manager: ancient-changes, operation: Update, fieldsV1: {"f:data":{"f:a":{}}}}]`, Drifted, []string{"data.a, removed or taken by an unknown manager"}},
		"under our name": {`[` + own(`{"f:spec":{"f:paused":{},"f:selector":{},"f:containers":{},"f:replicas":{}}}`) + `,
			{manager: ours, operation: Update, fieldsV1: {"f:data":{"f:a":{}}}}]`, Drifted, []string{"data.a, taken by ours"}},
	} {
		t.Run(name, func(t *testing.T) {
			list := fromYAML(t, "managedFields: "+tt.entries)["managedFields"]
			entries, err := Entries(list)
			if err != nil {
				t.Fatal(err)
			}
			verdict, drift := Judge(entries, "ours", fromYAML(t, desired))
			var got []string
			for _, d := range drift {
				got = append(got, d.String())
			}
			if verdict != tt.verdict || !slices.Equal(got, tt.drift) {
				t.Errorf("%s %q, not %s %q", verdict, got, tt.verdict, tt.drift)
			}
		})
	}
}

func TestEntries_RefusesMalformedEntries(t *testing.T) {
	for _, malformed := range []any{"text", []any{"text"}, []any{tree{"time": "noon"}}} {
		if _, err := Entries(malformed); err == nil {
			t.Errorf("no error for %v", malformed)
		}
	}
	if got, err := Entries(nil); len(got) > 0 || err != nil {
		t.Errorf("%v %v without managedFields", got, err)
	}
}
