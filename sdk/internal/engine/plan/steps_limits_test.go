package plan

import (
	"encoding/json"
	"testing"
)

func TestStep_MembersThatSeemSecret(t *testing.T) {
	for text, want := range map[string]string{
		`{"id":"b-1","tokens":3,"keys":["a"]}`:           "",
		`{"token":3,"password":{"changed":true}}`:        "",
		`{"users":[{"name":"x"},{"apiKey":"y"}]}`:        "apiKey",
		`{"clientSecret":"y"}`:                           "clientSecret",
		`{"PASSWORD":""}`:                                "PASSWORD",
		`"token"`:                                        "",
		`{"accessKeyId":"a","region":{"token_url":"b"}}`: "",
	} {
		var value any
		if err := json.Unmarshal([]byte(text), &value); err != nil {
			t.Fatal(err)
		}
		if got := secretMember(value); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
