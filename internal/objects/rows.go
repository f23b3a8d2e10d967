package objects

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"

	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/sdk/inspect"
)

// maxRows is the number of objects of a table.
const maxRows = 500

// asTable makes the API server print the columns. Servers that cannot do so return a list.
const asTable = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"

// rowList is the part of a Table, or of a list, that is read.
type rowList struct {
	Kind     string
	Metadata metav1.ListMeta

	ColumnDefinitions []metav1.TableColumnDefinition
	Rows              []struct {
		Cells  []any
		Object map[string]any
	}

	Items []map[string]any // objects of a list
}

// Rows implements [runner.Objects].
func (c *Client) Rows(ctx context.Context, q runner.RowQuery) ([]runner.Row, error) {
	list, err := c.list(ctx, q, "")
	if err != nil {
		return nil, explain(err)
	}
	rows, _ := list.rows(q)
	return rows, nil
}

// list reads a page of objects as a Table, beginning after the token of the page before. It reads the whole objects only if their
// hidden values must be found in the columns.
func (c *Client) list(ctx context.Context, q runner.RowQuery, after string) (*rowList, error) {
	config, err := c.Config()
	if err != nil {
		return nil, err
	}
	config = rest.CopyConfig(config)
	config.QPS, config.WarningHandlerWithContext = -1, rest.NoWarnings{}
	config.NegotiatedSerializer = statusCodecs
	client, err := rest.UnversionedRESTClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("configure the connection: %w", err)
	}
	request := client.Get().AbsPath(pathOf(resourceOf(q.Resource), q.Namespace)...).SetHeader("Accept", asTable).
		Param("limit", fmt.Sprint(maxRows)).Param("continue", after).Param("labelSelector", q.Labels)
	if q.Name != "" {
		request.Param("fieldSelector", fields.OneTermEqualSelector("metadata.name", q.Name).String())
	}
	if len(q.Hidden) > 0 {
		request.Param("includeObject", "Object")
	}
	result := request.Do(ctx)
	if err := result.Error(); err != nil { // unlike the error of Raw, it has the message of the API server
		return nil, err
	}
	text, err := result.Raw()
	if err != nil {
		return nil, err
	}
	list := new(rowList)
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber() // large numbers keep their digits
	if err := d.Decode(list); err != nil {
		return nil, fmt.Errorf("decode the table of %s: %w", q.Resource, err)
	}
	return list, nil
}

// statusCodecs decode the errors of the API server.
var statusCodecs = func() runtime.NegotiatedSerializer {
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	return serializer.NewCodecFactory(scheme).WithoutConversion()
}()

func pathOf(res schema.GroupVersionResource, namespace string) []string {
	path := []string{"api", res.Version}
	if res.Group != "" {
		path = []string{"apis", res.Group, res.Version}
	}
	if namespace != "" {
		path = append(path, "namespaces", namespace)
	}
	return append(path, res.Resource)
}

// rows returns the rows of a table or of a list, and the whole objects or their metadata.
func (l *rowList) rows(q runner.RowQuery) (rows []runner.Row, objects []map[string]any) {
	if l.Kind != "Table" {
		for _, o := range l.Items {
			rows, objects = append(rows, runner.Row{KindRef: refOf(q, o)}), append(objects, o)
		}
		return rows, objects
	}
	for _, r := range l.Rows {
		row := runner.Row{KindRef: refOf(q, r.Object)}
		hidden := secretsOf(r.Object, q.Hidden)
		values := hiddenTexts(r.Object, hide(r.Object, q.Hidden), nil)
		for i, d := range l.ColumnDefinitions {
			if d.Format == "name" || d.Priority > 0 || i >= len(r.Cells) || r.Cells[i] == nil {
				continue
			}
			text := fmt.Sprint(r.Cells[i])
			if slices.ContainsFunc(values, func(v string) bool { return strings.Contains(text, v) }) {
				text = mark
			}
			row.Columns = append(row.Columns, runner.Column{Title: strings.ToUpper(d.Name), Text: hidden.Text(text)})
		}
		rows, objects = append(rows, row), append(objects, r.Object)
	}
	return rows, objects
}

func refOf(q runner.RowQuery, o map[string]any) inspect.KindRef {
	text := func(field string) string {
		s, _ := at(o, []string{"metadata", field}).(string)
		return s
	}
	return inspect.KindRef{Ref: inspect.Ref{Resource: q.Resource, Namespace: text("namespace"), Name: text("name"), UID: text("uid")}}
}

// hiddenTexts appends the texts of the values of an object that are hidden in its shown version, however short they are.
func hiddenTexts(value, shown any, texts []string) []string {
	switch value := value.(type) {
	case map[string]any:
		for k, v := range value {
			of := shown // the whole map may be hidden
			if m, ok := shown.(map[string]any); ok {
				of = m[k]
			}
			texts = hiddenTexts(v, of, texts)
		}
	case []any:
		for i, v := range value {
			of := shown
			if list, ok := shown.([]any); ok {
				of = list[i]
			}
			texts = hiddenTexts(v, of, texts)
		}
	default:
		if text := fmt.Sprint(value); shown == any(mark) && text != "" {
			return append(texts, text)
		}
	}
	return texts
}
