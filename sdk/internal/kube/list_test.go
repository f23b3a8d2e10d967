package kube

import (
	"bytes"
	"testing"
	"testing/synctest"
)

func TestList_AddsKindAndVersionToItems(t *testing.T) {
	client, s := clientFor(t, ClientOptions{}, respond(200, `{"kind":"KopfExampleList","apiVersion":"kopf.dev/v1","metadata":{"resourceVersion":"9","continue":"more"},"extra":[1],
		"items":[{"metadata":{"name":"a"}},{"apiVersion":"kopf.dev/v1","kind":"KopfExample","metadata":{"name":"b"}}]}`), respond(200, `{"items":null}`))
	list, err := client.List(t.Context(), examples, "", ListOptions{Limit: 2, Continue: "here"})
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Items) != 2 || list.ResourceVersion != "9" || list.Continue != "more" || !bytes.HasPrefix(list.Items[0].Raw, []byte(`{"apiVersion":"kopf.dev/v1","kind":"KopfExample",`)) {
		t.Errorf("%+v", list)
	}
	if q := s.requests[0].URL.RawQuery; q != "continue=here&limit=2" {
		t.Error(q)
	}
	if list, err := client.List(t.Context(), examples, "", ListOptions{}); err != nil || len(list.Items) != 0 {
		t.Error(list, err)
	}
}

func TestList_TruncatedResponseIsRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, s := clientFor(t, ClientOptions{}, respond(200, `{"items":[{"metadata":`), respond(200, `{"items":[{}]}`))
		list, err := client.List(t.Context(), examples, "", ListOptions{})
		if err != nil || len(list.Items) != 1 || len(s.requests) != 2 {
			t.Error(list, err)
		}
		client, _ = clientFor(t, ClientOptions{}, respond(200, `{"items":{}}`))
		if _, err := client.WithoutRetries().List(t.Context(), examples, "", ListOptions{}); err == nil {
			t.Error("items are an object")
		}
	})
}
