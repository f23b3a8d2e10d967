package children

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Widget is a typed object with all forms of fields that API structs have.
type Widget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              WidgetSpec   `json:"spec,omitempty"`
	Status            WidgetStatus `json:"status,omitempty"`
}

type WidgetSpec struct {
	Shared   `json:",inline"`
	Required int64                        `json:"required"`
	Optional string                       `json:"optional,omitempty"`
	Zero     int                          `json:"zero,omitzero"`
	Pointer  *int32                       `json:"pointer,omitempty"`
	Strategy Strategy                     `json:"strategy"`
	EmptyDir *Strategy                    `json:"emptyDir,omitempty"`
	List     []string                     `json:"list"`
	Items    []Strategy                   `json:"items,omitempty"`
	Bytes    []byte                       `json:"bytes,omitempty"`
	Limits   map[string]resource.Quantity `json:"limits,omitempty"`
	Divisor  resource.Quantity            `json:"divisor,omitempty"`
	Port     intstr.IntOrString           `json:"port,omitempty"`
	Selector *metav1.LabelSelector        `json:"selector"`
	Template Template                     `json:"template"`
	Since    metav1.Time                  `json:"since,omitempty"`
	Raw      runtime.RawExtension         `json:"raw,omitempty"`
	Any      any                          `json:"any,omitempty"`
	ByNumber map[int]string               `json:"byNumber,omitempty"`
	Ratio    float64                      `json:"ratio,omitempty"`
	Quoted   Quoted                       `json:"quoted,omitempty"`
	Hidden   string                       `json:"-"`
}

type Shared struct {
	Common string `json:"common,omitempty"`
}

type Strategy struct {
	Type string `json:"type,omitempty"`
}

type Template struct {
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              Strategy `json:"spec,omitempty"`
}

type Quoted struct {
	Number int64 `json:"number,string"`
}

type WidgetStatus struct {
	Phase string `json:"phase,omitempty"`
}

var widgets = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"}

func TestEncode_StructHasWhatIsSet(t *testing.T) {
	for name, tt := range map[string]struct {
		object Widget
		want   tree // the spec
	}{
		"required fields": {Widget{}, nil},
		"zero struct":     {Widget{Spec: WidgetSpec{Optional: "x"}}, tree{"optional": "x", "required": int64(0)}},
		"empty values": {
			Widget{Spec: WidgetSpec{Required: 1, List: []string{}, Items: []Strategy{}, Selector: &metav1.LabelSelector{}, EmptyDir: &Strategy{}}},
			tree{"required": int64(1), "selector": tree{}, "emptyDir": tree{}},
		},
		"template without content": {Widget{Spec: WidgetSpec{Required: 1, Template: Template{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{}}}}}, tree{"required": int64(1)}},
		"inline and nested": {
			Widget{Spec: WidgetSpec{Required: 1, Shared: Shared{"c"}, Template: Template{Spec: Strategy{"s"}}, Items: []Strategy{{}, {"x"}}}},
			tree{"required": int64(1), "common": "c", "template": tree{"spec": tree{"type": "s"}}, "items": []any{tree{}, tree{"type": "x"}}},
		},
		"own encodings": {
			Widget{Spec: WidgetSpec{
				Required: 1, Bytes: []byte("hi"), Limits: map[string]resource.Quantity{"cpu": resource.MustParse("1000m")},
				Port: intstr.FromString("http"), Since: metav1.Unix(0, 0), Raw: runtime.RawExtension{Raw: []byte(`{"a":null,"b":1.0}`)},
				Any: map[string]any{"n": 1, "none": nil}, ByNumber: map[int]string{7: "x"}, Quoted: Quoted{3}, Ratio: 0.5, Pointer: new(int32(0)),
			}},
			tree{
				"required": int64(1), "bytes": "aGk=", "limits": tree{"cpu": "1"}, "port": "http", "since": "1970-01-01T00:00:00Z",
				"raw": tree{"b": int64(1)}, "any": tree{"n": int64(1)}, "byNumber": tree{"7": "x"}, "quoted": tree{"number": "3"}, "ratio": 0.5, "pointer": int64(0),
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			tt.object.Spec.Hidden, tt.object.Status.Phase = "h", "Done"
			if tt.want == nil {
				tt.object.Spec.Hidden = ""
			}
			tt.object.Name, tt.object.ResourceVersion, tt.object.CreationTimestamp = "w", "7", metav1.Unix(1, 0)
			got, err := Encode(&tt.object, widgets)
			if err != nil {
				t.Fatal(err)
			}
			want := tree{"apiVersion": "example.com/v1", "kind": "Widget", "metadata": tree{"name": "w"}}
			if tt.want != nil {
				want["spec"] = tt.want
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestEncode_UnstructuredIsCanonical(t *testing.T) {
	u := &unstructured.Unstructured{Object: tree{
		"metadata": tree{"name": "w", "uid": "u", "managedFields": []any{tree{}}, "creationTimestamp": nil, "labels": tree{"a": "b"}},
		"spec":     tree{"none": nil, "list": []any{}, "map": tree{}, "number": 1.0, "ratio": 1.5, "items": []any{tree{"x": nil}, nil}},
		"status":   tree{"phase": "x"},
	}}
	got, err := Encode(u, widgets)
	if err != nil {
		t.Fatal(err)
	}
	want := tree{
		"apiVersion": "example.com/v1", "kind": "Widget", "metadata": tree{"name": "w", "labels": tree{"a": "b"}},
		"spec": tree{"map": tree{}, "number": int64(1), "ratio": 1.5, "items": []any{tree{}, nil}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	got["metadata"].(tree)["labels"].(tree)["a"] = "changed"
	if u.GetLabels()["a"] != "b" {
		t.Error("the tree shares a map with the object")
	}
}

func TestEncode_StringDataBecomesData(t *testing.T) {
	u := &unstructured.Unstructured{Object: tree{"metadata": tree{"name": "s"}, "data": tree{"a": "YQ=="}, "stringData": tree{"a": "x", "b": "y"}}}
	secret := schema.GroupVersionKind{Version: "v1", Kind: "Secret"}
	got, err := Encode(u, secret)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(tree{"apiVersion": "v1", "kind": "Secret", "metadata": tree{"name": "s"}, "data": tree{"a": "eA==", "b": "eQ=="}}, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	got, err = Encode(u, schema.GroupVersionKind{Group: "vault.example.com", Version: "v1", Kind: "Secret"})
	if err != nil || got["stringData"] == nil {
		t.Errorf("a Secret of another group: %v %v", got, err)
	}
}

func TestEncode_RefusesWhatCannotBeApplied(t *testing.T) {
	for want, obj := range map[string]any{
		"use a pointer to an API struct":     Widget{}.Spec.Any,
		"generateName":                       &Widget{ObjectMeta: metav1.ObjectMeta{GenerateName: "w-"}},
		"spec: ratio: JSON has no number":    &Widget{Spec: WidgetSpec{Ratio: math.NaN()}},
		"spec: any: [0]: JSON has no number": &Widget{Spec: WidgetSpec{Any: []any{math.Inf(1)}}},
		"unsupported type: chan int":         &Widget{Spec: WidgetSpec{Any: make(chan int)}},
	} {
		if _, err := Encode(obj, widgets); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%T: %v, not %s", obj, err, want)
		}
	}
	number := &unstructured.Unstructured{Object: tree{"stringData": tree{"a": int64(1)}}}
	if _, err := Encode(number, schema.GroupVersionKind{Version: "v1", Kind: "Secret"}); err == nil || !strings.Contains(err.Error(), "stringData.a is not a string") {
		t.Errorf("a number in stringData: %v", err)
	}
}

func TestKindOf_DefaultsToTypeName(t *testing.T) {
	for _, tt := range []struct {
		obj  any
		want string
	}{
		{&Widget{}, "/, Kind=Widget"},
		{&Widget{TypeMeta: metav1.TypeMeta{APIVersion: "example.com/v2", Kind: "Gadget"}}, "example.com/v2, Kind=Gadget"},
		{&unstructured.Unstructured{Object: tree{"apiVersion": "v1", "kind": "Pod"}}, "/v1, Kind=Pod"},
	} {
		if got := KindOf(tt.obj).String(); got != tt.want {
			t.Errorf("%T: %s, not %s", tt.obj, got, tt.want)
		}
	}
}

func TestHash_DependsOnContentAlone(t *testing.T) {
	a, err := Hash(tree{"a": int64(1), "b": tree{"x": "y", "z": nil}})
	if err != nil {
		t.Fatal(err)
	}
	b, err := Hash(tree{"b": tree{"z": nil, "x": "y"}, "a": int64(1)})
	if err != nil || a != b {
		t.Errorf("%s and %s (%v)", a, b, err)
	}
	if c, err := Hash(tree{"a": int64(2)}); err != nil || c == a {
		t.Errorf("%s for other content (%v)", c, err)
	}
	if len(a) != len("1:")+16 || ParseHash(a) == 0 {
		t.Errorf("%s has the bits %x", a, ParseHash(a))
	}
	for _, other := range []string{"", "1:", "2:" + a[2:], a + "0", "1:zzzzzzzzzzzzzzzz"} {
		if ParseHash(other) != 0 {
			t.Errorf("%q has the bits %x", other, ParseHash(other))
		}
	}
}

func FuzzEncode_IsIdempotent(f *testing.F) {
	f.Add([]byte(`{"spec":{"a":null,"b":[],"c":[null,{"d":1.0}],"n":1e300},"metadata":{"name":"x","uid":"u"},"status":1}`))
	f.Add([]byte(`{"metadata":null,"data":{"a":[[],{}]},"spec":12345678901234567890}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		object, ok := decoded(data).(tree)
		if !ok {
			t.Skip("the input is no JSON object")
		}
		once, err := Encode(&unstructured.Unstructured{Object: object}, widgets)
		if err != nil {
			t.Skip("Encode refuses the object")
		}
		twice, err := Encode(&unstructured.Unstructured{Object: once}, widgets)
		if diff := cmp.Diff(once, twice); err != nil || diff != "" {
			t.Errorf("encoded twice: %v (-once +twice)\n%s", err, diff)
		}
		if _, err := Hash(once); err != nil {
			t.Error(err)
		}
	})
}
