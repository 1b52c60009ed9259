package domain

import (
	"strings"
	"unicode/utf8"
)

// nulSign stands where a text had a NUL byte, which PostgreSQL cannot store.
const nulSign = "␀"

// cutSign ends a text that was cut.
const cutSign = "…"

// CleanText makes any text fit for every store: valid UTF-8 (a run of bad bytes becomes
// U+FFFD), NUL shown as U+2400, at most limit bytes, cut on a rune border and
// then ended by an ellipsis. It is the one cleaner: every message, stack and
// name that Rowlock records goes through it.
func CleanText(text string, limit int) string {
	limit = max(limit, 0)
	long := len(text)/4 > limit // too long however it is read: the rest need not be looked at
	if long {
		text = text[:4*limit]
	}
	text = strings.ToValidUTF8(text, "\uFFFD")
	text = strings.ReplaceAll(text, "\x00", nulSign)
	if !long && len(text) <= limit {
		return text
	}
	if limit < len(cutSign) {
		return cutText(text, limit)
	}
	return cutText(text, limit-len(cutSign)) + cutSign
}

// cutText cuts valid UTF-8 to at most limit bytes on a rune border.
func cutText(text string, limit int) string {
	for limit > 0 && limit < len(text) && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:min(limit, len(text))]
}
