package watch

import (
	"encoding/hex"
	"hash/fnv"
	"strings"

	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

// knownObjects are the identities of the objects that the stream delivered and that were not deleted. After a relist,
// they show which objects were deleted during the interruption. They stay in memory for all objects, so they are small.
type knownObjects map[objectKey]knownObject

type knownObject struct {
	identity identity
	version  uint64 // the newest resourceVersion; 0 if it is not a number
}

// objectKey is the object's UUID in 16 bytes. For an object without a UUID, it is a hash of the uid or, without a uid,
// of the namespace and name.
type objectKey [16]byte

// identity is "uid namespace/name". The uid is empty if the object's key contains it as a UUID.
type identity string

// noUID stands for the uid of objects without one, which some extension servers have.
const noUID = "-"

func identify(o *object.Object) (objectKey, identity) {
	id := o.Namespace + "/" + o.Name
	if key, ok := parseUUID(o.UID); ok {
		return key, identity(" " + id)
	}
	var key objectKey
	h := fnv.New128a()
	uid, unique := o.UID, o.UID
	if uid == "" {
		uid, unique = noUID, id
	}
	_, _ = h.Write([]byte(unique)) // a hash never fails to write
	h.Sum(key[:0])
	return key, identity(uid + " " + id)
}

// deleted returns the object of a deletion event, which has only the identity.
func (key objectKey) deleted(id identity, res *resources.Resource, resourceVersion string) *object.Object {
	uid, path, _ := strings.Cut(string(id), " ")
	namespace, name, _ := strings.Cut(path, "/")
	switch uid {
	case "":
		uid = formatUUID(key)
	case noUID:
		uid = ""
	}
	return object.Stub(res.APIVersion(), res.Kind, namespace, name, uid, resourceVersion)
}

// parseUUID parses a UUID in lower case. It rejects strings that formatUUID cannot reproduce.
func parseUUID(text string) (key objectKey, ok bool) {
	if len(text) != 36 || text[8] != '-' || text[13] != '-' || text[18] != '-' || text[23] != '-' {
		return key, false
	}
	var digits [32]byte
	n := 0
	for i := range len(text) {
		switch c := text[i]; {
		case i == 8 || i == 13 || i == 18 || i == 23:
		case 'A' <= c && c <= 'F':
			return key, false
		default:
			digits[n] = c
			n++
		}
	}
	_, err := hex.Decode(key[:], digits[:])
	return key, err == nil
}

func formatUUID(key objectKey) string {
	digits := hex.EncodeToString(key[:])
	return digits[:8] + "-" + digits[8:12] + "-" + digits[12:16] + "-" + digits[16:20] + "-" + digits[20:]
}
