package observe

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"path"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kopf-dev/kopf/sdk/internal/kube"
)

// cluster takes events, in virtual time.
type cluster struct {
	mu       sync.Mutex
	requests []string // method, path, and the fields of interest
	codes    []int    // status codes of the next answers; then 200
	delay    time.Duration
	header   http.Header
}

func (c *cluster) CloseIdleConnections() {}

func (c *cluster) RoundTrip(r *http.Request) (*http.Response, error) {
	select {
	case <-time.After(c.delay):
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var body map[string]any
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		return nil, err
	}
	c.requests = append(c.requests, strings.TrimSpace(fmt.Sprintf("%s %s %v %v", r.Method, r.URL.Path, body["message"], body["count"])))
	code := 200
	if len(c.codes) > 0 {
		code, c.codes = c.codes[0], c.codes[1:]
	}
	name := fmt.Sprintf("event-%d", len(c.requests))
	if r.Method == http.MethodPatch {
		name = path.Base(r.URL.Path)
	}
	reply := fmt.Sprintf(`{"metadata":{"name":%q}}`, name)
	return &http.Response{StatusCode: code, Header: c.header, Body: io.NopCloser(strings.NewReader(reply))}, nil
}

func (c *cluster) expect(t *testing.T, want ...string) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if got := strings.Join(c.requests, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("requests:\n%s\nexpected:\n%s", got, strings.Join(want, "\n"))
	}
	c.requests = nil
}

var about = ObjectReference{APIVersion: "kopf.dev/v1", Kind: "KopfExample", Name: "n", UID: "u", Namespace: "ns"}

func say(message string) EventContent {
	return EventContent{Type: Normal, Reason: "R", Message: message, At: time.Now()}
}

// post runs a test in virtual time with a poster that runs until the test stops it.
func post(t *testing.T, options PosterOptions, test func(t *testing.T, p *Poster, c *cluster, stop func())) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := new(cluster)
		source, err := kube.NewConfigSource(&rest.Config{Host: "http://cluster.test", Transport: c}, 0)
		if err != nil {
			t.Fatal(err)
		}
		options.Client = kube.NewClient(source, kube.ClientOptions{})
		p := NewPoster(options)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			p.Run(ctx)
		}()
		stop := func() { cancel(); <-done }
		defer stop()
		test(t, p, c, stop)
	})
}

const events = "/api/v1/namespaces/ns/events"

func TestPoster_RepetitionIncrementsCount(t *testing.T) {
	post(t, PosterOptions{}, func(t *testing.T, p *Poster, c *cluster, _ func()) {
		p.Post(about, say("one"))
		p.Post(about, say("two"))
		synctest.Wait()
		c.expect(t, "POST "+events+" one <nil>", "POST "+events+" two <nil>")
		for range 2 {
			time.Sleep(time.Minute)
			p.Post(about, say("one"))
			synctest.Wait()
		}
		c.expect(t, "PATCH "+events+"/event-1 <nil> 2", "PATCH "+events+"/event-1 <nil> 3")
		if got := p.Stats(); got != (PosterStats{Posted: 2, Repeated: 2}) {
			t.Errorf("%+v", got)
		}
	})
}

func TestPoster_RepetitionAfterWindowIsNewEvent(t *testing.T) {
	post(t, PosterOptions{}, func(t *testing.T, p *Poster, c *cluster, _ func()) {
		for range 2 {
			p.Post(about, say("one"))
			time.Sleep(DefaultWindow + time.Second)
		}
		c.expect(t, "POST "+events+" one <nil>", "POST "+events+" one <nil>")
	})
}

func TestPoster_RepetitionsInQueueShareOneRequest(t *testing.T) {
	post(t, PosterOptions{}, func(t *testing.T, p *Poster, c *cluster, _ func()) {
		c.delay = time.Second
		p.Post(about, say("first"))
		synctest.Wait()
		for range 5 {
			p.Post(about, say("again"))
		}
		time.Sleep(time.Minute)
		c.expect(t, "POST "+events+" first <nil>", "POST "+events+" again 5")
		if got := p.Stats(); got != (PosterStats{Posted: 2, Repeated: 4}) {
			t.Errorf("%+v", got)
		}
	})
}

func TestPoster_FailedIncrementPostsNewEvent(t *testing.T) {
	for _, code := range []int{404, 403} { // it was garbage-collected, or there is no right to patch
		post(t, PosterOptions{}, func(t *testing.T, p *Poster, c *cluster, _ func()) {
			c.codes = []int{200, code, 200}
			p.Post(about, say("one"))
			synctest.Wait()
			p.Post(about, say("one"))
			synctest.Wait()
			c.expect(t, "POST "+events+" one <nil>", "PATCH "+events+"/event-1 <nil> 2", "POST "+events+" one <nil>")
			if got := p.Stats(); got != (PosterStats{Posted: 2}) {
				t.Errorf("%+v", got)
			}
		})
	}
}

func TestPoster_FailuresAreCountedAndNotRetried(t *testing.T) {
	var log bytes.Buffer
	post(t, PosterOptions{Logger: slog.New(slog.NewTextHandler(&log, nil))}, func(t *testing.T, p *Poster, c *cluster, stop func()) {
		c.codes = []int{403, 500}
		for range 3 {
			p.Post(about, say("one"))
			synctest.Wait()
		}
		c.expect(t, "POST "+events+" one <nil>", "POST "+events+" one <nil>", "POST "+events+" one <nil>")
		if got := p.Stats(); got != (PosterStats{Posted: 1, Failed: 2}) {
			t.Errorf("%+v", got)
		}
		stop()
		if strings.Count(log.String(), "Failed to post") != 1 {
			t.Error(log.String())
		}
	})
}

func TestPoster_PausesForRetryAfter(t *testing.T) {
	post(t, PosterOptions{}, func(t *testing.T, p *Poster, c *cluster, _ func()) {
		c.codes, c.header = []int{429}, http.Header{"Retry-After": {"20"}}
		p.Post(about, say("one"))
		p.Post(about, say("two"))
		time.Sleep(19 * time.Second)
		c.expect(t, "POST "+events+" one <nil>")
		time.Sleep(2 * time.Second)
		c.expect(t, "POST "+events+" two <nil>")
	})
}

func TestPoster_FullQueueDropsWithoutBlocking(t *testing.T) {
	var log bytes.Buffer
	post(t, PosterOptions{QueueLimit: 3, Logger: slog.New(slog.NewTextHandler(&log, nil))}, func(t *testing.T, p *Poster, c *cluster, stop func()) {
		c.delay = time.Second
		begin := time.Now()
		for i := range 10 {
			p.Post(about, say(fmt.Sprint(i)))
			if i == 0 {
				synctest.Wait() // the first one is on its way
			}
		}
		if time.Since(begin) != 0 {
			t.Error("blocked")
		}
		if got := p.Stats(); got != (PosterStats{Queued: 3, Dropped: 6}) {
			t.Errorf("%+v", got)
		}
		time.Sleep(time.Minute)
		c.expect(t, "POST "+events+" 0 <nil>", "POST "+events+" 1 <nil>", "POST "+events+" 2 <nil>", "POST "+events+" 3 <nil>")
		stop()
		if strings.Count(log.String(), "Dropping") != 1 || strings.Count(log.String(), "dropped=") != 1 {
			t.Error(log.String())
		}
	})
}

func TestPoster_BudgetLimitsRequestsOfOneObject(t *testing.T) {
	post(t, PosterOptions{}, func(t *testing.T, p *Poster, c *cluster, _ func()) {
		for i := range 100 {
			p.Post(about, say(fmt.Sprint(i)))
		}
		other := about
		other.UID = "other"
		p.Post(other, say("other"))
		time.Sleep(time.Second)
		if got := p.Stats(); got != (PosterStats{Posted: DefaultBurst + 1, Dropped: 100 - DefaultBurst}) {
			t.Errorf("%+v", got)
		}
		time.Sleep(2 * DefaultRefill)
		for i := range 10 {
			p.Post(about, say(fmt.Sprint("later ", i)))
		}
		time.Sleep(time.Second)
		if got := p.Stats(); got.Posted != DefaultBurst+3 {
			t.Errorf("%+v", got)
		}
	})
}

func TestPoster_RepetitionsBeyondBudgetAreCountedLater(t *testing.T) {
	post(t, PosterOptions{Burst: 2}, func(t *testing.T, p *Poster, c *cluster, _ func()) {
		for range 10 {
			p.Post(about, say("one"))
			synctest.Wait()
		}
		c.expect(t, "POST "+events+" one <nil>", "PATCH "+events+"/event-1 <nil> 2")
		time.Sleep(DefaultRefill)
		p.Post(about, say("one"))
		synctest.Wait()
		c.expect(t, "PATCH "+events+"/event-1 <nil> 11")
		if got := p.Stats(); got != (PosterStats{Posted: 1, Repeated: 10}) {
			t.Errorf("%+v", got)
		}
	})
}

func TestPoster_FlushesQueueForOneSecondAtEnd(t *testing.T) {
	post(t, PosterOptions{}, func(t *testing.T, p *Poster, c *cluster, stop func()) {
		c.delay = 400 * time.Millisecond
		for i := range 10 {
			p.Post(about, say(fmt.Sprint(i)))
		}
		synctest.Wait()
		begin := time.Now()
		stop()
		if took := time.Since(begin); took != flushTimeout {
			t.Error(took)
		}
		if got := p.Stats(); got != (PosterStats{Posted: 2, Failed: 1, Dropped: 7}) {
			t.Errorf("%+v", got)
		}
	})
}

func TestPoster_IgnoresEventsAboutEvents(t *testing.T) {
	post(t, PosterOptions{}, func(t *testing.T, p *Poster, c *cluster, _ func()) {
		p.Post(ObjectReference{APIVersion: "v1", Kind: "Event", Name: "e", Namespace: "ns"}, say("one"))
		synctest.Wait()
		c.expect(t)
		if got := p.Stats(); got != (PosterStats{}) {
			t.Errorf("%+v", got)
		}
	})
}

func TestLRU_ForgetsLeastRecentlyUsed(t *testing.T) {
	l := newLRU[int, int](3)
	for i := range 5 {
		l.put(i, i)
		l.get(2)
	}
	for key, want := range map[int]bool{0: false, 1: false, 2: true, 3: true, 4: true} {
		if _, ok := l.get(key); ok != want {
			t.Error(key, ok)
		}
	}
}
