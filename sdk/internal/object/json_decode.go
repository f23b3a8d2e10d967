package object

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// maxDepth is how deep values may be nested, so that no text exhausts the stack.
const maxDepth = 10000

// SyntaxError says where a text stops being JSON.
type SyntaxError struct {
	Offset  int    // the position in the text, in bytes
	Problem string // what is wrong there
}

// Error implements error.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("invalid JSON at byte %d: %s", e.Offset, e.Problem)
}

// Unmarshal decodes a text into a tree. Integers become int64, or [json.Number] if
// they have more than 64 bits; other numbers become float64. As in Python, NaN and
// the infinities are accepted, and of repeated keys the last one counts.
func DecodeJSON(text []byte) (any, error) {
	d := decoder{scanner: newScanner(text)}
	return d.only()
}

// UnmarshalStrict decodes a text into a tree as Go does, for texts that no operator has
// written. Other than with [Unmarshal], integers of more than 64 bits become float64; NaN, the
// infinities and numbers beyond all floats are errors; and whatever is no proper Unicode
// becomes U+FFFD.
func DecodeJSONStrict(text []byte) (any, error) {
	d := decoder{scanner: newScanner(text), strict: true}
	return d.only()
}

type decoder struct {
	scanner
	strict bool
}

// only decodes the value that is all of the text.
func (d *decoder) only() (any, error) {
	v, err := d.decode(0)
	if err != nil {
		return nil, err
	}
	if d.peek() != 0 || d.pos < len(d.text) {
		return nil, d.problem("more than one value")
	}
	return v, nil
}

func (d *decoder) problem(text string) error {
	return &SyntaxError{Offset: d.pos, Problem: text}
}

func (d *decoder) decode(depth int) (any, error) {
	if depth > maxDepth {
		return nil, d.problem("nested too deep")
	}
	switch c := d.peek(); c {
	case '{':
		return d.object(depth)
	case '[':
		return d.list(depth)
	case '"':
		return d.quotedText()
	case 0:
		return nil, d.problem("a value is missing")
	default:
		return d.word()
	}
}

func (d *decoder) object(depth int) (any, error) {
	d.pos++
	out := map[string]any{}
	if d.peek() == '}' {
		d.pos++
		return out, nil
	}
	for {
		if d.peek() != '"' {
			return nil, d.problem("a key is missing")
		}
		key, err := d.key()
		if err != nil {
			return nil, err
		}
		if d.peek() != ':' {
			return nil, d.problem("a colon is missing")
		}
		d.pos++
		if out[key], err = d.decode(depth + 1); err != nil {
			return nil, err
		}
		switch d.peek() {
		case ',':
			d.pos++
		case '}':
			d.pos++
			return out, nil
		default:
			return nil, d.problem("a comma or a closing brace is missing")
		}
	}
}

// usualList is the room for the items of a list, before it has to grow.
const usualList = 4

func (d *decoder) list(depth int) (any, error) {
	d.pos++
	if d.peek() == ']' {
		d.pos++
		return []any{}, nil
	}
	out := make([]any, 0, usualList)
	for {
		item, err := d.decode(depth + 1)
		if err != nil {
			return nil, err
		}
		out = append(out, item)
		switch d.peek() {
		case ',':
			d.pos++
		case ']':
			d.pos++
			return out, nil
		default:
			return nil, d.problem("a comma or a closing bracket is missing")
		}
	}
}

// usualKeys are keys that nearly all objects have: they need not be allocated anew.
var usualKeys = func() map[string]string {
	keys := make(map[string]string)
	for _, key := range []string{
		"apiVersion", "kind", "metadata", "spec", "status",
		"name", "generateName", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp",
		"deletionTimestamp", "deletionGracePeriodSeconds", "labels", "annotations", "finalizers", "ownerReferences",
		"controller", "blockOwnerDeletion", "type", "reason", "message", "lastTransitionTime", "conditions",
		"kopf.zalando.org/last-handled-configuration", "kubectl.kubernetes.io/last-applied-configuration",
	} {
		keys[key] = key
	}
	return keys
}()

func (d *decoder) key() (string, error) {
	if end := bytes.IndexByte(d.text[d.pos+1:], '"'); end >= 0 {
		if key, ok := usualKeys[string(d.text[d.pos+1:d.pos+1+end])]; ok {
			d.pos += end + 2
			return key, nil
		}
	}
	return d.quotedText()
}

func (d *decoder) quotedText() (string, error) {
	start := d.pos
	for i := start + 1; i < len(d.text); i++ {
		switch c := d.text[i]; {
		case c == '"':
			d.pos = i + 1
			return string(d.text[start+1 : i]), nil
		case c == '\\' || c >= utf8.RuneSelf:
			return d.escapedText(start)
		case c < ' ':
			return "", d.problem("a control character in a string")
		}
	}
	return "", d.problem("a string is not closed")
}

func (d *decoder) escapedText(start int) (string, error) {
	raw := d.string()
	if raw == nil {
		d.pos = start
		return "", d.problem("a string is not closed")
	}
	s, err := unquote(raw)
	if err != nil {
		d.pos = start
		return "", d.problem(err.Error())
	}
	if d.strict {
		// What stands for surrogates is no proper UTF-8 either.
		s = strings.ToValidUTF8(s, string(utf8.RuneError))
	}
	return s, nil
}

func (d *decoder) word() (any, error) {
	start := d.pos
	word := d.value()
	switch string(word) {
	case "null":
		return nil, nil
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	if v, ok := d.number(word); ok {
		return v, nil
	}
	d.pos = start
	return nil, d.problem("neither a value nor a number")
}

func (d *decoder) number(word []byte) (any, bool) {
	isInt, ok := checkNumber(string(word))
	if !ok {
		return d.beyondFloats(word)
	}
	if isInt {
		if i, err := strconv.ParseInt(string(word), 10, 64); err == nil {
			return i, true
		}
		if !d.strict {
			return json.Number(word), true
		}
	}
	f, err := strconv.ParseFloat(string(word), 64)
	// As in Python, what is beyond all floats is infinity.
	return f, err == nil || !d.strict && math.IsInf(f, 0)
}

// beyondFloats reads what only Python takes for numbers.
func (d *decoder) beyondFloats(word []byte) (any, bool) {
	if d.strict {
		return nil, false
	}
	switch string(word) {
	case "NaN":
		return math.NaN(), true
	case "Infinity":
		return math.Inf(1), true
	case "-Infinity":
		return math.Inf(-1), true
	}
	return nil, false
}

// checkNumber holds a word against the grammar of numbers, which is stricter than
// what Go parses as one.
func checkNumber(s string) (isInt, ok bool) {
	digits := func() bool {
		n := 0
		for n < len(s) && s[n] >= '0' && s[n] <= '9' {
			n++
		}
		s = s[n:]
		return n > 0
	}
	if s != "" && s[0] == '-' {
		s = s[1:]
	}
	if s != "" && s[0] == '0' {
		s = s[1:]
	} else if !digits() {
		return false, false
	}
	isInt = s == ""
	if s != "" && s[0] == '.' {
		s = s[1:]
		if !digits() {
			return false, false
		}
	}
	if s != "" && (s[0] == 'e' || s[0] == 'E') {
		s = s[1:]
		if s != "" && (s[0] == '+' || s[0] == '-') {
			s = s[1:]
		}
		if !digits() {
			return false, false
		}
	}
	return isInt, s == ""
}

// unquote decodes a string with its quotes.
func unquote(raw []byte) (string, error) {
	in := raw[1 : len(raw)-1]
	out := make([]byte, 0, len(in))
	for i := 0; i < len(in); {
		switch c := in[i]; {
		case c == '\\':
			decoded, size, err := unescape(in[i:])
			if err != nil {
				return "", err
			}
			out, i = appendRune(out, decoded), i+size
		case c < ' ':
			return "", errControl
		case c < utf8.RuneSelf:
			out, i = append(out, c), i+1
		default:
			_, size := utf8.DecodeRune(in[i:])
			if size == 1 {
				if _, ok := loneSurrogate(string(in[i:min(i+3, len(in))])); ok {
					size = 3
				}
			}
			out, i = append(out, in[i:i+size]...), i+size
		}
	}
	return string(out), nil
}

const (
	errControl = stringError("a control character in a string")
	errEscape  = stringError("an invalid escape in a string")
)

type stringError string

func (e stringError) Error() string { return string(e) }

// appendRune writes surrogates too, in the three bytes of their number.
func appendRune(out []byte, r rune) []byte {
	if utf16.IsSurrogate(r) {
		return append(out, 0xe0|byte(r>>12), 0x80|byte(r>>6)&0x3f, 0x80|byte(r)&0x3f)
	}
	return utf8.AppendRune(out, r)
}

// unescape decodes an escape sequence and tells how many bytes it has.
func unescape(in []byte) (rune, int, error) {
	if len(in) < 2 {
		return 0, 0, errEscape
	}
	switch in[1] {
	case '"', '\\', '/':
		return rune(in[1]), 2, nil
	case 'b':
		return '\b', 2, nil
	case 'f':
		return '\f', 2, nil
	case 'n':
		return '\n', 2, nil
	case 'r':
		return '\r', 2, nil
	case 't':
		return '\t', 2, nil
	case 'u':
		unit, ok := unitOf(in)
		if !ok {
			return 0, 0, errEscape
		}
		if second, ok := unitOf(in[6:]); ok {
			if r := utf16.DecodeRune(unit, second); r != utf8.RuneError {
				return r, 12, nil
			}
		}
		return unit, 6, nil
	}
	return 0, 0, errEscape
}

// unitOf reads a UTF-16 unit in the form of \uXXXX.
func unitOf(in []byte) (rune, bool) {
	if len(in) < 6 || in[0] != '\\' || in[1] != 'u' {
		return 0, false
	}
	unit, err := strconv.ParseUint(string(in[2:6]), 16, 16)
	return rune(unit), err == nil
}
