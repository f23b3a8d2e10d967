package testcluster

import (
	"context"
	"encoding/json"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

// freezesVar is the environment variable with the number of freezes of each kind.
const freezesVar = "KOPF_FREEZES"

// Freezes returns how many times a test freezes an operator: a few times, unless the environment asks for more.
func Freezes(t testing.TB, few int) int {
	t.Helper()
	text := os.Getenv(freezesVar)
	if text == "" {
		return few
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("%s=%s: want a number of freezes", freezesVar, text)
	}
	return n
}

// Versions watches a ConfigMap until the end of the test. The returned function returns the data of all its versions so far, in
// their order. The test fails if a version may be missing.
func Versions(t testing.TB, namespace, name string) func() []map[string]string {
	t.Helper()
	var mu sync.Mutex
	var seen []map[string]string
	client := Client(t, kube.ClientOptions{})
	configMaps := &resources.Resource{Version: "v1", Plural: "configmaps", Kind: "ConfigMap", Namespaced: true}
	options := kube.ListOptions{FieldSelector: "metadata.name=" + name}
	list, err := client.List(t.Context(), configMaps, namespace, options)
	if err != nil {
		t.Fatal(err)
	}
	options.ResourceVersion = list.ResourceVersion
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	var watching sync.WaitGroup
	watching.Go(func() {
		for {
			stream, err := client.Watch(ctx, configMaps, namespace, options)
			if ctx.Err() != nil {
				return
			}
			if err != nil {
				t.Errorf("the versions of %s after %s are not known: %v", name, options.ResourceVersion, err)
				return
			}
			for frame, err := stream.Next(); err == nil; frame, err = stream.Next() {
				if frame.Type == object.EventError {
					break // the next stream fails if it cannot begin after the last version
				}
				options.ResourceVersion = frame.Object.ResourceVersion
				if frame.Type == object.EventBookmark {
					continue
				}
				var o struct{ Data map[string]string }
				if err := json.Unmarshal(frame.Object.Raw, &o); err != nil {
					t.Error(err)
				}
				mu.Lock()
				seen = append(seen, o.Data)
				mu.Unlock()
			}
			stream.Close()
		}
	})
	t.Cleanup(func() { stop(); watching.Wait() })
	return func() []map[string]string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(seen)
	}
}
