package object

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
)

// errTooDeep is the error of a tree that is nested too deep, or that contains itself.
var errTooDeep = errors.New("nested too deep")

// CheckTree returns an error if JSON cannot express a tree: if it has NaN or an infinity, if it is
// nested too deep, or if it contains itself. Values of other types than a tree's are not checked.
func CheckTree(v any) error { return checkTree(v, 0) }

func checkTree(v any, depth int) error {
	if depth > maxDepth {
		return errTooDeep
	}
	switch v := v.(type) {
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("JSON has no number %v", v)
		}
	case json.Number:
		if _, ok := checkNumber(string(v)); !ok {
			return fmt.Errorf("%q is no number", string(v))
		}
	case map[string]any:
		for _, item := range v {
			if err := checkTree(item, depth+1); err != nil {
				return err
			}
		}
	case []any:
		for _, item := range v {
			if err := checkTree(item, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}
