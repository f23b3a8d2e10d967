package object

import (
	"runtime"
	"strings"
	"testing"
)

// sameCheck fails unless a text is weighed exactly if it can be decoded.
func sameCheck(t *testing.T, text string) {
	t.Helper()
	_, decoding := decodeStrict([]byte(text))
	_, weighing := Weigh([]byte(text))
	if (decoding == nil) != (weighing == nil) || decoding != nil && decoding.Error() != weighing.Error() {
		t.Errorf("%q: decoded: %v; weighed: %v", text, decoding, weighing)
	}
}

func FuzzWeigh_ChecksAsDecodingDoes(f *testing.F) {
	for _, text := range []string{
		`{}`, `{"a":[1,"x",null,true,{"b":{}}]}`, `{"a":1e999}`, `{"a":"\ud800"}`, "{\"a\":\"\x01\"}", `{"a"`, `{a:1}`, `[1,]`, `{} {}`, `"\x"`, `{"é":"\u00e9"}`, `nul`, `-`, ``,
		strings.Repeat("[", maxDepth+2),
	} {
		f.Add(text)
	}
	f.Fuzz(sameCheck)
}

func TestWeigh_EstimatesMemoryOfTree(t *testing.T) {
	size := 1 << 20
	if testing.Short() {
		size = 1 << 17
	}
	for name, item := range map[string]string{
		"empty maps": `{}`, "empty keys": `{"":0}`, "nested": `{"":{"":{}}}`, "lists": `[[],[]]`, "strings": `"x"`, "numbers": `1234`,
		"pods": string(typicalPod(t)),
	} {
		text := []byte(`{"spec":[` + strings.Repeat(item+",", 1+size/len(item)) + item + `]}`)
		weight, err := Weigh(text)
		if err != nil {
			t.Fatal(err)
		}
		before, after := heap(), uint64(0)
		tree, err := decodeStrict(text)
		if err != nil {
			t.Fatal(err)
		}
		after = heap()
		runtime.KeepAlive(tree)
		if took := int64(after - before); weight < took*3/4 || weight > took*3 {
			t.Errorf("%s: estimated %d KiB, took %d KiB", name, weight>>10, took>>10)
		}
	}
}

// heap returns the bytes that are in use on the heap.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
