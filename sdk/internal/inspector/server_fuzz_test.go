package inspector

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

func FuzzRequests(f *testing.F) {
	for _, body := range []string{
		`{"kind":"retry","object":{"resource":"pods.v1","name":"a","uid":"1"}}`, `{"kind":"loglevel","value":"debug"}`, `{"kind":1}`, `[]`, `{"object":null}`, "",
	} {
		f.Add(body, "by/number & name", "1", "2")
		f.Add(body, "", "-1", "9999999999999999999")
	}
	f.Fuzz(func(t *testing.T, body, id, offset, limit string) {
		hub := NewHub(HubOptions{
			Intents: func(in inspect.Intent) inspect.Reply { return inspect.Reply{OK: in.Object == nil, Error: in.Value} },
			Index:   numbers,
		})
		query := url.Values{"id": {id}, "offset": {offset}, "limit": {limit}}
		for _, r := range []*http.Request{
			httptest.NewRequest(http.MethodPost, inspect.IntentsPath, strings.NewReader(body)),
			httptest.NewRequest(http.MethodGet, inspect.IndexPath+"?"+query.Encode(), nil),
			httptest.NewRequest(http.MethodGet, inspect.SnapshotPath, nil),
		} {
			r.Host = "localhost"
			w := httptest.NewRecorder()
			protocol(hub, token{}).ServeHTTP(w, r)
			isJSON := w.Header().Get("Content-Type") == "application/json"
			if w.Code >= http.StatusInternalServerError || isJSON && !json.Valid(w.Body.Bytes()) || !isJSON && w.Code == http.StatusOK {
				t.Errorf("%s %q: %d %s", r.URL, body, w.Code, w.Body)
			}
		}
	})
}
