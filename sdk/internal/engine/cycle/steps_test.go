package cycle

import (
	"encoding/json"
	"testing"
	"unsafe"

	"github.com/kopf-dev/kopf/sdk/internal/engine/memory"
	"github.com/kopf-dev/kopf/sdk/internal/engine/plan"
)

// TestSteps_ObjectsWithoutStepsCostNoBytes holds the sizes that they have without steps.
func TestSteps_ObjectsWithoutStepsCostNoBytes(t *testing.T) {
	for name, size := range map[string][2]uintptr{
		"cycle": {unsafe.Sizeof(cycle{}), 600}, "subhandlers": {unsafe.Sizeof(subhandlers{}), 64},
		"view": {unsafe.Sizeof(plan.View{}), 176}, "memory": {unsafe.Sizeof(memory.Memory{}), 384},
	} {
		if size[0] > size[1] {
			t.Errorf("%s has %d bytes, want at most %d", name, size[0], size[1])
		}
	}
}

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
