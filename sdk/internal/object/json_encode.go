package object

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// AppendJSON appends the compact JSON of a tree, as Python writes it.
//
// The order is a JSON text of the same structure, or nil. It provides the order of keys, and
// the digits of integers that a float cannot represent. Keys that it lacks come last, sorted.
// It must not repeat a key within an object.
func AppendJSON(dst []byte, v any, order []byte) ([]byte, error) {
	switch v := v.(type) {
	case nil:
		return append(dst, "null"...), nil
	case bool:
		return strconv.AppendBool(dst, v), nil
	case string:
		return AppendString(dst, v), nil
	case int64:
		return strconv.AppendInt(dst, v, 10), nil
	case int:
		return strconv.AppendInt(dst, int64(v), 10), nil
	case float64:
		return appendNumber(dst, v, order), nil
	case json.Number:
		return appendJSONNumber(dst, v)
	case map[string]any:
		return appendMap(dst, v, order)
	case []any:
		return appendList(dst, v, order)
	}
	normal, err := Normalize(v)
	if err != nil {
		return nil, fmt.Errorf("write JSON: %w", err)
	}
	return AppendJSON(dst, normal, order)
}

func appendMap(dst []byte, m map[string]any, order []byte) ([]byte, error) {
	dst = append(dst, '{')
	start, written := len(dst), 0
	var err error
	for key, hint := range Members(order) {
		if written == len(m) {
			break
		}
		v, ok := m[key]
		if !ok {
			continue
		}
		dst = appendKey(dst, key, start)
		if dst, err = AppendJSON(dst, v, hint); err != nil {
			return nil, err
		}
		written++
	}
	if written < len(m) {
		if dst, err = appendUnordered(dst, m, order, start); err != nil {
			return nil, err
		}
	}
	return append(dst, '}'), nil
}

// appendUnordered appends the members that the order lacks.
func appendUnordered(dst []byte, m map[string]any, order []byte, start int) ([]byte, error) {
	var known map[string]bool
	if len(order) > 0 {
		known = make(map[string]bool)
		for key := range Members(order) {
			known[key] = true
		}
	}
	var err error
	for _, key := range SortedKeys(m) {
		if known[key] {
			continue
		}
		dst = appendKey(dst, key, start)
		if dst, err = AppendJSON(dst, m[key], nil); err != nil {
			return nil, err
		}
	}
	return dst, nil
}

func appendKey(dst []byte, key string, start int) []byte {
	if len(dst) > start {
		dst = append(dst, ',')
	}
	dst = AppendString(dst, key)
	return append(dst, ':')
}

func appendList(dst []byte, list []any, order []byte) ([]byte, error) {
	dst = append(dst, '[')
	hints := scanner{text: order}
	more := hints.enter('[', ']')
	var err error
	for i, item := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		var hint []byte
		if more {
			hint = hints.value()
			more = hints.after(']')
		}
		if dst, err = AppendJSON(dst, item, hint); err != nil {
			return nil, err
		}
	}
	return append(dst, ']'), nil
}

// appendNumber appends a float, or the integer in the order that it was decoded from: decoders
// turn integers that exceed 64 bits into floats.
func appendNumber(dst []byte, f float64, order []byte) []byte {
	if len(order) >= len("9223372036854775808") && isInteger(string(order)) {
		exact, errFloat := strconv.ParseFloat(string(order), 64)
		_, errInt := strconv.ParseInt(string(order), 10, 64)
		if errFloat == nil && errInt != nil && exact == f {
			return append(dst, order...)
		}
	}
	return appendFloat(dst, f)
}

func appendJSONNumber(dst []byte, n json.Number) ([]byte, error) {
	if isInteger(string(n)) {
		return append(dst, n...), nil
	}
	f, err := n.Float64()
	if err != nil && !math.IsInf(f, 0) {
		return nil, fmt.Errorf("write JSON: number %q: %w", string(n), err)
	}
	return appendFloat(dst, f), nil
}

func isInteger(s string) bool {
	digits := strings.TrimPrefix(s, "-")
	for i := range len(digits) {
		if digits[i] < '0' || digits[i] > '9' {
			return false
		}
	}
	return digits != ""
}

// appendFloat appends a float as Python writes it: with the fewest digits that identify it,
// and with an exponent from 1e16 on and below 1e-4.
func appendFloat(dst []byte, f float64) []byte {
	switch {
	case math.IsNaN(f):
		return append(dst, "NaN"...)
	case math.IsInf(f, 1):
		return append(dst, "Infinity"...)
	case math.IsInf(f, -1):
		return append(dst, "-Infinity"...)
	}
	if size := math.Abs(f); f == 0 || size >= 1e-4 && size < 1e16 {
		start := len(dst)
		dst = strconv.AppendFloat(dst, f, 'f', -1, 64)
		if !slices.Contains(dst[start:], '.') {
			dst = append(dst, ".0"...)
		}
		return dst
	}
	return strconv.AppendFloat(dst, f, 'e', -1, 64) // Go's exponent has two digits too
}
