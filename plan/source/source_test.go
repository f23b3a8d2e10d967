package source

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var pods = schema.GroupVersionResource{Version: "v1", Resource: "pods"}

func TestList_AddsAllPages(t *testing.T) {
	expired := false
	r, _ := open(t, func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		if r.URL.Path != "/api/v1/namespaces/a/pods" || q.Get("limit") != "500" {
			t.Errorf("the request is %s", r.URL)
		}
		switch {
		case q.Get("continue") == "":
			_, _ = fmt.Fprint(w, `{"kind":"PodList","apiVersion":"v1","metadata":{"continue":"next"},"items":[{"metadata":{"name":"one"}}]}`)
		case !expired:
			expired = true
			w.WriteHeader(http.StatusGone)
			_, _ = fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410}`)
		default:
			_, _ = fmt.Fprint(w, `{"kind":"PodList","apiVersion":"v1","metadata":{},"items":[{"metadata":{"name":"two"}}]}`)
		}
	})
	list, err := r.List(t.Context(), pods, "a", 10)
	if err != nil {
		t.Fatal(err)
	}
	// The first page comes again after the second one has expired.
	if got := names(t, list); list.Kind != "PodList" || !slices.Equal(got, []string{"one", "two"}) {
		t.Errorf("the %s has %v", list.Kind, got)
	}
	expired = true
	list, err = r.List(t.Context(), pods, "a", 0)
	if got := names(t, list); err != nil || len(got) != 1 {
		t.Errorf("%v are listed beyond the most: %v", got, err)
	}
}

func names(t *testing.T, list List) (names []string) {
	t.Helper()
	for _, item := range list.Items {
		var o metav1.PartialObjectMetadata
		if err := json.Unmarshal(item, &o); err != nil {
			t.Fatal(err)
		}
		names = append(names, o.Name)
	}
	return names
}

func TestList_RefusalIsStatus(t *testing.T) {
	r, _ := open(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusForbidden)
		_, _ = fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","message":"no","code":403}`)
	})
	_, err := r.List(t.Context(), pods, "", 10)
	if !apierrors.IsForbidden(err) {
		t.Errorf("the error is %v, want the refusal of the server", err)
	}
}
