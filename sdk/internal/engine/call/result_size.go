package call

import (
	"encoding/json"
	"fmt"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
)

// maxObjectSize is how many bytes of an object etcd accepts by default.
const maxObjectSize = 3 << 19

// checkResult returns a permanent error for a result that makes an object of some size too large. It
// would be rejected with everything else that is stored together with it, however often it is repeated.
func checkResult(size int, result any) error {
	if size+maxLength(result) <= maxObjectSize {
		return nil // as nearly always
	}
	text, err := json.Marshal(result)
	if err != nil || size+len(text) <= maxObjectSize {
		return err
	}
	return handlers.AsPermanent(fmt.Errorf("the result has %d bytes of JSON, and the object has %d; they must not exceed %d together: "+
		"store the result elsewhere, and leave a reference to it", len(text), size, maxObjectSize))
}

// maxLength returns a bound for the length of a tree's JSON, which is quicker than encoding it.
func maxLength(tree any) int {
	const (
		escaped = 6  // bytes of a character, such as \u003c
		scalar  = 32 // at least as long as numbers are
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
