package patch

import (
	"bytes"
	"encoding/json"
	"math"
	"testing"
	"time"
)

func TestBody_IsThatOfEncodingJSON(t *testing.T) {
	type own struct {
		Name string `json:"name,omitempty"`
	}
	for name, payload := range map[string]any{
		"nothing":       nil,
		"no fields":     map[string]any{},
		"a nil map":     map[string]any(nil),
		"sorted fields": map[string]any{"b": 1, "a": map[string]any{"d": nil, "c": true}, "": "x"},
		"many fields":   map[string]any{"j": 0, "i": 0, "h": 0, "g": 0, "f": 0, "e": 0, "d": 0, "c": 0, "b": 0, "a": 0},
		"numbers":       []any{1, int64(-1), int64(math.MaxInt64), uint8(3), 1.0, 0.1, 1e21, 1e-7, math.Copysign(0, -1), float32(0.1), json.Number("1.50")},
		"floats":        map[string]any{"whole": 1.0, "big": 1e21, "small": 1e-7, "huge": math.MaxFloat64},
		"texts":         map[string]any{"json": "{\"a\":\"\\\"\"}\n", "controls": "\x00\t\r\b\f\x1f\x7f", "html": "<a&b>", "unicode": "é\u2028😀"},
		"keys":          map[string]any{"kopf.zalando.org/a": "", "\"": "", "\n": "", "<": "", "é": "", "\xff": ""},
		"broken text":   "\xff\xed\xa0\x80",
		"other types":   map[string]any{"struct": own{"x"}, "pointer": &own{}, "time": time.Unix(0, 0).UTC(), "map": map[string]string{"a": "b"}, "list": []string{"<"}},
		"operations":    []Op{{Op: opTest, Path: "/a~1b", Value: "x"}, {Op: "remove", Path: "/b"}},
		"raw":           json.RawMessage(`{"b": 1}`),
	} {
		want, wantErr := json.Marshal(payload)
		got, err := Body(payload)
		if err != nil || wantErr != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %s, %v instead of %s, %v", name, got, err, want, wantErr)
		}
	}
}

func TestBody_RejectsWhatJSONCannotHold(t *testing.T) {
	for name, payload := range map[string]any{
		"not a number": map[string]any{"a": map[string]any{"b": math.NaN()}},
		"a channel":    map[string]any{"a": []any{make(chan int)}},
	} {
		_, wantErr := json.Marshal(payload)
		if body, err := Body(payload); err == nil || err.Error() != wantErr.Error() || body != nil {
			t.Errorf("%s: %q, %v instead of %v", name, body, err, wantErr)
		}
	}
}

// FuzzBody_Texts compares the texts with the output of encoding/json.
func FuzzBody_Texts(f *testing.F) {
	for _, text := range []string{"", "{\"a\":1}\n", "\\", "<&>", "\x7f\x80", "é\u2029"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		payload := map[string]any{text: text}
		want, err := json.Marshal(payload)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := Body(payload); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s, %v instead of %s", got, err, want)
		}
	})
}
