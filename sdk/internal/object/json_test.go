package object

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	kjson "sigs.k8s.io/json"
)

func TestFloatsLookAsInPython(t *testing.T) {
	for want, f := range map[string]float64{
		"1.0": 1, "0.0": 0, "-0.0": math.Copysign(0, -1), "0.1": 0.1, "1.5": 1.5, "-2.5": -2.5,
		"1e-07": 1e-7, "0.0001": 1e-4, "1e-05": 1e-5, "1.5e-05": 1.5e-5,
		"1e+16": 1e16, "9999999999999998.0": 9999999999999998, "1e+21": 1e21, "1.2345678901234567e+19": 12345678901234567890,
		"123456789012345.6": 123456789012345.6, "1.7976931348623157e+308": math.MaxFloat64, "5e-324": 5e-324,
		"NaN": math.NaN(), "Infinity": math.Inf(1), "-Infinity": math.Inf(-1),
	} {
		if got := string(AppendFloat(nil, f)); got != want {
			t.Errorf("%v is %s, not %s", f, got, want)
		}
	}
}

func TestAllButPrintableASCIIIsEscaped(t *testing.T) {
	in := "aé☃😀\u007f\u0000\"\\\n\r\t\b\f\u2028<>&/ \xed\xa0\x80\xff"
	want := `"a\u00e9\u2603\ud83d\ude00\u007f\u0000\"\\\n\r\t\b\f\u2028<>&/ \ud800\ufffd"`
	if got := string(AppendString(nil, in)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestKeysKeepTheOrderOfArrivalAndOthersFollowSorted(t *testing.T) {
	order := []byte(` { "z" : {"b":1,"a":2} , "q\u0041": [ {"y":1,"x":2}, 3 ], "gone": {"k":"}"}, "n": 18446744073709551616, "\"": 1 } `)
	v := map[string]any{
		"z": map[string]any{"a": int64(2), "b": int64(1), "c": nil}, "qA": []any{map[string]any{"x": true, "y": 1.0}, int64(3), "more"},
		"n": 18446744073709551616.0, "\"": "v", "new": map[string]any{"q": int64(1), "p": 5}, "empty": map[string]any{}, "list": []any{},
	}
	want := `{"z":{"b":1,"a":2,"c":null},"qA":[{"y":1.0,"x":true},3,"more"],"n":18446744073709551616,"\"":"v","empty":{},"list":[],"new":{"p":5,"q":1}}`
	got, err := EncodeJSON(v, order)
	if err != nil || string(got) != want {
		t.Errorf("got  %s, %v\nwant %s", got, err, want)
	}
}

func TestAnOrderThatDoesNotFitIsOnlyAHint(t *testing.T) {
	v := map[string]any{"a": []any{int64(1)}, "b": map[string]any{"c": 1.5}}
	want := `{"a":[1],"b":{"c":1.5}}`
	for _, order := range []string{"", "null", "[1,2]", `"`, `{`, `{"a"`, `{"a":{"x":1},"b":[`, `{"b":1e5`, `{"a":[`} {
		got, err := EncodeJSON(v, []byte(order))
		var back any
		if err == nil {
			back, err = DecodeJSON(got)
		}
		if err != nil || !cmp.Equal(back, any(v)) {
			t.Errorf("with %q: %s, %v; want %s", order, got, err, want)
		}
	}
}

func TestValuesOfGoTypesAreWrittenAsTheirJSON(t *testing.T) {
	type small struct {
		N int `json:"n"`
	}
	got, err := EncodeJSON(map[string]any{"s": small{N: 1}, "l": []string{"é"}, "j": json.Number("1e2")}, nil)
	if err != nil || string(got) != `{"j":100.0,"l":["\u00e9"],"s":{"n":1}}` {
		t.Errorf("got %s, %v", got, err)
	}
	if _, err := EncodeJSON(map[string]any{"c": make(chan int)}, nil); err == nil {
		t.Error("a channel was written")
	}
	if _, err := EncodeJSON(json.Number("x"), nil); err == nil {
		t.Error("a number that is none was written")
	}
}

func TestDecodingKeepsIntegersOfAnySizeAndLoneSurrogates(t *testing.T) {
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
	again, err := EncodeJSON(got, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if back, err := DecodeJSON(again); err != nil || !cmp.Equal(back, got) {
		t.Errorf("not the same after a round trip: %s, %v", again, err)
	}
}

func TestBrokenTextsAreRefusedWithTheirPosition(t *testing.T) {
	for _, text := range []string{
		"", " ", "{", "[", "[1", "[1,", "[1,]", "{}x", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{a:1}", "01", "-", "1.", ".5", "1e", "+1", "1_0", "0x1",
		"tru", "\"", "\"\\\"", "\"a\nb\"", `"\q"`, "\"\\u12\"", "\"é", "\"\\u00e9\n\"", "nul", "[1 2]", "\"a\" \"b\"", "]",
	} {
		v, err := DecodeJSON([]byte(text))
		if syntax, ok := errors.AsType[*SyntaxError](err); !ok || syntax.Offset > len(text) {
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

func TestStrictDecodingIsThatOfGo(t *testing.T) {
	for _, text := range []string{
		`{"a":[1,-0,0.5,1e3,12345678901234567890,-9223372036854775808,9007199254740993],"a b":{},"l":[],"n":null,"t":true,"f":false}`,
		`{"metadata":{"name":"x","labels":{"a/b":"\u00e9é\n\/\""},"annotations":{"":""}},"spec":{"name":{"spec":[[1,2,3,4,5],[]]}},"d":1,"d":2}`,
		`["\ud83d\ude00","a\ud800b","\ufffd","é😀"]`, "\"a\xffb\"", ` "x" `, "null", "1", "-0.0", "1E+2",
	} {
		var want any
		if err := kjson.UnmarshalCaseSensitivePreserveInts([]byte(text), &want); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		got, err := DecodeJSONStrict([]byte(text))
		if err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
	}
	for _, text := range []string{"NaN", "[Infinity]", "-Infinity", "1e999", "01", `{"a":1}}`, `"\q"`, "\"\n\"", ""} {
		if v, err := DecodeJSONStrict([]byte(text)); err == nil {
			t.Errorf("%q is decoded as %v", text, v)
		}
	}
}

func FuzzStrictDecoding(f *testing.F) {
	f.Add(`{"a":[1,2.5,"\ud83d\ude00é",null,true],"name":{"c":12345678901234567890}}`)
	f.Add(`{"kind":"\u00e9","kind":{"kind":[]}}`)
	f.Fuzz(func(t *testing.T, text string) {
		got, err := DecodeJSONStrict([]byte(text))
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

func TestTimesAreWrittenInUTCToTheMicrosecond(t *testing.T) {
	at := time.Date(2021, 1, 1, 1, 59, 59, 123456789, time.FixedZone("", 2*3600))
	if got := FormatTime(at); got != "2020-12-31T23:59:59.123456+00:00" {
		t.Error(got)
	}
	if got := FormatTime(time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC)); got != "2020-01-02T03:04:05.000000+00:00" {
		t.Error(got)
	}
}

func TestTimesOfAllKindsOfOperatorsAreRead(t *testing.T) {
	want := time.Date(2020, 12, 31, 23, 59, 59, 123456000, time.UTC)
	for _, s := range []string{
		"2020-12-31T23:59:59.123456+00:00", "2020-12-31T23:59:59.123456Z", "2020-12-31T23:59:59.123456", "2021-01-01T01:59:59.123456+02:00",
		"2020-12-31T23:59:59,123456+0000", "2020-12-31 23:59:59.123456", "2020-12-31 23:59:59.123456+00:00", "2021-01-01T00:59:59.123456+01",
	} {
		if got, err := ParseTime(s); err != nil || !got.Equal(want) {
			t.Errorf("%s: %v, %v", s, got, err)
		}
	}
	if _, err := ParseTime("yesterday"); err == nil {
		t.Error("yesterday is no time")
	}
}

func FuzzRoundTrip(f *testing.F) {
	f.Add(`{"a":[1,2.5,"\ud800é",null,true],"b":{"c":12345678901234567890}}`)
	f.Add("\"\\u00e9\xff\"")
	f.Fuzz(func(t *testing.T, text string) {
		v, err := DecodeJSON([]byte(text))
		if err != nil {
			return
		}
		out, err := EncodeJSON(v, []byte(text))
		if err != nil {
			t.Fatalf("%q was read, but is not written: %v", text, err)
		}
		if _, err := DecodeJSON(out); err != nil {
			t.Fatalf("%q was written as %q, which is not read: %v", text, out, err)
		}
	})
}

func BenchmarkMarshalInTheOrderOfArrival(b *testing.B) {
	text := []byte(`{"spec":{"size":"10Gi","ttl":3600,"template":{"labels":{"app":"x","tier":"gold"},"ports":[80,443],"ratio":1.5}},"metadata":{"labels":{"app":"x"},"annotations":{"a.example.com/b":"c"}}}`)
	v, err := DecodeJSON(text)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := EncodeJSON(v, text); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkUnmarshal(b *testing.B) {
	text := []byte(`{"spec":{"size":"10Gi","ttl":3600,"template":{"labels":{"app":"x","tier":"gold"},"ports":[80,443],"ratio":1.5}},"metadata":{"labels":{"app":"x"},"annotations":{"a.example.com/b":"c"}}}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := DecodeJSON(text); err != nil {
			b.Fatal(err)
		}
	}
}
