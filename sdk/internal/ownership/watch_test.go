package ownership

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/testcluster"
)

// patience limits how long a test waits for an event.
const patience = 20 * time.Second

const ownedBy = "kopf.dev/owned-by"

// stream is a watch of objects with a label, as PartialObjectMetadata: the way in which the operator sees children.
type stream struct {
	s                 *server
	collection, label string
	frames            chan frame
	latest            frame
}

type frame struct {
	Type   string
	Object tree
}

// watch opens a stream, which ends with the test.
func (s *server) watch(collection, label string) *stream {
	s.t.Helper()
	w := &stream{s: s, collection: collection, label: label}
	w.connect()
	return w
}

// connect opens the stream with all present objects.
func (w *stream) connect() {
	s := w.s
	s.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	query := url.Values{"watch": {"1"}, "labelSelector": {ownedBy + "=" + w.label}}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.cluster.Config.Host+w.collection+"?"+query.Encode(), nil)
	if err != nil {
		s.t.Fatal(err)
	}
	request.Header.Set("Accept", asMetadata)
	var response *http.Response
	testcluster.Eventually(s.t, "the objects can be watched", func() error { // a server that has just begun to serve a resource answers 429
		if response, err = s.client.Do(request); err != nil {
			s.t.Fatal(err)
		}
		if response.StatusCode == http.StatusOK {
			return nil
		}
		err := fmt.Errorf("watch %s: %s", w.collection, response.Status)
		if response.StatusCode != http.StatusTooManyRequests {
			s.t.Fatal(err)
		}
		return errors.Join(err, response.Body.Close())
	})
	frames := make(chan frame)
	w.frames = frames
	var reader sync.WaitGroup
	reader.Go(func() {
		defer response.Body.Close()
		defer close(frames)
		decoder := json.NewDecoder(response.Body)
		for {
			var f frame
			if decoder.Decode(&f) != nil {
				return
			}
			select {
			case frames <- f:
			case <-ctx.Done():
				return
			}
		}
	})
	s.t.Cleanup(func() { cancel(); reader.Wait() })
}

// next returns the next event. The API server ends the watches of custom resources whose definition it has just begun to serve,
// so next connects again then.
func (w *stream) next() frame {
	w.s.t.Helper()
	select {
	case f, open := <-w.frames:
		if !open {
			w.connect()
			return w.next()
		}
		w.latest = f
		return f
	case <-time.After(patience):
		w.s.t.Fatal("no event")
	}
	return frame{}
}

// at returns the managedFields that the stream has delivered for a version of its object.
func (w *stream) at(version string) entries {
	w.s.t.Helper()
	for text(w.latest.Object, "metadata", "resourceVersion") != version {
		w.next()
	}
	for _, part := range []string{"data", "spec", "status"} {
		if _, found := w.latest.Object[part]; found {
			w.s.t.Errorf("the stream of metadata has .%s", part)
		}
	}
	return entriesOf(w.s.t, w.latest.Object)
}
