package formula

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"fedpvi/pvi/program/syntax"
)

// These constants limit the size of a formula.
const (
	maxText    = 16 << 10 // length in bytes
	maxTokens  = 1_024
	maxNesting = 24
	maxTerms   = 1_000
)

type kind byte

const (
	name kind = iota + 1
	number
	text // text in quotes
	sign
	end
)

type token struct {
	kind  kind
	text  string
	value float64
	at    syntax.Span
}

// A mistake is the value to panic with when a formula has an error. [Write] recovers from it.
type mistake struct{ syntax.Message }

func fail(code string, at syntax.Span, format string, args ...any) {
	panic(mistake{syntax.Message{Code: code, At: at, Text: fmt.Sprintf(format, args...)}})
}

// signs lists the operators that have two characters.
var signs = []string{"||", "==", "!=", "<=", ">="}

const oneSign = "~+-*/^:()|,=<>"

func scan(source string) []token {
	var all []token
	for at := 0; ; {
		for at < len(source) && strings.IndexByte(" \t\r\n", source[at]) >= 0 {
			at++
		}
		if at == len(source) {
			return append(all, token{kind: end, text: "the end", at: syntax.Span{From: at, To: at}})
		}
		if len(all) == maxTokens {
			fail("E606", syntax.Span{From: at, To: at + 1}, "the formula has more than %d words and signs.", maxTokens)
		}
		t, length := next(source[at:])
		t.at = syntax.Span{From: at, To: at + length}
		if t.kind == 0 {
			fail("E600", t.at, "this does not belong in a formula%s", advice(t.text))
		}
		all = append(all, t)
		at += length
	}
}

func advice(found string) string {
	switch found {
	case "$", "[", "@":
		return ": write only the names of columns."
	case "%":
		return ". For a nested factor write a/b."
	case "`", `"`, "'":
		return ": the closing quote is missing."
	}
	return "."
}

// next returns the first token of source, and its length in bytes. If there is none, the kind of
// the token is 0.
func next(source string) (token, int) {
	first, size := utf8.DecodeRuneInString(source)
	switch {
	case first == '`' || first == '"' || first == '\'':
		length := strings.IndexRune(source[1:], first)
		if length < 0 {
			return token{text: string(first)}, 1
		}
		k := text
		if first == '`' {
			k = name
		}
		return token{kind: k, text: source[1 : 1+length]}, length + 2
	case first >= '0' && first <= '9', first == '.' && len(source) > 1 && source[1] >= '0' && source[1] <= '9':
		return numeral(source)
	case unicode.IsLetter(first) || first == '.' || first == '_':
		length := strings.IndexFunc(source, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '.' && r != '_' })
		if length < 0 {
			length = len(source)
		}
		return token{kind: name, text: source[:length]}, length
	}
	for _, s := range signs {
		if strings.HasPrefix(source, s) {
			return token{kind: sign, text: s}, len(s)
		}
	}
	if strings.IndexByte(oneSign, source[0]) >= 0 {
		return token{kind: sign, text: source[:1]}, 1
	}
	return token{text: source[:size]}, size
}

func numeral(source string) (token, int) {
	n := 0
	for n < len(source) && (source[n] >= '0' && source[n] <= '9' || source[n] == '.') {
		n++
	}
	if n < len(source) && (source[n] == 'e' || source[n] == 'E') {
		power := n + 1
		if power < len(source) && (source[power] == '-' || source[power] == '+') {
			power++
		}
		last := power
		for last < len(source) && source[last] >= '0' && source[last] <= '9' {
			last++
		}
		if last > power {
			n = last
		}
	}
	value, err := strconv.ParseFloat(source[:n], 64)
	if err != nil {
		return token{text: source[:n]}, n
	}
	return token{kind: number, text: source[:n], value: value}, n
}
