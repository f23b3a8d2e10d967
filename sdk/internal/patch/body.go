package patch

import (
	"encoding/json"
	"slices"
	"strconv"
)

// Body returns the JSON of a payload, byte for byte as [json.Marshal] writes it. What most patches consist of is
// written without reflection; everything else is left to [json.Marshal].
func Body(payload any) ([]byte, error) {
	return appendBody(make([]byte, 0, 1024), payload)
}

func appendBody(dst []byte, value any) ([]byte, error) {
	switch value := value.(type) {
	case nil:
		return append(dst, "null"...), nil
	case bool:
		return strconv.AppendBool(dst, value), nil
	case int:
		return strconv.AppendInt(dst, int64(value), 10), nil
	case int64:
		return strconv.AppendInt(dst, value, 10), nil
	case string:
		return appendText(dst, value)
	case map[string]any:
		return appendFields(dst, value)
	}
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	return append(dst, text...), nil
}

func appendFields(dst []byte, fields map[string]any) ([]byte, error) {
	if fields == nil {
		return append(dst, "null"...), nil
	}
	names := make([]string, 0, 8) // fits on the stack for most patches
	for name := range fields {
		names = append(names, name)
	}
	slices.Sort(names)
	dst = append(dst, '{')
	for i, name := range names {
		if i > 0 {
			dst = append(dst, ',')
		}
		var err error
		if dst, err = appendText(dst, name); err != nil {
			return nil, err
		}
		if dst, err = appendBody(append(dst, ':'), fields[name]); err != nil {
			return nil, err
		}
	}
	return append(dst, '}'), nil
}

// appendText appends a string in quotes. [json.Marshal] encodes strings with other characters than plain ASCII, and
// escapes some characters for HTML.
func appendText(dst []byte, text string) ([]byte, error) {
	start := len(dst)
	dst = append(dst, '"')
	for i := range len(text) {
		switch c := text[i]; {
		case c == '"', c == '\\':
			dst = append(dst, '\\', c)
		case c == '\n':
			dst = append(dst, '\\', 'n')
		case c < ' ', c >= 0x7f, c == '<', c == '>', c == '&':
			whole, err := json.Marshal(text)
			if err != nil {
				return nil, err
			}
			return append(dst[:start], whole...), nil
		default:
			dst = append(dst, c)
		}
	}
	return append(dst, '"'), nil
}
