package printable_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-dev/kopf/sdk/printable"
)

// fields are hidden in the objects of these tests.
var fields = [][]string{{"spec", "password"}, {"spec", "users", "password"}}

// secretsOf returns what hides the fields in an object.
func secretsOf(object map[string]any) *printable.Secrets {
	return printable.NewSecrets(printable.FieldsToHide(object, fields), func() []any { return []any{object} })
}

// decoded returns JSON as a tree.
func decoded(t *testing.T, text string) map[string]any {
	t.Helper()
	var tree map[string]any
	if err := json.Unmarshal([]byte(text), &tree); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return tree
}

// quoted returns a text as JSON.
func quoted(text string) string { return fmt.Sprintf("%q", text) }

func TestSecrets_CopiesAreHidden(t *testing.T) {
	const old = `{"spec":{"password":"0ld-5ecret","users":[{"name":"kept","password":"0ld-5ecret"}]}}`
	key := strings.Repeat("x", 50)
	for name, test := range map[string]struct{ metadata, status string }{
		"last-handled configuration": {metadata: `{"annotations":{"kopf.zalando.org/last-handled-configuration":` + quoted(old+"\n") + `}}`},
		"custom prefix, hashed name": {metadata: `{"annotations":{"example.com/` + key + `-Zm9v":` + quoted(old) + `}}`},
		"what kubectl applied":       {metadata: `{"annotations":{"kubectl.kubernetes.io/last-applied-configuration":` + quoted(old) + `}}`},
		"failed handler":             {metadata: `{"annotations":{"kopf.zalando.org/failed-handler.fn":` + quoted(`{"handler":"kept","message":"no","old":`+old+`}`) + `}}`},
		"broken":                     {metadata: `{"annotations":{"kopf.zalando.org/unreadable.last-handled-configuration":` + quoted("kept"+old[:len(old)-9]) + `,"kept":""}}`},
		"broken, in quotes":          {metadata: `{"annotations":{"x":` + quoted(quoted(old)[:30]) + `,"kept":""}}`},
		"in quotes":                  {metadata: `{"annotations":{"x":` + quoted(quoted(old)) + `}}`},
		"list":                       {metadata: `{"annotations":{"x":` + quoted(`[1,`+old+`]`) + `}}`},
		"repeated key":               {metadata: `{"annotations":{"x":` + quoted(old[:len(old)-1]+`,"spec":{"kept":1}}`) + `}}`},
		"managed fields in a text":   {metadata: `{"annotations":{"x":` + quoted(`{"kept":1,"metadata":{"managedFields":[{"fieldsV1":{"f:spec":{"f:users":{"k:{\"password\":\"0ld-5ecret\"}":{}}}}}]}}`) + `}}`},
		"message of a record":        {metadata: `{"annotations":{"kopf.zalando.org/fn":` + quoted(`{"message":"kept: c0py-5ecret is bad"}`) + `}}`},
		"annotation":                 {metadata: `{"annotations":{"note":"kept c0py-5ecret"}}`},
		"status storage":             {status: `{"kopf":{"last-handled-configuration":` + quoted(old) + `,"progress":{"fn":{"message":"kept c0py-5ecret"}}}}`},
		"status with a part":         {status: `{"fn":{"was":` + old + `}}`},
		"status with a value":        {status: `{"fn":"kept c0py-5ecret","base64":"YzBweS01ZWNyZXQ="}`},
		"status with text in text":   {status: `{"fn":` + quoted(`{"x":`+quoted(old)+`}`) + `}`},
	} {
		t.Run(name, func(t *testing.T) {
			if test.metadata == "" {
				test.metadata = "{}"
			}
			if test.status == "" {
				test.status = "{}"
			}
			object := decoded(t, `{"metadata":`+test.metadata+`,"status":`+test.status+`,"spec":{"password":"c0py-5ecret"}}`)
			text, err := json.Marshal(secretsOf(object).Value(nil, object))
			if err != nil {
				t.Fatal(err)
			}
			for _, hidden := range []string{"0ld-5ecret", "c0py-5ecret", "YzBweS01ZWNyZXQ"} {
				if strings.Contains(string(text), hidden) {
					t.Errorf("it shows %s: %s", hidden, text)
				}
			}
			if !strings.Contains(string(text), "kept") || !json.Valid(text) {
				t.Errorf("it hides too much: %s", text)
			}
			if shown := secretsOf(object).Text("0ld-5ecret"); strings.Contains(string(text), `\"0ld`) && shown != printable.Redacted {
				t.Errorf("a former value is not known: %s", shown)
			}
		})
	}
}

func TestSecrets_OthersAreKept(t *testing.T) {
	const kept = `{"apiVersion":"v1","kind":"Thing","metadata":{"name":"secret-name","labels":{"x":"s3cret-name"},"annotations":{
		"a":"{ \"b\" : [1, 2.50, 12345678901234567890, \"<x>\"] }\n","template":"{{ .password }}","text":"password: it","list":"[a]","n":"12"}},
		"spec":{"url":"https://s3cret-name","size":1},"status":{"ready":true,"n":1,"none":null}}`
	object := decoded(t, kept)
	if diff := cmp.Diff(object, secretsOf(object).Value(nil, object)); diff != "" {
		t.Error(diff)
	}
	object["spec"].(map[string]any)["password"] = "s3cret-name"
	want := decoded(t, kept)
	want["spec"].(map[string]any)["password"] = printable.Redacted
	if diff := cmp.Diff(want, secretsOf(object).Value(nil, object)); diff != "" {
		t.Error(diff)
	}
	secret := decoded(t, `{"apiVersion":"v1","kind":"Secret","type":"kept","data":{"a":"MTIzNA=="},"stringData":{"b":null}}`)
	want = decoded(t, `{"apiVersion":"v1","kind":"Secret","type":"kept","data":{"a":"[redacted]"},"stringData":{"b":null}}`)
	if diff := cmp.Diff(want, secretsOf(secret).Value(nil, secret)); diff != "" {
		t.Error(diff)
	}
	if got := secretsOf(secret).Text("1234 and more", "more"); got != "[redacted] and [redacted]" {
		t.Error(got)
	}
}
