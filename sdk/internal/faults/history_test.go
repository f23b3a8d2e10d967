package faults

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/kopftest"
)

const (
	lastHandled = "kopf.zalando.org/last-handled-configuration"
	recordsAt   = "kopf.zalando.org/"
)

// version is an object as the API server has stored it once.
type version struct {
	number   uint64
	came     time.Time // time when the trial's own watch received it
	gone     bool
	deleting bool
	held     bool              // has the finalizer
	value    string            // spec.value
	last     string            // spec.value when it was last handled; empty if it never was
	records  map[string]record // keyed by handler
	steps    map[string]string // recorded results, keyed by handler and step
	started  map[string]string // times of the starts of steps that must happen at most once, keyed by handler
	status   status
}

// record is the progress of a handler in an object's annotations.
type record struct {
	Purpose string
	Retries int
	Success bool
}

// status is where the handlers of a trial leave their effects: the number of the call.
type status struct {
	Applied []string `json:"applied,omitempty"` // calls whose transformations update_1 has applied
	Created string   `json:"created,omitempty"` // call of create_1
	Merged  string   `json:"merged,omitempty"`  // call of update_2
	Result  string   `json:"create_2,omitempty"`
}

// settled reports whether nothing is left to do for the object.
func (v version) settled() bool { return !v.deleting && v.last == v.value && len(v.records) == 0 }

// object is one object from its creation to its end.
type object struct {
	uid, kind, name string
	versions        []version
}

func (o *object) newest() version { return o.versions[len(o.versions)-1] }

// at returns the version with a number, or the last one before it.
func (o *object) at(number uint64) version {
	var found version
	for _, v := range o.versions {
		if v.number > number {
			break
		}
		found = v
	}
	return found
}

// history is all that the API server has stored, by a watch of its own without faults.
type history struct {
	mu      sync.Mutex
	objects map[string]*object // keyed by UID
	names   map[string]string  // the newest UID of a kind and name
	news    chan struct{}      // closed with the next version
	err     error

	client *http.Client
	base   string // URL prefix of the kinds
}

func newHistory(t *testing.T, cluster *kopftest.Cluster) *history {
	t.Helper()
	session, err := kube.NewSession(cluster.Config, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(session.Close)
	h := &history{
		objects: map[string]*object{}, names: map[string]string{}, news: make(chan struct{}), client: &http.Client{Transport: session},
		base: fmt.Sprintf("%s/apis/%s/v1/namespaces/%s/", cluster.Config.Host, group, cluster.Namespace),
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var watches sync.WaitGroup
	for _, kind := range kinds {
		watches.Go(func() { h.watch(ctx, kind) })
	}
	t.Cleanup(func() {
		cancel()
		watches.Wait()
	})
	return h
}

// watch follows the objects of a kind. The API server ends a watch from time to time.
func (h *history) watch(ctx context.Context, k kind) {
	for from := "0"; ctx.Err() == nil; {
		next, err := h.stream(ctx, k, h.base+k.plural+"?watch=true&resourceVersion="+from)
		if next != "" {
			from = next
		}
		if err != nil && ctx.Err() == nil {
			h.mu.Lock()
			h.err = fmt.Errorf("the trial's own watch: %w", err)
			h.mu.Unlock()
			return
		}
	}
}

// get asks the API server until it answers. One that has just begun to serve a resource may want to be asked again.
func (h *history) get(ctx context.Context, url string) (*http.Response, error) {
	for end := time.Now().Add(settleTimeout); ; {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return nil, err
		}
		resp, err := h.client.Do(req)
		if err != nil || resp.StatusCode == http.StatusOK {
			return resp, err
		}
		text, err := io.ReadAll(resp.Body)
		if err := errors.Join(err, resp.Body.Close()); err != nil {
			return nil, err
		}
		young := slices.Contains([]int{http.StatusNotFound, http.StatusTooManyRequests, http.StatusServiceUnavailable}, resp.StatusCode)
		if !young || time.Now().After(end) {
			return nil, fmt.Errorf("%s: %s", resp.Status, bytes.TrimSpace(text))
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (h *history) stream(ctx context.Context, k kind, url string) (last string, err error) {
	resp, err := h.get(ctx, url)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	for r := bufio.NewReader(resp.Body); ; {
		line, err := r.ReadBytes('\n')
		if err != nil {
			return last, nil // it is opened again
		}
		if last, err = h.add(k, line); err != nil {
			return last, err
		}
	}
}

// stored is an object of a trial on the wire.
type stored struct {
	Metadata struct {
		Name, UID, ResourceVersion, DeletionTimestamp string
		Annotations                                   map[string]string
		Finalizers                                    []string
	}
	Spec   struct{ Value string }
	Status status
}

func (h *history) add(k kind, line []byte) (number string, err error) {
	var event struct {
		Type   string
		Object stored
	}
	if err := json.Unmarshal(line, &event); err != nil {
		return "", fmt.Errorf("%w: %s", err, line)
	}
	if event.Type == "ERROR" {
		return "", fmt.Errorf("%s", bytes.TrimSpace(line))
	}
	o := event.Object
	v, err := versionOf(o)
	if err != nil {
		return "", err
	}
	v.gone = event.Type == "DELETED"
	h.mu.Lock()
	defer h.mu.Unlock()
	known := h.objects[o.Metadata.UID]
	if known == nil {
		known = &object{uid: o.Metadata.UID, kind: k.name, name: o.Metadata.Name}
		h.objects[known.uid] = known
	}
	known.versions = append(known.versions, v)
	h.names[k.name+" "+known.name] = known.uid
	close(h.news)
	h.news = make(chan struct{})
	return o.Metadata.ResourceVersion, nil
}

func versionOf(o stored) (version, error) {
	number, err := strconv.ParseUint(o.Metadata.ResourceVersion, 10, 64)
	if err != nil {
		return version{}, err
	}
	v := version{
		number: number, came: time.Now(), value: o.Spec.Value, status: o.Status, records: map[string]record{}, steps: map[string]string{}, started: map[string]string{},
		deleting: o.Metadata.DeletionTimestamp != "", held: len(o.Metadata.Finalizers) > 0,
	}
	for name, text := range o.Metadata.Annotations {
		id, own := strings.CutPrefix(name, recordsAt)
		switch {
		case name == lastHandled:
			var essence stored
			if err := json.Unmarshal([]byte(text), &essence); err != nil {
				return version{}, fmt.Errorf("%s: %w", name, err)
			}
			v.last = essence.Spec.Value
		case own && strings.HasPrefix(id, "handler-steps."):
			if err := resultsOf(text, v.steps); err != nil {
				return version{}, fmt.Errorf("%s: %w", name, err)
			}
		case own && strings.HasPrefix(id, "started-step."):
			if err := startOf(text, v.started); err != nil {
				return version{}, fmt.Errorf("%s: %w", name, err)
			}
		case own && slices.Contains(handlerIDs, id):
			var r record
			if err := json.Unmarshal([]byte(text), &r); err != nil {
				return version{}, fmt.Errorf("%s: %w", name, err)
			}
			v.records[id] = r
		}
	}
	return v, nil
}

// named returns the newest object of a name; nil if there was none. It is the caller's own copy.
func (h *history) named(k kind, name string) *object {
	h.mu.Lock()
	defer h.mu.Unlock()
	o := h.objects[h.names[k.name+" "+name]]
	if o == nil {
		return nil
	}
	return &object{o.uid, o.kind, o.name, o.versions[:len(o.versions):len(o.versions)]}
}

// all returns all objects, in the order of their creation.
func (h *history) all() []*object {
	h.mu.Lock()
	defer h.mu.Unlock()
	var all []*object
	for _, o := range h.objects {
		all = append(all, &object{o.uid, o.kind, o.name, o.versions[:len(o.versions):len(o.versions)]})
	}
	slices.SortFunc(all, func(a, b *object) int { return int(a.versions[0].number) - int(b.versions[0].number) })
	return all
}

// version asks for the version of the cluster. It is 0 after an error, which the history keeps.
func (h *history) version() uint64 {
	number, err := h.askVersion()
	if err != nil {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.err = fmt.Errorf("ask for the version of the cluster: %w", err)
	}
	return number
}

func (h *history) askVersion() (uint64, error) {
	resp, err := h.get(context.Background(), h.base+kinds[0].plural+"?limit=1")
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	var list struct {
		Metadata struct{ ResourceVersion string }
	}
	if err := json.NewDecoder(resp.Body).Decode(&list); err != nil {
		return 0, err
	}
	return strconv.ParseUint(list.Metadata.ResourceVersion, 10, 64)
}

// wait waits for the next version, for a moment.
func (h *history) wait(d time.Duration) error {
	h.mu.Lock()
	news, err := h.news, h.err
	h.mu.Unlock()
	if err != nil {
		return err
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-news:
	case <-timer.C:
	}
	return nil
}
