package proxy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/kopf-dev/kopf/plan/redaction"
)

// maxBody is the maximum size of the body of a writing request, as in the API server.
const maxBody = 8 << 20

// sender identifies the handler that sends a request.
type sender struct {
	handler, uid string
	attempt      int
}

// senderOf removes the header that names the handler.
func senderOf(header http.Header) sender {
	value := header.Get(HandlerHeader)
	header.Del(HandlerHeader)
	words := strings.Fields(value)
	if len(words) < 3 {
		return sender{handler: value}
	}
	attempt, err := strconv.Atoi(words[len(words)-1])
	if err != nil {
		return sender{handler: value}
	}
	return sender{handler: strings.Join(words[:len(words)-2], " "), uid: words[len(words)-2], attempt: attempt}
}

// write answers a writing request, and records it. Requests for the same object wait for each other, so that the object before and
// after each is known.
func (p *Proxy) write(w http.ResponseWriter, r *http.Request, i info, from sender) {
	rec := Request{
		At: time.Now(), Verb: i.verb, Resource: i.resource, Namespace: i.namespace, Name: i.name, Subresource: i.subresource,
		Handler: from.handler, UID: from.uid, Attempt: from.attempt, ContentType: r.Header.Get("Content-Type"),
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		answer(w, &metav1.Status{Code: http.StatusRequestEntityTooLarge, Reason: metav1.StatusReasonRequestEntityTooLarge, Message: err.Error()})
		return
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	r.Header.Set("Accept", withoutBinary(r.Header.Get("Accept")))
	if i.name != "" {
		defer p.locks.lock(i.key())()
		if rec.Before, err = p.loader.control.object(p.life, i.resource, i.namespace, i.name); err != nil {
			p.fail(w, fmt.Errorf("read the object before a request: %w", err))
			return
		}
	}
	kept := &response{ResponseWriter: w, code: http.StatusOK}
	p.forward.ServeHTTP(kept, r)
	rec.Code = kept.code
	if rec.Code >= http.StatusBadRequest {
		rec.Status = &metav1.Status{}
		if json.Unmarshal(kept.body.Bytes(), rec.Status) != nil {
			rec.Status = &metav1.Status{Status: metav1.StatusFailure, Code: int32(rec.Code), Message: kept.body.String()}
		}
		rec.After = rec.Before
	} else if err := p.after(i, kept.body.Bytes(), &rec); err != nil {
		p.failed(fmt.Errorf("read the object after a request: %w", err))
		return
	}
	if err := rec.redact(p.options.Copy.Shown, body); err != nil {
		p.failed(fmt.Errorf("redact a request for %s: %w", i.key(), err))
		return
	}
	i.name = rec.Name
	p.shrink(i.key(), &rec)
	p.record(rec)
}

// shrink reduces the memory of a record: most of an object are its managed fields, and the object before a request is usually the object
// after an earlier one. Both records then have the same tree.
func (p *Proxy) shrink(key string, rec *Request) {
	for _, state := range []map[string]any{rec.Before, rec.After} {
		metadata, _ := state["metadata"].(map[string]any)
		delete(metadata, "managedFields")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if known := p.states[key]; isSameState(known, rec.Before) {
		if isSameState(rec.Before, rec.After) {
			rec.After = known
		}
		rec.Before = known
	}
	if rec.After == nil {
		delete(p.states, key)
		return
	}
	p.states[key] = rec.After
}

// isSameState reports whether two trees are the same version of the same object. The version of the resource makes a difference, too.
func isSameState(a, b map[string]any) bool {
	x, _ := a["metadata"].(map[string]any)
	y, _ := b["metadata"].(map[string]any)
	return x["resourceVersion"] != nil && x["resourceVersion"] == y["resourceVersion"] && x["uid"] == y["uid"] && a["apiVersion"] == b["apiVersion"]
}

// after records the object after a successful request, and the name of a new object.
func (p *Proxy) after(i info, body []byte, rec *Request) error {
	if i.verb == "deletecollection" {
		return nil
	}
	answered, err := decode(body)
	if err != nil {
		answered = nil // some subresources do not answer with an object
	}
	metadata, _ := answered["metadata"].(map[string]any)
	if name, ok := metadata["name"].(string); ok && rec.Name == "" {
		rec.Name = name
	}
	version, _ := answered["apiVersion"].(string)
	whole := i.verb != "delete" && (i.subresource == "" || i.subresource == "status") && version == i.resource.GroupVersion().String() &&
		answered["kind"] != "Status"
	finalizers, _ := metadata["finalizers"].([]any)
	if whole && (metadata["deletionTimestamp"] == nil || len(finalizers) > 0) {
		rec.After = answered
		return nil
	}
	if rec.Name == "" {
		return errors.New("the answer has no name")
	}
	rec.After, err = p.loader.control.object(p.life, i.resource, i.namespace, rec.Name)
	return err
}

// redact replaces the values of Secrets in a record, and adds the body.
func (rec *Request) redact(shown func(map[string]any) (map[string]any, error), body []byte) error {
	text := isText(rec.ContentType)
	if !redaction.IsSecret(rec.Resource.GroupResource()) {
		if text {
			rec.Body = body
		}
		return nil
	}
	for _, state := range []*map[string]any{&rec.Before, &rec.After} {
		if *state == nil {
			continue
		}
		// Before and After can be the same tree, and shown changes its argument.
		raw, err := json.Marshal(*state)
		if err != nil {
			return err
		}
		tree, err := decode(raw)
		if err != nil {
			return err
		}
		if *state, err = shown(tree); err != nil {
			return err
		}
	}
	var patch map[string]any
	if !text || yaml.Unmarshal(body, &patch) != nil {
		return nil // the operations of a JSON patch are not recorded, because After shows their effect
	}
	patch, err := shown(patch)
	if err != nil {
		return err
	}
	rec.Body, err = json.Marshal(patch)
	return err
}

func isText(contentType string) bool {
	media, _, err := mime.ParseMediaType(contentType)
	return err == nil && (strings.HasSuffix(media, "json") || strings.HasSuffix(media, "yaml"))
}

// withoutBinary returns the value of an Accept header without binary types, because the recorded answers must be JSON.
func withoutBinary(accept string) string {
	var kept []string
	for part := range strings.SplitSeq(accept, ",") {
		if !strings.Contains(part, "protobuf") && !strings.Contains(part, "cbor") && strings.TrimSpace(part) != "" {
			kept = append(kept, part)
		}
	}
	if len(kept) == 0 {
		return "application/json"
	}
	return strings.Join(kept, ",")
}

// response passes on an answer, and keeps its code and body.
type response struct {
	http.ResponseWriter
	code int
	body bytes.Buffer
}

// WriteHeader implements [http.ResponseWriter].
func (r *response) WriteHeader(code int) {
	r.code = code
	r.ResponseWriter.WriteHeader(code)
}

// Write implements [io.Writer].
func (r *response) Write(b []byte) (int, error) {
	r.body.Write(b)
	return r.ResponseWriter.Write(b)
}

// locks are locks by name. It keeps only locks that are in use.
type locks struct {
	mu    sync.Mutex
	named map[string]*namedLock
}

type namedLock struct {
	sync.Mutex
	users int
}

// lock locks a name, and returns the function that unlocks it.
func (l *locks) lock(name string) func() {
	l.mu.Lock()
	known := l.named[name]
	if known == nil {
		known = &namedLock{}
		l.named[name] = known
	}
	known.users++
	l.mu.Unlock()
	known.Lock()
	return func() {
		known.Unlock()
		l.mu.Lock()
		defer l.mu.Unlock()
		if known.users--; known.users == 0 {
			delete(l.named, name)
		}
	}
}
