package syntax

import (
	"fmt"
	"slices"
	"strings"
)

// These constants limit the text of a program.
const (
	MaxText    = 256 << 10 // length in bytes
	maxTokens  = 50_000
	maxNesting = 64 // largest nesting depth
)

// words lists the words, other than [types], that cannot be names in Stan.
var words = strings.Fields(`for in while repeat until if then else true false target struct typedef export auto extern var static
	lower upper offset multiplier void complex_vector complex_row_vector complex_matrix
	functions data parameters model transformed generated quantities break continue return print reject fatal_error profile`)

// Reserved reports whether Stan does not allow a word as a name. Examples are "upper" and all words
// that end with two underscores.
func Reserved(word string) bool {
	return slices.Contains(words, word) || slices.Contains(types, word) || strings.HasSuffix(word, "__")
}

type kind byte

const (
	word kind = iota + 1
	number
	sign
	end
)

type token struct {
	kind kind
	text string
	at   Span
}

// signs lists operators that have several characters, longer ones first.
var signs = []string{".*=", "./=", "%/%", "+=", "-=", "*=", "/=", "==", "!=", "<=", ">=", "&&", "||", ".*", "./", ".^", "<-"}

const oneSign = "+-*/%^'!?:;,()[]{}<>=~|"

// scan splits a text into tokens. If this is not possible, it returns a message that describes the
// error. It counts the tokens first, because a growing slice would take several times the memory.
func scan(text string) ([]token, *Message) {
	n := 0
	if m := eachToken(text, func(token) { n++ }); m != nil {
		return nil, m
	}
	all := make([]token, 0, n)
	m := eachToken(text, func(t token) { all = append(all, t) })
	return all, m
}

// eachToken calls f for each token of a text, up to the place where the text cannot be split any
// further.
func eachToken(text string, f func(token)) *Message {
	for at, n := 0, 0; ; n++ {
		from, m := skipBlank(text, at)
		if m != nil {
			return m
		}
		if from == len(text) {
			f(token{end, "the end of the text", Span{from, from}})
			return nil
		}
		if n == maxTokens {
			return &Message{"E411", Span{from, from + 1}, fmt.Sprintf("the program has more than %d words and signs.", maxTokens)}
		}
		kind, length := next(text[from:])
		if length == 0 {
			return &Message{"E400", Span{from, from + 1}, "this character is not part of the language."}
		}
		at = from + length
		f(token{kind, text[from:at], Span{from, at}})
	}
}

// skipBlank returns the position of the first byte, from start on, that is not part of white space
// or a comment. It returns a message if a comment does not end.
func skipBlank(text string, start int) (int, *Message) {
	for start < len(text) {
		rest := text[start:]
		switch {
		case strings.ContainsRune(" \t\r\n", rune(rest[0])):
			start++
		case rest[0] == '#', strings.HasPrefix(rest, "//"):
			length := strings.IndexByte(rest, '\n')
			if length < 0 {
				length = len(rest)
			}
			start += length
		case strings.HasPrefix(rest, "/*"):
			length := strings.Index(rest[2:], "*/")
			if length < 0 {
				return 0, &Message{"E400", Span{start, start + 2}, "the comment has no end: write */."}
			}
			start += length + 4
		default:
			return start, nil
		}
	}
	return start, nil
}

// next returns the kind of the first token and its length in bytes. The length is 0 if there is no
// token.
func next(text string) (kind, int) {
	switch c := text[0]; {
	case letter(c):
		n := 1
		for n < len(text) && (letter(text[n]) || digit(text[n])) {
			n++
		}
		return word, n
	case digit(c), c == '.' && len(text) > 1 && digit(text[1]):
		return number, numberLength(text)
	}
	for _, s := range signs {
		if strings.HasPrefix(text, s) {
			return sign, len(s)
		}
	}
	if strings.IndexByte(oneSign, text[0]) >= 0 {
		return sign, 1
	}
	return 0, 0
}

func letter(c byte) bool { return c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }
func digit(c byte) bool  { return '0' <= c && c <= '9' }

func numberLength(text string) int {
	n := digits(text, 0)
	if n < len(text) && text[n] == '.' && !(n+1 < len(text) && strings.IndexByte("*/^'", text[n+1]) >= 0) {
		n = digits(text, n+1)
	}
	if n < len(text) && (text[n] == 'e' || text[n] == 'E') {
		power := n + 1
		if power < len(text) && (text[power] == '+' || text[power] == '-') {
			power++
		}
		if last := digits(text, power); last > power {
			n = last
		}
	}
	return n
}

// digits returns the position of the first byte, from start on, that is neither a digit nor an
// underscore.
func digits(text string, start int) int {
	return len(text) - len(strings.TrimLeft(text[start:], "0123456789_"))
}
