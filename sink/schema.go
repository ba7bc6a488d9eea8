package sink

import (
	"fmt"
	"io"
	"reflect"
	"strings"
)

// Table describes one table as DuckDB shows it.
type Table struct {
	Name    string
	Doc     string
	Sort    []string // columns the files are sorted by
	Columns []Column
}

// Column describes one column or, in Fields, one field of a nested struct.
type Column struct {
	Name     string
	Type     string // DuckDB's type
	Nullable bool
	Doc      string
	Fields   []Column // of a STRUCT or a list of them
}

// Schema describes every table, made from the row types themselves. Before the
// columns of the file come kind and crawl, which its path holds.
func Schema() []Table {
	types := map[string]reflect.Type{
		"crawls":       reflect.TypeFor[CrawlRow](),
		"cards":        reflect.TypeFor[Card](),
		"site_totals":  reflect.TypeFor[SiteTotal](),
		"fetch_totals": reflect.TypeFor[FetchTotal](),
		"checks":       reflect.TypeFor[Check](),
	}
	tables := make([]Table, 0, len(layouts))
	for _, l := range layouts {
		table := Table{Name: l.name, Doc: l.doc, Columns: []Column{
			{Name: "kind", Type: "VARCHAR", Doc: "kind of the crawl: monthly, weekly, or adhoc"},
			{Name: "crawl", Type: "DATE", Doc: "start date of the crawl, UTC"},
		}}
		for _, column := range l.sort {
			table.Sort = append(table.Sort, strings.Join(column.Path(), "."))
		}
		table.Columns = append(table.Columns, columnsOf(types[l.name])...)
		tables = append(tables, table)
	}
	return tables
}

func columnsOf(row reflect.Type) []Column {
	columns := make([]Column, 0, row.NumField())
	for field := range row.Fields() {
		name, options, _ := strings.Cut(field.Tag.Get("parquet"), ",")
		column := Column{Name: name, Doc: field.Tag.Get("doc")}
		for option := range strings.SplitSeq(options, ",") {
			column.Nullable = column.Nullable || option == "optional"
		}
		column.Type, column.Fields = duckType(field.Type, options)
		columns = append(columns, column)
	}
	return columns
}

// duckType returns DuckDB's type for a Go type with these options of its
// parquet tag, and the fields if it is a struct or a list of structs.
func duckType(t reflect.Type, options string) (string, []Column) {
	switch t.Kind() {
	case reflect.Pointer:
		return duckType(t.Elem(), options)
	case reflect.Slice:
		element, fields := duckType(t.Elem(), "")
		return element + "[]", fields
	case reflect.Struct:
		fields := columnsOf(t)
		parts := make([]string, 0, len(fields))
		for _, field := range fields {
			parts = append(parts, fmt.Sprintf("%q %s", field.Name, field.Type))
		}
		return "STRUCT(" + strings.Join(parts, ", ") + ")", fields
	case reflect.Bool:
		return "BOOLEAN", nil
	case reflect.Int64:
		if strings.Contains(options, "timestamp(microsecond)") {
			return "TIMESTAMP WITH TIME ZONE", nil
		}
		return "BIGINT", nil
	case reflect.Int32:
		if strings.Contains(options, "date") {
			return "DATE", nil
		}
		return "INTEGER", nil
	}
	return "VARCHAR", nil
}

// WriteSchema writes [Schema] to w as Markdown, one table of columns a table.
func WriteSchema(w io.Writer) error {
	var text strings.Builder
	for i, table := range Schema() {
		if i > 0 {
			text.WriteString("\n")
		}
		fmt.Fprintf(&text, "## %s\n\n%s", table.Name, sentence(table.Doc))
		if len(table.Sort) > 0 {
			fmt.Fprintf(&text, " Sorted by %s.", strings.Join(table.Sort, ", "))
		}
		text.WriteString("\n\n| column | type | NULL | meaning |\n|---|---|---|---|\n")
		writeColumns(&text, "", table.Columns)
	}
	if _, err := io.WriteString(w, text.String()); err != nil {
		return fmt.Errorf("writing the schema: %w", err)
	}
	return nil
}

func writeColumns(text *strings.Builder, parent string, columns []Column) {
	for _, column := range columns {
		kind, null := column.Type, "no"
		if column.Fields != nil {
			kind = "STRUCT" + strings.Repeat("[]", strings.Count(kind, "[]")-strings.Count(strings.TrimRight(kind, "[]"), "[]"))
		}
		if column.Nullable {
			null = "yes"
		}
		fmt.Fprintf(text, "| `%s%s` | %s | %s | %s |\n", parent, column.Name, kind, null, column.Doc)
		writeColumns(text, parent+column.Name+".", column.Fields)
	}
}

// sentence makes a phrase of the documentation a sentence.
func sentence(phrase string) string {
	return strings.ToUpper(phrase[:1]) + phrase[1:] + "."
}
