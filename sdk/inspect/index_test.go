package inspect

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestHub_SendsChangedIndices(t *testing.T) {
	h := NewHub(HubOptions{})
	b := Index{ID: "b", Key: "string", Value: "int", Resources: []string{"pods.v1"}, Keys: 1, Values: 2, Objects: 2}
	h.PutIndex(b)
	h.PutIndex(Index{ID: "a"})
	s := subscribe(t, h)
	want := []Index{{ID: "a"}, b}
	if diff := cmp.Diff(want, next(t, s)[0].Snapshot.Indices); diff != "" {
		t.Errorf("the snapshot: %s", diff)
	}

	h.PutIndex(b)
	h.PutIndex(Index{ID: "a"})
	if messages := s.pending(); messages != nil {
		t.Errorf("an unchanged index is sent: %+v", messages)
	}

	for i, change := range []func(*Index){
		func(x *Index) { x.Keys++ }, func(x *Index) { x.Values++ }, func(x *Index) { x.Objects++ },
		func(x *Index) { x.Resources = []string{"pods.v1", "nodes.v1"} },
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
func numbers(id string, offset, limit int) (IndexPage, bool) {
	if id != "by/number & name" {
		return IndexPage{}, false
	}
	page := IndexPage{ID: id, Offset: offset, Total: 2500, Entries: []IndexEntry{}}
	for n := offset; n < min(offset+limit, page.Total); n++ {
		page.Entries = append(page.Entries, IndexEntry{Key: fmt.Sprint(n), Value: "x"})
	}
	return page, true
}

func TestClient_ReadsIndexInPages(t *testing.T) {
	address, _ := serve(t, NewHub(HubOptions{Index: numbers}))
	client := dial(t, address)
	for _, tt := range []struct{ offset, limit, want int }{
		{0, 10, 10}, {2495, 10, 5}, {2500, 10, 0}, {9999, 10, 0}, {0, 0, 0}, {0, 1 << 30, MaxIndexPage}, {2000, 1 << 30, 500},
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
		response, err := client.http.Get(client.base + indexPath + query)
		if err != nil {
			t.Fatal(err)
		}
		if response.StatusCode != want {
			t.Errorf("%q: %s", query, response.Status)
		}
		if err := response.Body.Close(); err != nil {
			t.Error(err)
		}
	}
}
