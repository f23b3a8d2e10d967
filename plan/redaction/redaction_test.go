package redaction

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"maps"
	"strings"
	"testing"
)

func b64(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

func plain(t *testing.T, encoded any) string {
	t.Helper()
	text, err := base64.StdEncoding.DecodeString(encoded.(string))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// secret returns a Secret with values in base64, and with annotations.
func secret(kind string, values map[string]string, annotations map[string]any) map[string]any {
	data := map[string]any{}
	for name, value := range values {
		data[name] = b64(value)
	}
	return map[string]any{
		"apiVersion": "v1", "kind": "Secret", "type": kind, "data": data,
		"metadata": map[string]any{"name": "s", "annotations": annotations},
	}
}

func keep(t *testing.T, r *Redactor, object map[string]any) map[string]any {
	t.Helper()
	out, err := r.Keep(object)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func asText(t *testing.T, object any) string {
	t.Helper()
	out, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func TestKeep_EqualValuesStayEqual(t *testing.T) {
	r := New()
	one := keep(t, r, secret("Opaque", map[string]string{"a": "hunter22", "b": "hunter22", "c": "other", "empty": ""}, nil))["data"].(map[string]any)
	two := keep(t, r, secret("Opaque", map[string]string{"a": "hunter22"}, nil))["data"].(map[string]any)
	if one["a"] != one["b"] || one["a"] != two["a"] || one["a"] == one["c"] {
		t.Errorf("equal values must stay equal, and others different: %v, %v", one, two)
	}
	if one["empty"] != "" {
		t.Errorf("an empty value becomes %v", one["empty"])
	}
	if text := plain(t, one["a"]); !replaced.MatchString(text) {
		t.Errorf("the value becomes %q", text)
	}
	if other := keep(t, New(), secret("Opaque", map[string]string{"a": "hunter22"}, nil))["data"].(map[string]any); other["a"] == one["a"] {
		t.Error("another key gives the same replacement, which could be computed for guessed values")
	}
	if r.Replaced() != 4 {
		t.Errorf("%d values are counted, want 4", r.Replaced())
	}
}

// TestKeep_StatesAgree compares the data with the states that operators and kubectl have recorded: a copied Secret is no update.
func TestKeep_StatesAgree(t *testing.T) {
	state := `{"data":{"p":"` + b64("hunter22") + `","q":"` + b64("older") + `"},"type":"Opaque"}` + "\n"
	applied := `{"apiVersion":"v1","kind":"Secret","stringData":{"p":"hunter22"},"metadata":{"name":"s","annotations":{}}}` + "\n"
	object := keep(t, New(), secret("Opaque", map[string]string{"p": "hunter22", "q": "newer"}, map[string]any{
		"kopf.zalando.org/last-handled-configuration":      state,
		"kubectl.kubernetes.io/last-applied-configuration": applied,
	}))
	data := object["data"].(map[string]any)
	var handled, wanted struct {
		Data, StringData map[string]string
	}
	for annotation, into := range map[string]any{"kopf.zalando.org/last-handled-configuration": &handled, "kubectl.kubernetes.io/last-applied-configuration": &wanted} {
		if err := json.Unmarshal([]byte(annotationsOf(object)[annotation].(string)), into); err != nil {
			t.Fatal(err)
		}
	}
	if handled.Data["p"] != data["p"] {
		t.Errorf("the unchanged value is %s in the state and %s in the data", handled.Data["p"], data["p"])
	}
	if handled.Data["q"] == data["q"] {
		t.Error("the changed value is no change any more")
	}
	if wanted.StringData["p"] != plain(t, data["p"]) {
		t.Errorf("the applied value is %s, want %s", wanted.StringData["p"], plain(t, data["p"]))
	}
	for _, value := range []string{"hunter22", "older", "newer"} {
		if text := asText(t, object); strings.Contains(text, value) || strings.Contains(text, b64(value)) {
			t.Errorf("%q is still in %s", value, text)
		}
	}
}

func TestKeep_TextsInAnnotations(t *testing.T) {
	object := keep(t, New(), secret("Opaque", map[string]string{"p": `hun"ter22`, "short": "abc"}, map[string]any{
		"example.com/note":  `logged in with hun"ter22`,
		"example.com/json":  `{"message":"no user hun\"ter22"}`,
		"example.com/coded": "token " + b64(`hun"ter22`),
		"example.com/abc":   "abc",
		"kopf.zalando.org/last-handled-configuration": `{"data":{"p":"` + b64("older"),
	}))
	annotations := maps.Clone(annotationsOf(object))
	for name, value := range annotations {
		if text := value.(string); strings.Contains(text, "ter22") || strings.Contains(text, b64(`hun"ter22`)) || strings.Contains(text, b64("older")) {
			t.Errorf("the annotation %s is %s", name, text)
		}
	}
	if annotations["example.com/abc"] != "abc" {
		t.Errorf("a short value is replaced in a text: %v", annotations["example.com/abc"])
	}
	var record struct{ Message string }
	if err := json.Unmarshal([]byte(annotations["example.com/json"].(string)), &record); err != nil {
		t.Errorf("the annotation with JSON cannot be decoded: %v", err)
	}
}

// TestKeep_WordsOfStates has a value that is also the name of a field of the state.
func TestKeep_WordsOfStates(t *testing.T) {
	object := keep(t, New(), secret("Opaque", map[string]string{"p": "data"}, map[string]any{
		"kopf.zalando.org/last-handled-configuration": `{"data":{"p":"` + b64("data") + `"}}`,
	}))
	state, err := decode(annotationsOf(object)["kopf.zalando.org/last-handled-configuration"].(string))
	if err != nil {
		t.Fatal(err)
	}
	if got := state["data"].(map[string]any)["p"]; got != object["data"].(map[string]any)["p"] {
		t.Errorf("the state has %v, want the replacement of the data", got)
	}
}

func TestKeep_CertificatesCanBeParsed(t *testing.T) {
	old, err := newPair(nil)
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]string{tlsCertificate: string(old.certificate), tlsKey: string(old.key), "ca.crt": "an authority"}
	state := asText(t, secret(tlsType, values, nil))
	r := New()
	object := keep(t, r, secret(tlsType, values, map[string]any{"kubectl.kubernetes.io/last-applied-configuration": state}))
	data := object["data"].(map[string]any)
	certificate, key := plain(t, data[tlsCertificate]), plain(t, data[tlsKey])
	if _, err := tls.X509KeyPair([]byte(certificate), []byte(key)); err != nil {
		t.Errorf("the replacement is no pair: %v", err)
	}
	if key == string(old.key) || strings.Contains(asText(t, object), b64(string(old.key))) {
		t.Error("the key is kept")
	}
	block, _ := pem.Decode([]byte(certificate))
	fresh, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	block, _ = pem.Decode(old.certificate)
	before, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	if !fresh.NotAfter.Equal(before.NotAfter) || fresh.Subject.CommonName != before.Subject.CommonName {
		t.Errorf("the certificate expires at %s, want %s as before", fresh.NotAfter, before.NotAfter)
	}
	applied, err := decode(annotationsOf(object)["kubectl.kubernetes.io/last-applied-configuration"].(string))
	if err != nil {
		t.Fatal(err)
	}
	if got := applied["data"].(map[string]any)[tlsCertificate]; got != data[tlsCertificate] {
		t.Error("the applied state has another pair")
	}
}

func TestKeep_RegistriesCanBeParsed(t *testing.T) {
	object := keep(t, New(), secret(registryType, map[string]string{registryField: `{"auths":{"example.com":{"password":"hunter22"}}}`}, nil))
	var config struct{ Auths map[string]any }
	if err := json.Unmarshal([]byte(plain(t, object["data"].(map[string]any)[registryField])), &config); err != nil || len(config.Auths) != 0 {
		t.Errorf("the configuration has %v: %v", config.Auths, err)
	}
}

// TestShow_ReplacementsStay shows a Secret of the copy, and a patch of it by the operator.
func TestShow_ReplacementsStay(t *testing.T) {
	r := New()
	kept := keep(t, r, secret("Opaque", map[string]string{"p": "hunter22"}, nil))
	was := kept["data"].(map[string]any)["p"]
	shown, err := r.Show(kept)
	if err != nil {
		t.Fatal(err)
	}
	if got := shown["data"].(map[string]any)["p"]; got != was {
		t.Errorf("the replacement %v becomes %v", was, got)
	}
	patch, err := r.Show(map[string]any{"stringData": map[string]any{"q": "made here", "gone": nil}})
	if err != nil {
		t.Fatal(err)
	}
	values := patch["stringData"].(map[string]any)
	if !replaced.MatchString(values["q"].(string)) || values["gone"] != nil {
		t.Errorf("the patch shows %v", values)
	}
}
