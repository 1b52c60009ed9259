package domain

import (
	"fmt"
	"strings"
)

// cronField is what one field of an expression may hold.
type cronField struct {
	name     string
	min, max int
	names    []string // of its values, from min on
}

// sunday is the other number of a Sunday.
const sunday = 7

// parse reads a list. loose: a wildcard or a step gave more than one value.
func (f *cronField) parse(text string) (set uint64, loose bool, hint string) {
	for item := range strings.SplitSeq(text, ",") {
		low, high, step, hint := f.item(item)
		if hint != "" {
			return 0, false, hint
		}
		for value := low; value <= high; value += step {
			set |= 1 << value
		}
		loose = loose || strings.ContainsAny(item, "*/") && low+step <= high
	}
	if f.names != nil && f.min == 0 && has(set, sunday) {
		set = set&^(1<<sunday) | 1
	}
	return set, loose, ""
}

// item reads a value, a range or a wildcard, the last two with or without a step.
func (f *cronField) item(text string) (low, high, step int, hint string) {
	span, stepText, stepped := strings.Cut(text, "/")
	from, to, ranged := strings.Cut(span, "-")
	switch {
	case text == "":
		return 0, 0, 0, "an item of the list is empty"
	case span == "*":
		low, high = f.min, f.max
	case ranged:
		if low, high, hint = f.ends(from, to); hint != "" {
			return 0, 0, 0, hint
		}
	case stepped:
		return 0, 0, 0, fmt.Sprintf("in %s a step follows a value: it follows * or a range", quoted(text))
	default:
		if low, hint = f.value(span); hint != "" {
			return 0, 0, 0, hint
		}
		high = low
	}
	if step = 1; stepped {
		most := f.max - f.min + 1
		if step, stepped = number(stepText); !stepped || step < 1 || step > most {
			return 0, 0, 0, fmt.Sprintf("the step of %s must be from 1 to %d", quoted(text), most)
		}
	}
	return low, high, step, ""
}

// ends are those of a range. A Sunday by name that ends one is the day after Saturday.
func (f *cronField) ends(from, to string) (low, high int, hint string) {
	if low, hint = f.value(from); hint != "" {
		return 0, 0, hint
	}
	if high, hint = f.value(to); hint != "" {
		return 0, 0, hint
	}
	if _, digits := number(to); high == 0 && low > 0 && !digits {
		high = sunday
	}
	if low > high {
		return 0, 0, fmt.Sprintf("the range %s runs backwards", quoted(from+"-"+to))
	}
	return low, high, ""
}

// value reads a number or a name.
func (f *cronField) value(text string) (int, string) {
	for i, name := range f.names {
		if strings.EqualFold(text, name) {
			return f.min + i, ""
		}
	}
	most := f.max
	if f.names != nil && f.min == 0 {
		most = sunday
	}
	n, ok := number(text)
	switch {
	case ok && f.min <= n && n <= most:
		return n, ""
	case f.names == nil:
		return 0, fmt.Sprintf("%s is no number from %d to %d", quoted(text), f.min, most)
	}
	return 0, fmt.Sprintf("%s is no number from %d to %d and no name from %s to %s", quoted(text), f.min, most, f.names[0], f.names[len(f.names)-1])
}

// number reads one or two digits.
func number(text string) (n int, ok bool) {
	for _, digit := range []byte(text) {
		if digit < '0' || digit > '9' {
			return 0, false
		}
		n = 10*n + int(digit-'0')
	}
	return n, len(text) == 1 || len(text) == 2
}

func quoted(text string) string { return fmt.Sprintf("%q", CleanText(text, 40)) }
