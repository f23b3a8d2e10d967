package children

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kopf-dev/kopf/sdk/internal/object"
)

var claimLens = Lens{Manager: "kopf.dev/webs", OwnerLabel: "kopf.dev/owner-uid", StreamLabel: "kopf.dev/owned-by", AppliedAnnotation: "kopf.dev/applied"}

// claimed returns an object with the given metadata, as JSON members.
func claimed(t *testing.T, meta string) *object.Object {
	t.Helper()
	o, err := object.Parse(fmt.Appendf(nil, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x","uid":"c"%s}}`, meta),
		object.ParseOptions{KeepManagedFields: true})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

const (
	ownEntry = `{"manager":"kopf.dev/webs","operation":"Apply","apiVersion":"v1","time":"2026-01-01T00:00:05Z",` +
		`"fieldsV1":{"f:metadata":{"f:labels":{"f:kopf.dev/owned-by":{},"f:kopf.dev/owner-uid":{}}}}}`
	otherEntry = `{"manager":"kubectl","operation":"Update","apiVersion":"v1","time":"2026-01-01T00:00:0%dZ","fieldsV1":{"f:data":{}}}`
)

func TestClaimOf_ControllerAndOwnEntryDecide(t *testing.T) {
	owner := Owner{UID: "p", Kind: "Web", Name: "shop"}
	controller := func(kind, name, uid string) string {
		return fmt.Sprintf(`,"ownerReferences":[{"kind":"Other","name":"o","uid":"o"},{"kind":%q,"name":%q,"uid":%q,"controller":true}]`, kind, name, uid)
	}
	for name, c := range map[string]struct {
		meta string
		want Claim
	}{
		"our controller":                {controller("Web", "shop", "p"), Claim{Ours: true}},
		"a deleted namesake of ours":    {controller("Web", "shop", "q"), Claim{Orphaned: true}},
		"another controller":            {controller("Gateway", "edge", "g"), Claim{Holder: "Gateway edge"}},
		"nothing":                       {"", Claim{Free: true}},
		"a copied label":                {`,"labels":{"kopf.dev/owner-uid":"p"}`, Claim{Free: true}},
		"our entry, the label removed":  {`,"managedFields":[` + ownEntry + `]`, Claim{Ours: true}},
		"our entry, our label":          {`,"labels":{"kopf.dev/owner-uid":"p"},"managedFields":[` + ownEntry + `]`, Claim{Ours: true}},
		"our entry for another parent":  {`,"labels":{"kopf.dev/owner-uid":"q"},"managedFields":[` + ownEntry + `]`, Claim{Free: true, Parent: "q"}},
		"the entry of another operator": {`,"labels":{"kopf.dev/owner-uid":"p"},"managedFields":[` + fmt.Sprintf(otherEntry, 1) + `]`, Claim{Free: true}},
	} {
		got, err := ClaimOf(claimed(t, c.meta), claimLens, owner)
		if err != nil || got != c.want {
			t.Errorf("%s: got %+v, %v; want %+v", name, got, err, c.want)
		}
	}
}

func TestAuthored_NeedsOwnershipOfTheLabel(t *testing.T) {
	label := `,"labels":{"kopf.dev/owner-uid":"p"}`
	foreign := `{"manager":"kopf.dev/webs","operation":"Apply","apiVersion":"v1","fieldsV1":{"f:data":{"f:a":{}}}}`
	outside := `{"manager":"kopf.dev/webs","operation":"Apply","apiVersion":"v1","fieldsV1":{"f:metadata":{"f:labels":{"f:kopf.dev/owner-uid":{}}}}}`
	for name, c := range map[string]struct {
		meta string
		want bool
	}{
		"applied outside of passes":     {label + `,"managedFields":[` + outside + `]`, false},
		"our label":                     {label + `,"managedFields":[` + ownEntry + `]`, true},
		"a label of another parent":     {`,"labels":{"kopf.dev/owner-uid":"q"},"managedFields":[` + ownEntry + `]`, false},
		"a copied label":                {label + `,"managedFields":[` + fmt.Sprintf(otherEntry, 1) + `]`, false},
		"our entry without the label":   {label + `,"managedFields":[` + foreign + `]`, false},
		"no managedFields":              {label, false},
		"a label that others took from": {label + `,"managedFields":[{"manager":"kopf.dev/webs","operation":"Update","fieldsV1":{}}]`, false},
	} {
		if got := Authored(claimed(t, c.meta), claimLens, "p"); got != c.want {
			t.Errorf("%s: got %t", name, got)
		}
	}
}

func TestLens_BriefManagedFieldsShowDriftBelowAnEmptyPart(t *testing.T) {
	lens := Lens{Manager: "ours"}
	for name, tt := range map[string]struct {
		own, other string // fields
		sub        string // subresource of the other entry
		verdict    Ownership
		entries    int
	}{
		"the only field of a map": {`{"f:spec":{}}`, `{"f:spec":{"f:value":{}}}`, "", Drifted, 2},
		"a deeper map":            {`{"f:spec":{"f:value":{},"f:map":{}}}`, `{"f:spec":{"f:map":{"f:a":{}}}}`, "", Drifted, 2},
		"other fields":            {`{"f:spec":{"f:value":{},"f:map":{}}}`, `{"f:spec":{"f:other":{"f:a":{}}}}`, "", Covered, 1},
		"the same field":          {`{"f:spec":{"f:value":{},"f:map":{}}}`, `{"f:spec":{"f:value":{}}}`, "", Covered, 1},
		"the status":              {`{"f:spec":{}}`, `{"f:status":{"f:value":{}}}`, "status", Covered, 1},
	} {
		t.Run(name, func(t *testing.T) {
			child := parsed(t, `{"apiVersion":"example.com/v1","kind":"Part","metadata":{"name":"a","managedFields":[
				{"manager":"ours","operation":"Apply","apiVersion":"example.com/v1","fieldsV1":`+tt.own+`},
				{"manager":"kubectl","operation":"Update","subresource":"`+tt.sub+`","apiVersion":"example.com/v1","fieldsV1":`+tt.other+`}]}}`)
			entries, err := ParseEntries(lens.ManagedFields(child, true))
			if err != nil {
				t.Fatal(err)
			}
			desired := map[string]any{"apiVersion": "example.com/v1", "spec": map[string]any{"value": "1", "map": map[string]any{"a": "1"}}}
			if verdict, drift := Judge(entries, "ours", desired); verdict != tt.verdict || len(entries) != tt.entries {
				t.Errorf("%s, by %d entries: %v", verdict, len(entries), drift)
			}
		})
	}
}

func TestLens_ReduceKeepsEverythingThatPassesNeed(t *testing.T) {
	for name, meta := range map[string]string{
		"nothing": "",
		"labels of others and two entries": `,"labels":{"app":"x","kopf.dev/owner-uid":"p"},"annotations":{"other":"` + strings.Repeat("x", 999) +
			`","kopf.dev/applied":"1:00000000000000ff"},"ownerReferences":[{"uid":"p"}],"managedFields":[` + fmt.Sprintf(otherEntry, 1) + `,` + ownEntry + `]`,
		"a client has cleared managedFields": `,"labels":{"kopf.dev/owner-uid":"p"},"managedFields":[{}]`,
		"fields of an earlier manager": `,"managedFields":[` + ownEntry +
			`,{"manager":"before-first-apply","operation":"Update","apiVersion":"v1","fieldsV1":{"f:data":{}}}]`,
	} {
		whole, reduced := claimed(t, meta), claimed(t, meta)
		claimLens.Reduce(reduced)
		before, err := claimLens.Digest(whole)
		if err != nil {
			t.Fatal(err)
		}
		if after, err := claimLens.Digest(reduced); err != nil || after != before || after.Owner() != claimLens.OwnerOf(whole) {
			t.Errorf("%s: got %+v, %v; want %+v", name, after, err, before)
		}
		for _, brief := range []bool{true, false} {
			want, err := ParseEntries(claimLens.ManagedFields(whole, brief))
			if err != nil {
				t.Fatal(err)
			}
			if got, err := ParseEntries(claimLens.ManagedFields(reduced, brief)); err != nil || len(got) != len(want) || fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%s: got %v, %v; want %v", name, got, err, want)
			}
		}
		if len(reduced.Raw) > 600 {
			t.Errorf("%s: %d bytes are left: %s", name, len(reduced.Raw), reduced.Raw)
		}
	}
}
