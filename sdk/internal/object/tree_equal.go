package object

import (
	"encoding/json"
	"math"
	"math/big"
	"strconv"
	"strings"
)

// Equal reports whether two trees are equal in Python: numbers are compared by value
// regardless of their type, and true equals 1.
//
// An integer that exceeds 64 bits equals the nearest float, since most decoders turn it into
// that.
func Equal(a, b any) bool {
	switch a := a.(type) {
	case nil:
		return b == nil
	case string:
		b, ok := b.(string)
		return ok && a == b
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && equalMaps(a, b)
	case []any:
		b, ok := b.([]any)
		return ok && equalLists(a, b)
	}
	x, ok := toNumber(a)
	if !ok {
		return false
	}
	y, ok := toNumber(b)
	return ok && equalNumbers(x, y)
}

func equalMaps(a, b map[string]any) bool {
	if len(a) != len(b) {
		return false
	}
	for k, x := range a {
		y, ok := b[k]
		if !ok || !Equal(x, y) {
			return false
		}
	}
	return true
}

func equalLists(a, b []any) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !Equal(a[i], b[i]) {
			return false
		}
	}
	return true
}

// number is an integer of 64 bits, a float, or a bigger integer.
type number struct {
	isInt, isFloat bool
	i              int64
	f              float64
	big            json.Number
}

// toNumber converts values that are numbers in Python, including booleans.
func toNumber(v any) (number, bool) {
	switch v := v.(type) {
	case bool:
		if v {
			return number{isInt: true, i: 1}, true
		}
		return number{isInt: true}, true
	case int64:
		return number{isInt: true, i: v}, true
	case float64:
		return number{isFloat: true, f: v}, true
	case int:
		return number{isInt: true, i: int64(v)}, true
	case json.Number:
		return parseNumber(v)
	default:
		return number{}, false
	}
}

func parseNumber(n json.Number) (number, bool) {
	if i, err := strconv.ParseInt(string(n), 10, 64); err == nil {
		return number{isInt: true, i: i}, true
	}
	if strings.ContainsAny(string(n), ".eE") {
		f, err := strconv.ParseFloat(string(n), 64)
		return number{isFloat: true, f: f}, err == nil || math.IsInf(f, 0)
	}
	return number{big: n}, n != ""
}

func equalNumbers(a, b number) bool {
	switch {
	case a.isInt && b.isInt:
		return a.i == b.i
	case a.isFloat && b.isFloat:
		return a.f == b.f
	case a.isInt && b.isFloat:
		return equalIntFloat(a.i, b.f)
	case a.isFloat && b.isInt:
		return equalIntFloat(b.i, a.f)
	case a.isFloat:
		return equalBigFloat(b.big, a.f)
	case b.isFloat:
		return equalBigFloat(a.big, b.f)
	case a.isInt != b.isInt:
		return false // one fits 64 bits, the other does not
	}
	return equalBig(a.big, b.big)
}

// equalIntFloat is exact: 2^53+1 differs from the float 2^53.
func equalIntFloat(i int64, f float64) bool {
	if f != math.Trunc(f) || f < -(1<<63) || f >= 1<<63 {
		return false
	}
	return int64(f) == i
}

func equalBigFloat(n json.Number, f float64) bool {
	near, err := strconv.ParseFloat(string(n), 64)
	return err == nil && near == f
}

func equalBig(a, b json.Number) bool {
	if a == b {
		return true
	}
	x, okX := new(big.Int).SetString(string(a), 10)
	y, okY := new(big.Int).SetString(string(b), 10)
	return okX && okY && x.Cmp(y) == 0
}
