package crds

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

const header = "package handlers\n\nimport (\n\t\"context\"\n\n\t\"github.com/kopf-dev/kopf/sdk/kopf\"\n)\n\n"

// operator writes a package of handlers, in a module that uses the SDK of this checkout.
func operator(t *testing.T, code string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	sdk, err := filepath.Abs("../sdk")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"go.mod":      "module example.com/op\n\ngo 1.26.0\n",
		"go.work":     "go 1.26.3\n\nuse (\n\t.\n\t" + sdk + "\n)\n",
		"handlers.go": header + code,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("GOWORK", filepath.Join(dir, "go.work"))
	return dir
}

const claims = `// Claim is a claim.
// +kubebuilder:resource:shortName=clm
// +kubebuilder:printcolumn:name=Size,type=integer,JSONPath=.spec.size
type Claim struct {
	Spec struct {
		// Size is the size.
		// +kubebuilder:validation:Minimum=1
		Size int ` + "`json:\"size\"`" + `
		Parts []struct {
			Name string ` + "`json:\"name\"`" + `
		} ` + "`json:\"parts,omitempty\"`" + `
	} ` + "`json:\"spec\"`" + `
	Status struct {
		Phase string ` + "`json:\"phase\"`" + `
	} ` + "`json:\"status\"`" + `
}

const group = "example.com/v1alpha1"

func Register(r *kopf.Registry) {
	claims := kopf.Resource(group, "claims")
	kopf.OnCreate(r, claims, create)
	kopf.OnField(r, claims, "spec.size", resize)
	kopf.OnEvent(r, kopf.Resource("v1", "pods"), seen)
	kopf.OnEvent(r, kopf.Resource("networking.k8s.io/v1", "ingresses"), seen)
	kopf.OnEvent(r, kopf.Resource("example.com/v1", kopf.Everything), seen)
}

func create(context.Context, *kopf.Change[Claim]) error     { return nil }
func resize(context.Context, *kopf.FieldChange[int]) error  { return nil }
func seen(context.Context, *kopf.Event[Claim]) error        { return nil }
`

func generate(t *testing.T, code string) ([]*apiextensions.CustomResourceDefinition, error) {
	t.Helper()
	return Generate(t.Context(), operator(t, code), []string{"."})
}

func TestGenerate_DefinitionOfTypeWithInlineStructs(t *testing.T) {
	all, err := generate(t, claims)
	if err != nil || len(all) != 1 {
		t.Fatalf("%d definitions, %v", len(all), err)
	}
	got, err := YAML(all[0])
	if err != nil {
		t.Fatal(err)
	}
	want := `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  annotations:
    kopf.dev/made-from: example.com/op.Claim
  name: claims.example.com
spec:
  group: example.com
  names:
    kind: Claim
    listKind: ClaimList
    plural: claims
    shortNames:
    - clm
    singular: claim
  scope: Namespaced
  versions:
  - additionalPrinterColumns:
    - jsonPath: .spec.size
      name: Size
      type: integer
    name: v1alpha1
    schema:
      openAPIV3Schema:
        description: Claim is a claim.
        properties:
          spec:
            properties:
              parts:
                items:
                  properties:
                    name:
                      type: string
                  required:
                  - name
                  type: object
                type: array
              size:
                description: Size is the size.
                minimum: 1
                type: integer
            required:
            - size
            type: object
          status:
            properties:
              phase:
                type: string
            type: object
            x-kubernetes-preserve-unknown-fields: true
        required:
        - spec
        type: object
    served: true
    storage: true
    subresources:
      status: {}
`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
}

func TestGenerate_ConditionsAreMapByType(t *testing.T) {
	const code = `
import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

type Claim struct {
	Status struct {
		ObservedGeneration int64              ` + "`json:\"observedGeneration,omitempty\"`" + `
		Conditions         []metav1.Condition ` + "`json:\"conditions,omitempty\"`" + `
		Others             []metav1.Condition ` + "`json:\"others,omitempty\"`" + `
	} ` + "`json:\"status\"`" + `
}

func Register(r *kopf.Registry) {
	claims := kopf.Resource("example.com/v1", "claims")
	kopf.Conditions(r, claims)
	kopf.OnReconcile(r, claims, reconcile)
}

func reconcile(context.Context, *kopf.Pass[Claim]) error { return nil }
`
	all, err := generate(t, code)
	if err != nil || len(all) != 1 {
		t.Fatalf("%d definitions, %v", len(all), err)
	}
	status := all[0].Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["status"]
	conditions := status.Properties["conditions"]
	if conditions.XListType == nil || *conditions.XListType != "map" || !cmp.Equal(conditions.XListMapKeys, []string{"type"}) {
		t.Errorf("the list of conditions is %v by %v", conditions.XListType, conditions.XListMapKeys)
	}
	if others := status.Properties["others"]; others.XListType != nil || others.Type != "array" {
		t.Errorf("another list is %s, %v", others.Type, others.XListType)
	}
}

func TestGenerate_KindIsThatOfMarker(t *testing.T) {
	code := strings.NewReplacer(`"claims"`, `"volumeclaims"`, "// Claim is a claim.\n", "// Claim is a claim.\n// +kopf:kind=VolumeClaim\n").Replace(claims)
	all, err := generate(t, code)
	if err != nil || len(all) != 1 || all[0].Name != "volumeclaims.example.com" || all[0].Spec.Names.Kind != "VolumeClaim" || all[0].Spec.Names.Singular != "volumeclaim" {
		t.Fatalf("%+v, %v", all, err)
	}
}

func TestGenerate_RefusesWithReasonAndPlace(t *testing.T) {
	for name, test := range map[string]struct {
		replace []string
		want    string
	}{
		"no tag":           {[]string{" `json:\"size\"`", ""}, "handlers.go:16: "},
		"unknown kind":     {[]string{`"claims"`, `"others"`}, "+kopf:kind=KIND"},
		"unknown resource": {[]string{`"claims")`, `name())`, "const group", "func name() string { return \"claims\" }\n\nconst group"}, "no call of kopf.Resource with constant names"},
		"two types": {[]string{"kopf.OnField(r, claims, \"spec.size\", resize)", "kopf.OnDelete(r, claims, remove)", "const group",
			"type Other struct{}\n\nfunc remove(context.Context, *kopf.Change[Other]) error { return nil }\n\nconst group"}, "use several types: Claim ("},
		"broken code": {[]string{"const group", "const group ="}, "load package example.com/op: "},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := generate(t, strings.NewReplacer(test.replace...).Replace(claims)); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("the error is %v", err)
			}
		})
	}
	_, err := generate(t, "func Register(r *kopf.Registry) { kopf.OnEvent(r, kopf.Resource(\"v1\", \"pods\"), seen) }\n\ntype Pod struct{}\n\nfunc seen(context.Context, *kopf.Event[Pod]) error { return nil }\n")
	if _, ok := errors.AsType[*NoTypesError](err); !ok {
		t.Errorf("without a custom resource: %v", err)
	}
}

func TestBreaking_NamesChangesThatBreakObjects(t *testing.T) {
	before, err := generate(t, claims)
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		replace []string
		want    []string
	}{
		"nothing":        {nil, nil},
		"a description":  {[]string{"Size is the size", "Size is the volume"}, nil},
		"a new field":    {[]string{"Phase string", "More string `json:\"more,omitempty\"`\n\t\tPhase string"}, nil},
		"a type":         {[]string{"Size int", "Size string", "	// +kubebuilder:validation:Minimum=1\n", ""}, []string{"spec.size", "type"}},
		"a gone field":   {[]string{"Name string `json:\"name\"`", "Title string `json:\"title\"`"}, []string{"v1alpha1 spec.parts.items.name: removed"}},
		"a higher limit": {[]string{"Minimum=1", "Minimum=2"}, []string{"spec.size", "minimum"}},
	} {
		t.Run(name, func(t *testing.T) {
			after, err := generate(t, strings.NewReplacer(test.replace...).Replace(claims))
			if err != nil {
				t.Fatal(err)
			}
			got, err := Breaking(before[0], after[0])
			if err != nil {
				t.Fatal(err)
			}
			text := strings.Join(got, "\n")
			if test.want == nil && text != "" {
				t.Errorf("it breaks %s", text)
			}
			for _, want := range test.want {
				if !strings.Contains(text, want) {
					t.Errorf("%q is not in %q", want, text)
				}
			}
		})
	}
}

func TestHoist_KeepsLines(t *testing.T) {
	text := "package a\n\ntype A struct {\n\tB struct {\n\t\tC map[string]*struct {\n\t\t\tD int\n\t\t} `json:\"c\"`\n\t} `json:\"b\"`\n\tE int `json:\"e\"`\n}\n"
	got, err := hoist("/a.go", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	want := "//line /a.go:1\npackage a\n\ntype A struct {\n\tB A_B `json:\"b\"`\n\n\n\n\n\tE int `json:\"e\"`\n}\n"
	if !strings.HasPrefix(string(got), want) {
		t.Errorf("the file is %s", got)
	}
	for _, part := range []string{"//line /a.go:3\n\ntype A_B struct {\n\t\tC map[string]*A_B_C `json:\"c\"`\n\n\n\t}\n", "//line /a.go:4\n\ntype A_B_C struct {\n\t\t\tD int\n\t\t}\n"} {
		if !strings.Contains(string(got), part) {
			t.Errorf("%q is not in %s", part, got)
		}
	}
}
