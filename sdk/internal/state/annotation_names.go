package state

import (
	"encoding/base64"
	"strings"
	"unicode/utf8"

	"golang.org/x/crypto/blake2b"

	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
)

const (
	maxName   = 63 // maximum length of an annotation's name in Kubernetes, without the prefix
	hashSize  = 4
	ofOwnedRS = "-ofDRS"
)

// encoding has only characters that the names of annotations may contain.
var encoding = base64.NewEncoding("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-.")

// annotationKeys returns the names of the annotations for a key of an object: the V2 name, and with
// v1 also the V1 name if it differs. The object may be nil.
func annotationKeys(prefix string, v1 bool, key string, object map[string]any) []string {
	key = markKey(key, object)
	full := shortenV2(prefix, key)
	if v1 && tooLongFor(full, maxName) { // otherwise, both names are equal
		if old := shortenV1(prefix, key); old != full {
			return []string{full, old}
		}
	}
	return []string{full}
}

// markKey changes the key for a ReplicaSet of a Deployment. Kubernetes copies the Deployment's annotations to the
// ReplicaSet, and the operator must not read them as the state of the ReplicaSet.
func markKey(key string, obj map[string]any) string {
	if obj["kind"] != "ReplicaSet" {
		return key
	}
	owners, _ := object.Metadata(obj)["ownerReferences"].([]any)
	for _, owner := range owners {
		if owner, ok := owner.(map[string]any); ok && owner["kind"] == "Deployment" {
			return key + ofOwnedRS
		}
	}
	return key
}

// shortenV2 returns the V2 name. The limit applies to the part after the prefix.
func shortenV2(prefix, key string) string {
	name := safe(key)
	if tooLongFor(key, maxName) {
		suffix := hashSuffix(key)
		name = firstRunes(name, maxName-len(suffix)) + suffix
	}
	return prefix + "/" + name
}

// shortenV1 returns the V1 name. The limit includes the prefix. If the prefix is long, little more than the hash remains
// of the key.
func shortenV1(prefix, key string) string {
	name := safe(key)
	room := maxName - utf8.RuneCountInString(prefix) - len("/")
	if tooLongFor(name, room) {
		suffix := hashSuffix(name)
		name = firstRunes(name, room-len(suffix)) + suffix
	}
	return prefix + "/" + name
}

// hashSuffix returns the hash of a key, which is appended to the shortened key.
func hashSuffix(key string) string {
	hash, err := blake2b.New(hashSize, nil)
	if err != nil {
		panic("blake2b refuses its size: " + err.Error()) // impossible, because the size is a valid constant
	}
	hash.Write([]byte(key))
	return strings.TrimRight("-"+encoding.EncodeToString(hash.Sum(nil)), "=-.")
}

// safe replaces characters that are common in handler ids but not allowed in names.
func safe(key string) string {
	if !strings.ContainsAny(key, "/<>") {
		return key
	}
	return strings.Map(func(r rune) rune {
		switch r {
		case '/':
			return '.'
		case '<', '>':
			return '_'
		}
		return r
	}, key)
}

// tooLongFor reports whether a string has more characters than the limit. It counts bytes first,
// because this is faster and most keys are short.
func tooLongFor(s string, limit int) bool {
	return len(s) > limit && utf8.RuneCountInString(s) > limit
}

// firstRunes returns the first n characters. A negative n counts from the end, as in Python. For a very long prefix, n is
// negative, and Kopf for Python keeps a part of the name this way.
func firstRunes(s string, n int) string {
	if n < 0 {
		n = max(0, utf8.RuneCountInString(s)+n)
	}
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

// storePrefixMarker adds the annotation that marks the prefix as the prefix of an operator's state, so that other operators
// exclude it from the essence. Prefixes that begin with "kopf." need no marker.
func storePrefixMarker(prefix string, obj map[string]any, p *patch.Patch) {
	if prefix == "" || strings.HasPrefix(prefix, "kopf.") {
		return
	}
	key := prefix + "/" + marker
	path := object.Path{"metadata", "annotations", key}
	if _, ok := object.Annotations(obj)[key]; ok {
		return
	}
	if _, ok := p.Lookup(path); ok {
		return
	}
	p.Set(path, "yes")
}
