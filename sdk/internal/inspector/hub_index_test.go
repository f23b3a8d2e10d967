package inspector

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

func TestHub_SendsChangedIndices(t *testing.T) {
	h := NewHub(HubOptions{})
	b := inspect.Index{ID: "b", Key: "string", Value: "int", Resources: []string{"pods.v1"}, Keys: 1, Values: 2, Objects: 2}
	h.PutIndex(b)
	h.PutIndex(inspect.Index{ID: "a"})
	s := subscribe(t, h)
	want := []inspect.Index{{ID: "a"}, b}
	if diff := cmp.Diff(want, next(t, s)[0].Snapshot.Indices); diff != "" {
		t.Errorf("the snapshot: %s", diff)
	}

	h.PutIndex(b)
	h.PutIndex(inspect.Index{ID: "a"})
	if messages := s.pending(); messages != nil {
		t.Errorf("an unchanged index is sent: %+v", messages)
	}

	for i, change := range []func(*inspect.Index){
		func(x *inspect.Index) { x.Keys++ }, func(x *inspect.Index) { x.Values++ }, func(x *inspect.Index) { x.Objects++ },
		func(x *inspect.Index) { x.Resources = []string{"pods.v1", "nodes.v1"} },
	} {
		change(&b)
		h.PutIndex(b)
		want[1] = b
		messages := next(t, s)
		if len(messages) != 1 {
			t.Fatalf("%+v", messages)
		}
		if diff := cmp.Diff(want, messages[0].Indices); diff != "" {
			t.Errorf("the change %d: %s", i, diff)
		}
	}
}

// numbers is an index of 2,500 entries.
func numbers(query IndexQuery) (inspect.IndexPage, bool) {
	if query.ID != "by/number & name" {
		return inspect.IndexPage{}, false
	}
	page := inspect.IndexPage{ID: query.ID, Offset: query.Offset, Total: 2500, Entries: []inspect.IndexEntry{}}
	if query.Search != "" {
		page.Total = len(query.Search)
	}
	for n := query.Offset; n < min(query.Offset+query.Limit, page.Total); n++ {
		page.Entries = append(page.Entries, inspect.IndexEntry{Key: fmt.Sprint(n), Value: "x"})
	}
	return page, true
}

func TestClient_ReadsIndexInPages(t *testing.T) {
	address, _ := serve(t, NewHub(HubOptions{Index: numbers}))
	client := dial(t, address)
	for _, tt := range []struct{ offset, limit, want int }{
		{0, 10, 10}, {2495, 10, 5}, {2500, 10, 0}, {9999, 10, 0}, {0, 0, 0}, {0, 1 << 30, inspect.MaxIndexPage}, {2000, 1 << 30, 500},
	} {
		page, err := client.Index(t.Context(), "by/number & name", tt.offset, tt.limit)
		if err != nil {
			t.Fatal(err)
		}
		if page.Total != 2500 || page.Offset != tt.offset || len(page.Entries) != tt.want {
			t.Errorf("%+v: %d entries at %d of %d", tt, len(page.Entries), page.Offset, page.Total)
		}
		if tt.want > 0 && page.Entries[0].Key != fmt.Sprint(tt.offset) {
			t.Errorf("%+v: it begins with %+v", tt, page.Entries[0])
		}
	}
}

func TestClient_InvalidIndexPageIsError(t *testing.T) {
	with, _ := serve(t, NewHub(HubOptions{Index: numbers}))
	without, _ := serve(t, NewHub(HubOptions{}))
	for _, address := range []string{with, without} {
		_, err := dial(t, address).Index(t.Context(), "other", 0, 10)
		if err == nil || !strings.Contains(err.Error(), `there is no index "other"`) {
			t.Errorf("%v", err)
		}
	}
	client := dial(t, with)
	if _, err := client.Index(t.Context(), "by/number & name", -1, 10); err == nil || !strings.Contains(err.Error(), "offset=-1 is not a number of entries") {
		t.Errorf("%v", err)
	}
	for query, want := range map[string]int{"": http.StatusNotFound, "?id=by%2Fnumber+%26+name": http.StatusOK, "?id=x&limit=all": http.StatusBadRequest} {
		w := httptest.NewRecorder()
		protocol(NewHub(HubOptions{Index: numbers}), token{}).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://localhost"+inspect.IndexPath+query, nil))
		if w.Code != want {
			t.Errorf("%q: %d", query, w.Code)
		}
	}
}

func TestClient_SearchesIndex(t *testing.T) {
	address, _ := serve(t, NewHub(HubOptions{Index: numbers}))
	page, err := dial(t, address).SearchIndex(t.Context(), "by/number & name", "é &", 0, 10)
	if err != nil || page.Total != len("é &") {
		t.Errorf("%v, %+v", err, page)
	}
}
