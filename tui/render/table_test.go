package render_test

import (
	"fmt"
	"testing"

	"github.com/kopf-dev/kopf/tui/render"
)

func TestTable_AsksForVisibleRowsOnly(t *testing.T) {
	asked := map[int]bool{}
	table := render.Table{
		Columns: []render.Column{{Title: "A", Width: 5}},
		Rows:    1_000_000,
		Cell: func(row, _ int) render.Cell {
			asked[row] = true
			return render.Cell{Text: fmt.Sprint(row)}
		},
	}
	p := render.NewBlock(render.PlainTheme(), 20, 11)
	list := render.List{Cursor: 500_000}
	table.Draw(p, &list)
	if len(asked) != 10 || !asked[500_000] {
		t.Errorf("asked for %d rows: %v", len(asked), asked)
	}
}
