package kopftest

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// history records the versions and events that passed through a proxy. [FaultStale] needs the versions, and
// [FaultOutdated] needs the events.
type history struct {
	mu       sync.Mutex
	versions []version
	events   map[string][]pastEvent // last two versions of each object, newest first, by UID
}

// pastEvent is a recorded event in the form in which the proxy can send it again: as a change.
type pastEvent struct {
	number uint64 // resourceVersion of the object
	text   []byte
}

// version is a resourceVersion of the cluster at a time.
type version struct {
	at     time.Time
	number uint64
}

// note records the resourceVersion of a response.
func (h *history) note(answer []byte) {
	var object struct {
		Metadata struct{ ResourceVersion string }
	}
	if json.Unmarshal(answer, &object) == nil { // other responses have no version
		h.mu.Lock()
		defer h.mu.Unlock()
		h.seen(object.Metadata.ResourceVersion)
	}
}

func (h *history) seen(resourceVersion string) {
	number, err := strconv.ParseUint(resourceVersion, 10, 64)
	if err != nil || len(h.versions) > 0 && h.versions[len(h.versions)-1].number >= number {
		return
	}
	h.versions = append(h.versions, version{time.Now(), number})
}

// event records an event, and returns the previous version of the object as a change; nil if the proxy knows no previous
// version. Several streams deliver the same event, in any order.
func (h *history) event(e event, text []byte) (previous []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.seen(e.Object.Metadata.ResourceVersion)
	uid := e.Object.Metadata.UID
	if e.Type == "DELETED" {
		delete(h.events, uid)
		return nil
	}
	number, err := strconv.ParseUint(e.Object.Metadata.ResourceVersion, 10, 64)
	if err != nil {
		return nil // without a numeric resourceVersion, it is unknown which version is the previous one
	}
	if h.events == nil {
		h.events = map[string][]pastEvent{}
	}
	past := h.events[uid]
	i := slices.IndexFunc(past, func(p pastEvent) bool { return p.number <= number })
	switch {
	case i < 0:
		i = len(past)
		past = append(past, pastEvent{number, asChange(text)})
	case past[i].number != number:
		past = slices.Insert(past, i, pastEvent{number, asChange(text)})
	}
	if i+1 < len(past) {
		previous = past[i+1].text
	}
	h.events[uid] = past[:min(len(past), 2)]
	return previous
}

func asChange(text []byte) []byte {
	return bytes.Replace(text, []byte(`"ADDED"`), []byte(`"MODIFIED"`), 1)
}

// before returns the newest version before a time; without one, the oldest version. It returns 0 if no version is known.
func (h *history) before(at time.Time) uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.versions) == 0 {
		return 0
	}
	i, _ := slices.BinarySearchFunc(h.versions, at, func(v version, at time.Time) int { return v.at.Compare(at) })
	return h.versions[max(0, i-1)].number
}

// answerStale answers a list, or a stream that starts with a list, with previous versions of the objects, which it requests
// from the API server. If no previous version is known, the request passes.
func (p *FaultProxy) answerStale(w http.ResponseWriter, r *http.Request, body []byte, fault *Fault, calmed <-chan struct{}) {
	query := r.URL.Query()
	version := p.history.before(time.Now().Add(-fault.Age))
	// An API server never returns an older version than the client requests.
	wanted, _ := strconv.ParseUint(query.Get("resourceVersion"), 10, 64) // 0 if the client requests no version
	if !Lists(r) || version == 0 || wanted > version || query.Get("continue") != "" {
		p.pass(w, r, body, nil, calmed)
		return
	}
	list := r.Clone(r.Context())
	q := list.URL.Query()
	for _, key := range []string{"watch", "allowWatchBookmarks", "sendInitialEvents", "timeoutSeconds"} {
		q.Del(key)
	}
	q.Set("resourceVersion", strconv.FormatUint(version, 10))
	q.Set("resourceVersionMatch", "Exact")
	list.URL.RawQuery = q.Encode()
	resp, err := p.forward(r.Context(), list, nil)
	if err != nil {
		abort()
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	switch {
	case err != nil:
		abort()
	case resp.StatusCode != http.StatusOK || !isJSON(resp): // the API server no longer has the version
		p.pass(w, r, body, nil, calmed)
	case Watches(r):
		p.streamStale(w, r, body, answer, fault, calmed)
	default:
		p.decisions.note(*fault, r, "")
		begin(w, resp, true)
		_, _ = w.Write(answer) // an error means that the client disconnected
	}
}

// streamStale starts a stream with the objects of a list, and continues with the events since the list's version.
func (p *FaultProxy) streamStale(w http.ResponseWriter, r *http.Request, body, answer []byte, fault *Fault, calmed <-chan struct{}) {
	begun, from, err := initialEvents(answer)
	if err != nil {
		p.pass(w, r, body, nil, calmed)
		return
	}
	watch := r.Clone(r.Context())
	q := watch.URL.Query()
	q.Del("sendInitialEvents")
	q.Del("resourceVersionMatch")
	q.Set("resourceVersion", from)
	watch.URL.RawQuery = q.Encode()
	resp, err := p.forward(r.Context(), watch, nil)
	if err != nil {
		abort()
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK || !isJSON(resp) { // the version is too old for a watch
		p.pass(w, r, body, nil, calmed)
		return
	}
	p.decisions.note(*fault, r, "")
	begin(w, resp, false)
	_, _ = w.Write(begun) // an error means that the client disconnected
	flush(w)
	if fault.Delay > 0 {
		wait(r.Context(), fault.Delay, calmed)
	}
	p.relay(w, r, resp.Body, false, nil, calmed)
}

// initialEvents returns the initial events of a stream for a list, and the version of the list.
func initialEvents(answer []byte) (lines []byte, version string, err error) {
	var list struct {
		Kind, APIVersion string
		Metadata         struct{ ResourceVersion string }
		Items            []map[string]any
	}
	decoder := json.NewDecoder(bytes.NewReader(answer))
	decoder.UseNumber()
	if err := decoder.Decode(&list); err != nil {
		return nil, "", err
	}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	add := func(kind string, object map[string]any) {
		object["kind"], object["apiVersion"] = strings.TrimSuffix(list.Kind, "List"), list.APIVersion
		if err := encoder.Encode(map[string]any{"type": kind, "object": object}); err != nil {
			panic(err) // impossible, because the value was decoded from JSON
		}
	}
	for _, item := range list.Items {
		add("ADDED", item)
	}
	add("BOOKMARK", map[string]any{"metadata": map[string]any{
		"resourceVersion": list.Metadata.ResourceVersion,
		"annotations":     map[string]any{initialEventsEnd: "true"},
	}})
	return b.Bytes(), list.Metadata.ResourceVersion, nil
}
