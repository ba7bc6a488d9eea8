package sink

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// plain turns a row into the values that a reader of the table has to see, by
// column, without the help of any Parquet library.
func plain(row any) map[string]any {
	value := reflect.ValueOf(row)
	columns := make(map[string]any)
	for i := range value.NumField() {
		name, options, _ := strings.Cut(value.Type().Field(i).Tag.Get("parquet"), ",")
		columns[name] = plainValue(value.Field(i), options)
	}
	return columns
}

func plainValue(value reflect.Value, options string) any {
	switch value.Kind() {
	case reflect.Pointer:
		if value.IsNil() {
			return nil
		}
		return plainValue(value.Elem(), options)
	case reflect.Slice:
		if value.IsNil() && strings.Contains(options, "optional") {
			return nil
		}
		list := []any{}
		for i := range value.Len() {
			list = append(list, plainValue(value.Index(i), ""))
		}
		return list
	case reflect.Struct:
		return plain(value.Interface())
	case reflect.Int64:
		if strings.Contains(options, "timestamp") {
			return time.UnixMicro(value.Int()).UTC()
		}
	case reflect.Int32:
		if strings.Contains(options, "date") {
			return time.Unix(value.Int()*86400, 0).UTC()
		}
	}
	return value.Interface()
}

// arrowValue turns one value of an Arrow array into the same form.
func arrowValue(t *testing.T, values arrow.Array, i int) any {
	t.Helper()
	if values.IsNull(i) {
		return nil
	}
	switch values := values.(type) {
	case *array.String:
		return strings.Clone(values.Value(i))
	case *array.Int64:
		return values.Value(i)
	case *array.Int32:
		return values.Value(i)
	case *array.Boolean:
		return values.Value(i)
	case *array.Date32:
		return values.Value(i).ToTime()
	case *array.Timestamp:
		return values.Value(i).ToTime(values.DataType().(*arrow.TimestampType).Unit)
	case *array.List:
		list := []any{}
		from, to := values.ValueOffsets(i)
		for j := from; j < to; j++ {
			list = append(list, arrowValue(t, values.ListValues(), int(j)))
		}
		return list
	case *array.Struct:
		fields := make(map[string]any)
		for f := range values.NumField() {
			fields[values.DataType().(*arrow.StructType).Field(f).Name] = arrowValue(t, values.Field(f), i)
		}
		return fields
	}
	t.Fatalf("no form for %s", values.DataType())
	return nil
}
