package object

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Marshal returns the compact text of a tree.
//
// The order is a JSON text of the same structure, or nil: it tells the order of the
// keys, and the digits of integers that a float could not keep. Keys that it does not
// have come last, sorted. It must not repeat a key within an object.
func EncodeJSON(v any, order []byte) ([]byte, error) {
	return AppendJSON(make([]byte, 0, len(order)/2+64), v, order)
}

// Append is [Marshal] that appends to a text.
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
		return nil, fmt.Errorf("writing JSON: %w", err)
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

// appendUnordered writes the members that the order does not have.
func appendUnordered(dst []byte, m map[string]any, order []byte, start int) ([]byte, error) {
	known := make(map[string]bool)
	for key := range Members(order) {
		known[key] = true
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
	hints := newScanner(order)
	hints.enter('[')
	var err error
	for i, item := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		if dst, err = AppendJSON(dst, item, hints.item()); err != nil {
			return nil, err
		}
	}
	return append(dst, ']'), nil
}

// AppendString appends the text of a string in quotes.
func AppendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	plain := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c < 0x7f && c != '"' && c != '\\' {
			i++
			continue
		}
		dst = append(dst, s[plain:i]...)
		var size int
		dst, size = appendEscaped(dst, s[i:])
		i += size
		plain = i
	}
	dst = append(dst, s[plain:]...)
	return append(dst, '"')
}

// appendEscaped escapes the first character and tells how many bytes it has.
func appendEscaped(dst []byte, s string) ([]byte, int) {
	switch c := s[0]; c {
	case '"', '\\':
		return append(dst, '\\', c), 1
	case '\n':
		return append(dst, `\n`...), 1
	case '\r':
		return append(dst, `\r`...), 1
	case '\t':
		return append(dst, `\t`...), 1
	case '\b':
		return append(dst, `\b`...), 1
	case '\f':
		return append(dst, `\f`...), 1
	}
	r, size := utf8.DecodeRuneInString(s)
	if r == utf8.RuneError && size == 1 {
		if lone, ok := loneSurrogate(s); ok {
			return appendUnit(dst, lone), 3
		}
	}
	if r >= 0x10000 {
		r -= 0x10000
		dst = appendUnit(dst, 0xd800+r>>10)
		return appendUnit(dst, 0xdc00+r&0x3ff), size
	}
	return appendUnit(dst, r), size
}

func appendUnit(dst []byte, unit rune) []byte {
	const hex = "0123456789abcdef"
	return append(dst, '\\', 'u', hex[unit>>12&15], hex[unit>>8&15], hex[unit>>4&15], hex[unit&15])
}

// loneSurrogate reads the three bytes that stand for a surrogate without its half.
func loneSurrogate(s string) (rune, bool) {
	if len(s) < 3 || s[0] != 0xed || s[1] < 0xa0 || s[1] > 0xbf || s[2]&0xc0 != 0x80 {
		return 0, false
	}
	return 0xd000 | rune(s[1]&0x3f)<<6 | rune(s[2]&0x3f), true
}

// appendNumber writes a float, or the integer that it was made of if the order has
// one: 64-bit decoders turn integers that are too big for them into floats.
func appendNumber(dst []byte, f float64, order []byte) []byte {
	if len(order) >= len("9223372036854775808") && isInteger(string(order)) {
		exact, errFloat := strconv.ParseFloat(string(order), 64)
		_, errInt := strconv.ParseInt(string(order), 10, 64)
		if errFloat == nil && errInt != nil && exact == f {
			return append(dst, order...)
		}
	}
	return AppendFloat(dst, f)
}

func appendJSONNumber(dst []byte, n json.Number) ([]byte, error) {
	if isInteger(string(n)) {
		return append(dst, n...), nil
	}
	f, err := n.Float64()
	if err != nil && !math.IsInf(f, 0) {
		return nil, fmt.Errorf("writing JSON: %q is no number: %w", string(n), err)
	}
	return AppendFloat(dst, f), nil
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

// AppendFloat appends a float as Python shows it: as few digits as tell it from all
// others, with an exponent from 1e16 on and below 1e-4.
func AppendFloat(dst []byte, f float64) []byte {
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
