package coordinator

import (
	"encoding/binary"
	"reflect"
	"strings"

	"fedpvi/crypto/sums/field"
)

// A finder searches bytes for rows of numbers, at any offset and with the words of a row in either
// byte order. If it finds two successive words of a row, it takes the whole row as found.
type finder struct {
	rows  [][]uint64
	at    map[uint64]spot
	short [1 << 16]bool // whether a word of a row has these low 16 bits; excludes most positions quickly
}

type spot struct {
	row []uint64
	i   int
}

func newFinder() *finder { return &finder{at: map[uint64]spot{}} }

func (f *finder) know(row []uint64) {
	f.rows = append(f.rows, row)
	for i, x := range row[:len(row)-1] {
		f.at[x] = spot{row, i}
		f.short[uint16(x)] = true
	}
}

func (f *finder) find(b []byte) (rows [][]uint64) {
	for _, order := range []binary.ByteOrder{binary.BigEndian, binary.LittleEndian} {
		low := 6
		if order == binary.LittleEndian {
			low = 0
		}
		for i := 0; i+16 <= len(b); i++ {
			if !f.short[order.Uint16(b[i+low:])] {
				continue
			}
			p, ok := f.at[order.Uint64(b[i:])]
			if ok && order.Uint64(b[i+8:]) == p.row[p.i+1] && p.row[p.i+1] != p.row[p.i] {
				rows = append(rows, p.row)
			}
		}
	}
	return rows
}

// dumpOf collects all integers, strings and bytes that can be reached from a value through types of
// this module. A byte takes one byte of the result, and any other integer takes eight.
func dumpOf(value any) []byte {
	w := walker{seen: map[uintptr]bool{}}
	w.walk(reflect.ValueOf(value))
	return w.out
}

type walker struct {
	seen map[uintptr]bool
	out  []byte
}

func (w *walker) walk(v reflect.Value) {
	if !v.IsValid() || v.Type().PkgPath() != "" && !strings.HasPrefix(v.Type().PkgPath(), "fedpvi") {
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() && !w.seen[v.Pointer()] {
			w.seen[v.Pointer()] = true
			w.walk(v.Elem())
		}
	case reflect.Interface:
		w.walk(v.Elem())
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[Study]() || v.Type() == reflect.TypeFor[Hub]() {
			return // the references from the state back to its study and hub are not followed
		}
		for i := range v.NumField() {
			w.walk(v.Field(i))
		}
	case reflect.Map:
		for each := v.MapRange(); each.Next(); {
			w.walk(each.Key())
			w.walk(each.Value())
		}
	case reflect.String:
		w.out = append(w.out, v.String()...)
	case reflect.Slice, reflect.Array:
		if v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Uint8 {
			w.out = append(w.out, v.Bytes()...)
			return
		}
		for i := range v.Len() {
			w.walk(v.Index(i))
		}
	case reflect.Uint8:
		w.out = append(w.out, byte(v.Uint()))
	case reflect.Uint, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		w.out = binary.BigEndian.AppendUint64(w.out, v.Uint())
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		w.out = binary.BigEndian.AppendUint64(w.out, field.FromInteger(v.Int()))
	}
}
