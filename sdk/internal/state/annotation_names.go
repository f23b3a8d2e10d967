package state

import (
	"encoding/base64"
	"errors"
	"strings"
	"unicode/utf8"

	"golang.org/x/crypto/blake2b"

	"github.com/kopf-dev/kopf/sdk/internal/object"
)

const (
	maxName     = 63  // limit of Kubernetes on the name of an annotation, without its prefix
	maxFullName = 253 // limit of Kubernetes on the prefix and the name together
	hashSize    = 4
	ofOwnedRS   = "-ofDRS"
)

// ErrNoPrefix refuses names without a prefix: they could be anybody's.
var ErrNoPrefix = errors.New("storages in annotations need a prefix, such as kopf.zalando.org")

// encoding has only characters that names of annotations may contain.
var encoding = base64.NewEncoding("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-.")

// CheckPrefix refuses what cannot be a prefix.
func CheckPrefix(prefix string) error {
	if prefix == "" {
		return ErrNoPrefix
	}
	return nil
}

// TooLong tells if the names under a prefix can become longer than Kubernetes allows,
// so that patches with them would fail.
func PrefixTooLong(prefix string) bool {
	return utf8.RuneCountInString(prefix) > maxFullName-maxName-1
}

// Keys returns the names of the annotations for a key of an object: the V2 name, and
// the V1 name if it is asked for and differs. The object may be nil.
func AnnotationKeys(prefix string, v1 bool, key string, object map[string]any) []string {
	key = MarkKey(key, object)
	full := KeyV2(prefix, key)
	if v1 && tooLongFor(full, maxName) { // else they are the same
		if old := KeyV1(prefix, key); old != full {
			return []string{full, old}
		}
	}
	return []string{full}
}

// Mark makes the key of a ReplicaSet of a Deployment another one than that of the
// Deployment itself: Kubernetes copies the annotations from the latter to the former,
// and the one's state would be taken for the other's.
func MarkKey(key string, obj map[string]any) string {
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

// V2 returns the name in which only what follows the prefix is limited.
func KeyV2(prefix, key string) string {
	name := safe(key)
	if tooLongFor(key, maxName) {
		suffix := KeySuffix(key)
		name = firstRunes(name, maxName-len(suffix)) + suffix
	}
	return prefix + "/" + name
}

// V1 returns the name in which the prefix counts too. For long prefixes it has little
// more than the hash.
func KeyV1(prefix, key string) string {
	name := safe(key)
	room := maxName - utf8.RuneCountInString(prefix) - len("/")
	if tooLongFor(name, room) {
		suffix := KeySuffix(name)
		name = firstRunes(name, room-len(suffix)) + suffix
	}
	return prefix + "/" + name
}

// Suffix returns the hash of a key, as it is put after what is left of it.
func KeySuffix(key string) string {
	hash, err := blake2b.New(hashSize, nil)
	if err != nil {
		panic("blake2b refuses its size: " + err.Error()) // the size is a constant
	}
	hash.Write([]byte(key))
	return strings.TrimRight("-"+encoding.EncodeToString(hash.Sum(nil)), "=-.")
}

// safe replaces what is common in ids of handlers, but not allowed in names.
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

// tooLongFor counts characters, not bytes. The bytes are counted first, since that is
// the cheaper way to find out that a key is short.
func tooLongFor(s string, limit int) bool {
	return len(s) > limit && utf8.RuneCountInString(s) > limit
}

// firstRunes returns the first characters. A negative number is counted from the end,
// as in Python, where prefixes beyond all limits leave some of the name this way.
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
