package call

import (
	"encoding/json"
	"fmt"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
)

// maxObjectSize is etcd's default limit for the size of an object, in bytes.
const maxObjectSize = 3 << 19

// checkResult returns a permanent error for a result that makes an object of this size too large. The API server would
// reject each patch with the result, and with it all other changes in the patch.
func checkResult(size int, result any) error {
	if size+maxLength(result) <= maxObjectSize {
		return nil // the usual case
	}
	text, err := json.Marshal(result)
	if err != nil || size+len(text) <= maxObjectSize {
		return err
	}
	return handlers.AsPermanent(fmt.Errorf("the result has %d bytes of JSON, and the object has %d; they must not exceed %d together: "+
		"store the result elsewhere, and leave a reference to it", len(text), size, maxObjectSize))
}

// maxLength returns an upper bound for the JSON length of a tree, which is faster than encoding the tree.
func maxLength(tree any) int {
	const (
		escaped = 6  // bytes of an escaped character, such as \u003c
		scalar  = 32 // upper bound for numbers, booleans and null
	)
	switch v := tree.(type) {
	case string:
		return 2 + escaped*len(v)
	case json.Number:
		return len(v)
	case map[string]any:
		sum := 2
		for key, value := range v {
			sum += 4 + escaped*len(key) + maxLength(value)
		}
		return sum
	case []any:
		sum := 2
		for _, item := range v {
			sum += 1 + maxLength(item)
		}
		return sum
	default:
		return scalar
	}
}
