package children

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strconv"
	"sync"

	"github.com/kopf-dev/kopf/sdk/internal/object"
)

// hashForm is the version of the canonical form. Without it, a release with another form would treat each old hash as a change.
const hashForm = "1:"

// Hash returns the hash of a canonical tree for the annotation of a child: "1:" and 16 hexadecimal digits.
func Hash(tree map[string]any) (string, error) {
	sum, err := hash(tree)
	if err != nil {
		return "", err
	}
	return hashForm + hex(sum), nil
}

// buffers has reusable buffers for the JSON of trees. Their size suffices for most trees.
var buffers = sync.Pool{New: func() any { return new([1024]byte) }}

func hex(sum uint64) string { return fmt.Sprintf("%016x", sum) }

// hash returns the first 64 bits of the SHA-256 of a tree's JSON, whose keys are sorted.
func hash(tree any) (uint64, error) {
	buffer := buffers.Get().(*[1024]byte)
	defer buffers.Put(buffer)
	text, err := object.AppendJSON(buffer[:0], tree, nil)
	if err != nil {
		return 0, fmt.Errorf("hash: %w", err)
	}
	sum := sha256.Sum256(text)
	return binary.BigEndian.Uint64(sum[:8]), nil
}

// HashText returns the annotation of a hash, and so reverses [ParseHash]; empty for 0.
func HashText(sum uint64) string {
	if sum == 0 {
		return ""
	}
	return hashForm + hex(sum)
}

// ParseHash returns the 64 bits of an annotation that [Hash] has made. It returns 0 for an annotation of another form, so that the
// operator applies the child again.
func ParseHash(text string) uint64 {
	if len(text) != len(hashForm)+16 || text[:len(hashForm)] != hashForm {
		return 0
	}
	sum, err := strconv.ParseUint(text[len(hashForm):], 16, 64)
	if err != nil {
		return 0
	}
	return sum
}
