package object

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	kjson "sigs.k8s.io/json"
)

func TestDecodeJSON_KeepsBigIntegersAndLoneSurrogates(t *testing.T) {
	text := "{\"i\":-9223372036854775808,\"big\":9223372036854775808,\"f\":1.0,\"e\":1e3,\"inf\":1e999,\"s\":\"\\ud83d\\ude00\\ud800x\\/\\u00e9é\",\"l\":[ ],\"m\":{ },\"n\":null,\"t\":true,\"d\":1,\"d\":2}\n"
	want := map[string]any{
		"i": int64(math.MinInt64), "big": json.Number("9223372036854775808"), "f": 1.0, "e": 1000.0, "inf": math.Inf(1),
		"s": "😀\xed\xa0\x80x/éé", "l": []any{}, "m": map[string]any{}, "n": nil, "t": true, "d": int64(2),
	}
	got, err := DecodeJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(any(want), got); diff != "" {
		t.Error(diff)
	}
	again, err := AppendJSON(nil, got, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if back, err := DecodeJSON(again); err != nil || !cmp.Equal(back, got) {
		t.Errorf("not the same after a round trip: %s, %v", again, err)
	}
}

func TestDecodeJSON_SyntaxErrorsHaveAnOffset(t *testing.T) {
	for _, text := range []string{
		"", " ", "{", "[", "[1", "[1,", "[1,]", "{}x", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{a:1}", "01", "-", "1.", ".5", "1e", "+1", "1_0", "0x1",
		"tru", "\"", "\"\\\"", "\"a\nb\"", `"\q"`, "\"\\u12\"", "\"é", "\"\\u00e9\n\"", "nul", "[1 2]", "\"a\" \"b\"", "]",
	} {
		v, err := DecodeJSON([]byte(text))
		if syntax, ok := errors.AsType[*syntaxError](err); !ok || syntax.offset > len(text) {
			t.Errorf("%q: %v, %v", text, v, err)
		}
	}
	deep := make([]byte, 2*maxDepth)
	for i := range deep {
		deep[i] = '['
	}
	if _, err := DecodeJSON(deep); err == nil {
		t.Error("a bottomless text was decoded")
	}
}

func TestDecodeStrict_AsGo(t *testing.T) {
	for _, text := range []string{
		`{"a":[1,-0,0.5,1e3,12345678901234567890,-9223372036854775808,9007199254740993],"a b":{},"l":[],"n":null,"t":true,"f":false}`,
		`{"metadata":{"name":"x","labels":{"a/b":"\u00e9é\n\/\""},"annotations":{"":""}},"spec":{"name":{"spec":[[1,2,3,4,5],[]]}},"d":1,"d":2}`,
		`["\ud83d\ude00","a\ud800b","\ufffd","é😀"]`, "\"a\xffb\"", ` "x" `, "null", "1", "-0.0", "1E+2",
	} {
		var want any
		if err := kjson.UnmarshalCaseSensitivePreserveInts([]byte(text), &want); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		got, err := decodeStrict([]byte(text))
		if err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
	}
	for _, text := range []string{"NaN", "[Infinity]", "-Infinity", "1e999", "01", `{"a":1}}`, `"\q"`, "\"\n\"", ""} {
		if v, err := decodeStrict([]byte(text)); err == nil {
			t.Errorf("%q is decoded as %v", text, v)
		}
	}
}

func FuzzDecodeStrict(f *testing.F) {
	f.Add(`{"a":[1,2.5,"\ud83d\ude00é",null,true],"name":{"c":12345678901234567890}}`)
	f.Add(`{"kind":"\u00e9","kind":{"kind":[]}}`)
	f.Fuzz(func(t *testing.T, text string) {
		got, err := decodeStrict([]byte(text))
		var want any
		wantErr := kjson.UnmarshalCaseSensitivePreserveInts([]byte(text), &want)
		if (err == nil) != (wantErr == nil) {
			t.Fatalf("%q: %v instead of %v", text, err, wantErr)
		}
		// How many replacements stand for several bytes in a row that are no text is all the same.
		if err == nil && utf8.ValidString(text) && !strings.Contains(text, `\`) {
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("%q: %s", text, diff)
			}
		}
	})
}

func BenchmarkDecodeJSON(b *testing.B) {
	text := []byte(`{"spec":{"size":"10Gi","ttl":3600,"template":{"labels":{"app":"x","tier":"gold"},"ports":[80,443],"ratio":1.5}},"metadata":{"labels":{"app":"x"},"annotations":{"a.example.com/b":"c"}}}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := DecodeJSON(text); err != nil {
			b.Fatal(err)
		}
	}
}
