package object

import (
	"bytes"
	"errors"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

var (
	errControl = errors.New("a control character in a string")
	errEscape  = errors.New("an invalid escape in a string")
)

// textOf returns the content of a string, without copying it if it has no escapes. It is
// empty for null and for values of other types.
func textOf(value []byte) []byte {
	if len(value) < 2 || value[0] != '"' {
		return []byte{}
	}
	inner := value[1 : len(value)-1]
	if bytes.IndexByte(inner, '\\') >= 0 {
		if decoded, err := unescape(inner); err == nil {
			return decoded
		}
	}
	return inner
}

// keyText returns the key for the bytes between its quotes.
func keyText(inner []byte) string {
	if key, ok := usualKeys[string(inner)]; ok {
		return key
	}
	if bytes.IndexByte(inner, '\\') >= 0 {
		if decoded, err := unescape(inner); err == nil {
			return string(decoded)
		}
	}
	return string(inner)
}

// unescape decodes the bytes between the quotes of a string.
func unescape(in []byte) ([]byte, error) {
	out := make([]byte, 0, len(in))
	for i := 0; i < len(in); {
		switch c := in[i]; {
		case c == '\\':
			decoded, size, err := unescapeOne(in[i:])
			if err != nil {
				return nil, err
			}
			out, i = appendRune(out, decoded), i+size
		case c < ' ':
			return nil, errControl
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
	return out, nil
}

// appendRune appends a character; a surrogate as the three bytes of its number.
func appendRune(out []byte, r rune) []byte {
	if utf16.IsSurrogate(r) {
		return append(out, 0xe0|byte(r>>12), 0x80|byte(r>>6)&0x3f, 0x80|byte(r)&0x3f)
	}
	return utf8.AppendRune(out, r)
}

// unescapeOne decodes an escape sequence and returns its length in bytes.
func unescapeOne(in []byte) (rune, int, error) {
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

// unitOf decodes a UTF-16 unit of the form \uXXXX.
func unitOf(in []byte) (rune, bool) {
	if len(in) < 6 || in[0] != '\\' || in[1] != 'u' {
		return 0, false
	}
	unit, err := strconv.ParseUint(string(in[2:6]), 16, 16)
	return rune(unit), err == nil
}

// AppendString appends a string in quotes, escaped as by Python.
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

// appendEscaped escapes the first character, and returns its length in bytes.
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

// loneSurrogate decodes the three bytes that stand for a surrogate without its other half.
func loneSurrogate(s string) (rune, bool) {
	if len(s) < 3 || s[0] != 0xed || s[1] < 0xa0 || s[1] > 0xbf || s[2]&0xc0 != 0x80 {
		return 0, false
	}
	return 0xd000 | rune(s[1]&0x3f)<<6 | rune(s[2]&0x3f), true
}
