// Package redaction replaces the values of Secrets before they are kept. Equal values stay equal, and different ones different,
// so that comparisons, filters, and the states that are recorded on the Secrets give the same results.
package redaction

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// prefix is the start of each replacement, before digits of a hash of the value.
const prefix = "redacted-"

var replaced = regexp.MustCompile(`^` + prefix + `[0-9a-f]{8}$`)

// minText is the minimum length of a value that is also replaced inside other annotations. Shorter values can occur there by chance.
const minText = 4

// Redactor replaces values. The replacements depend on a random key, so they give no hint of the values. A Redactor is safe for
// concurrent use.
type Redactor struct {
	key   []byte
	count atomic.Int64

	mu    sync.Mutex
	pairs map[string]pair // replacements by the hash of the replaced certificate and key
}

// New returns a redactor with a new random key.
func New() *Redactor {
	key := make([]byte, sha256.Size)
	_, _ = rand.Read(key) // never fails
	return &Redactor{key: key, pairs: map[string]pair{}}
}

// Replaced returns the number of values that were replaced.
func (r *Redactor) Replaced() int { return int(r.count.Load()) }

// IsSecret reports whether a resource is the resource of Secrets.
func IsSecret(resource schema.GroupResource) bool {
	return resource.Group == "" && resource.Resource == "secrets"
}

// Keep replaces the values of a Secret for a copy, and returns the changed object. Certificates, keys and registry configurations have
// replacements that handlers can parse.
func (r *Redactor) Keep(secret map[string]any) (map[string]any, error) {
	return r.redact(secret, r.kept)
}

// Show replaces the values of a Secret, or of a merge patch of a Secret, for the output of a plan, and returns the changed object. Unlike
// Keep, it replaces certificates and registry configurations like all other values. Values that are already replaced stay as they are.
func (r *Redactor) Show(secret map[string]any) (map[string]any, error) {
	return r.redact(secret, func(string, map[string][]byte, string) ([]byte, error) { return nil, nil })
}

// instead returns a special replacement of a value; nil for the replacement with the hash.
type instead func(kind string, data map[string][]byte, name string) ([]byte, error)

// redact replaces the values of a Secret: in its data, in earlier states among its annotations, and in other annotations.
func (r *Redactor) redact(secret map[string]any, special instead) (map[string]any, error) {
	kind, _ := secret["type"].(string)
	found := map[string]string{} // replacements by value
	if err := r.data(secret, kind, special, found); err != nil {
		return nil, err
	}
	others, err := r.annotations(secret, kind, special, found)
	if err != nil {
		return nil, err
	}
	texts := slices.Collect(maps.Keys(found))
	// Long values come first, because a value may be a part of another value.
	slices.SortFunc(texts, func(a, b string) int { return len(b) - len(a) })
	for name, text := range others {
		for _, value := range texts {
			text = strings.ReplaceAll(text, value, found[value])
		}
		annotationsOf(secret)[name] = text
	}
	return secret, nil
}

func annotationsOf(secret map[string]any) map[string]any {
	metadata, _ := secret["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	return annotations
}

// annotations replaces the values in annotations that have an earlier state of the Secret. It removes a state that cannot be decoded,
// because the state may have values that are not in the Secret. It returns the annotations without a state of the Secret.
func (r *Redactor) annotations(secret map[string]any, kind string, special instead, found map[string]string) (map[string]string, error) {
	annotations, others := annotationsOf(secret), map[string]string{}
	for name, value := range annotations {
		text, ok := value.(string)
		if !ok {
			continue
		}
		state, err := decode(text)
		isState := strings.HasSuffix(name, "/last-handled-configuration") || strings.HasSuffix(name, "/last-applied-configuration")
		switch {
		case err != nil && isState:
			delete(annotations, name)
			continue
		case err != nil || state["data"] == nil && state["stringData"] == nil:
			others[name] = text
			continue
		}
		if annotations[name], err = r.earlier(state, kind, special, found); err != nil {
			return nil, err
		}
	}
	return others, nil
}

func decode(text string) (state map[string]any, err error) {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	err = decoder.Decode(&state)
	return state, err
}

// earlier returns the JSON of an earlier state of the Secret with its values replaced. It also replaces the values in the annotations of the state.
func (r *Redactor) earlier(state map[string]any, kind string, special instead, found map[string]string) (string, error) {
	if own, ok := state["type"].(string); ok {
		kind = own
	}
	if err := r.data(state, kind, special, found); err != nil {
		return "", err
	}
	if _, err := r.annotations(state, kind, special, found); err != nil {
		return "", err
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(state); err != nil {
		return "", err
	}
	return out.String(), nil // like the annotations of kubectl and of operators, the text ends with a line feed
}

// data replaces the values of the fields data and stringData, and adds the values to found, with their replacements.
func (r *Redactor) data(secret map[string]any, kind string, special instead, found map[string]string) error {
	all := map[string][]byte{}
	encoded, _ := secret["data"].(map[string]any)
	for name, value := range encoded {
		// A patch, or an annotation that a user has written, can have a value that is not Base64.
		text, _ := value.(string)
		decoded, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			decoded = []byte(text)
		}
		all[name] = decoded
	}
	plain, _ := secret["stringData"].(map[string]any)
	for name, value := range plain {
		text, _ := value.(string)
		all[name] = []byte(text)
	}
	for name, value := range all {
		now, err := special(kind, all, name)
		if err != nil {
			return err
		}
		if now == nil {
			now = r.replacement(value)
		}
		if !bytes.Equal(now, value) {
			r.count.Add(1)
			note(found, string(value), string(now))
			note(found, base64.StdEncoding.EncodeToString(value), base64.StdEncoding.EncodeToString(now))
			note(found, quoted(string(value)), quoted(string(now)))
		}
		if text, ok := encoded[name].(string); ok && text != "" {
			encoded[name] = base64.StdEncoding.EncodeToString(now)
		}
		if _, ok := plain[name].(string); ok {
			plain[name] = string(now)
		}
	}
	return nil
}

func note(found map[string]string, text, now string) {
	if len(text) >= minText {
		found[text] = now
	}
}

// quoted returns a string in JSON, without the quotes around it.
func quoted(text string) string {
	out, err := json.Marshal(text)
	if err != nil {
		return text
	}
	return string(out[1 : len(out)-1])
}

// replacement returns the prefix and digits of a hash of a value. Empty values stay empty, because they are not secret, and handlers may
// check for them.
func (r *Redactor) replacement(value []byte) []byte {
	if len(value) == 0 || replaced.Match(value) {
		return value
	}
	return []byte(prefix + r.hash(value)[:8])
}

func (r *Redactor) hash(parts ...[]byte) string {
	h := hmac.New(sha256.New, r.key)
	for _, part := range parts {
		h.Write(part)
		h.Write([]byte{0}) // a separator, which PEM does not contain
	}
	return hex.EncodeToString(h.Sum(nil))
}
