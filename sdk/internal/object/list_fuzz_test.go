package object

import (
	"bytes"
	"encoding/json"
	"testing"
)

func FuzzReadList(f *testing.F) {
	f.Add([]byte(`{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"7","continue":"x"},"items":[` + pod + `,{}]}`))
	f.Add([]byte(`{"items":null,"metadata":{}}`))
	f.Add([]byte(`{"items":[{"metadata":{"name":"\ud83d"}}],"items":[]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		list, err := ReadList(bytes.NewReader(data), ParseOptions{APIVersion: "v1", Kind: "Pod"})
		if err != nil {
			return
		}
		for _, item := range list.Items {
			if !json.Valid(item.Raw) {
				t.Errorf("%q has the item %q", data, item.Raw)
			}
			_, _ = item.Tree() // numbers out of range are errors
		}
	})
}
