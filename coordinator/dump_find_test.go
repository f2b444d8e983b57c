package coordinator

import (
	"encoding/binary"
	"reflect"
	"strings"

	"fedpvi/crypto/sums/field"
)

// A finder searches bytes for rows of numbers, at any offset and in either byte order. It considers
// a row found if it finds two successive words of it.
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
// this module. Each byte takes one byte of the result, and any other integer takes eight.
func dumpOf(value any) (out []byte) {
	walk(reflect.ValueOf(value), map[place]bool{}, func(v reflect.Value) bool {
		switch t := v.Type(); {
		case t.PkgPath() != "" && !strings.HasPrefix(t.PkgPath(), "fedpvi"):
			return false
		case t == reflect.TypeFor[Study]() || t == reflect.TypeFor[Hub]():
			return false // do not follow the state back to its study and hub
		case v.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8:
			out = append(out, v.Bytes()...)
			return false
		case v.Kind() == reflect.String:
			out = append(out, v.String()...)
		case v.Kind() == reflect.Uint8:
			out = append(out, byte(v.Uint()))
		case v.CanUint():
			out = binary.BigEndian.AppendUint64(out, v.Uint())
		case v.CanInt():
			out = binary.BigEndian.AppendUint64(out, field.FromInteger(v.Int()))
		}
		return true
	})
	return out
}

// A place identifies a pointer by its address and type.
type place struct {
	at uintptr
	to reflect.Type
}

// walk calls visit for v and for each value that can be reached from v. It follows each pointer
// once. If visit returns false for a value, walk does not look inside it.
func walk(v reflect.Value, seen map[place]bool, visit func(reflect.Value) bool) {
	if !v.IsValid() || !visit(v) {
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if at := (place{v.Pointer(), v.Type()}); !seen[at] {
			seen[at] = true
			walk(v.Elem(), seen, visit)
		}
	case reflect.Interface:
		walk(v.Elem(), seen, visit)
	case reflect.Struct:
		for i := range v.NumField() {
			walk(v.Field(i), seen, visit)
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			walk(v.Index(i), seen, visit)
		}
	case reflect.Map:
		for each := v.MapRange(); each.Next(); {
			walk(each.Key(), seen, visit)
			walk(each.Value(), seen, visit)
		}
	}
}
