package bunstore

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/rowlock/rowlock/domain"
)

func TestChunks(t *testing.T) {
	size := func(n *int) int { return *n }
	cases := []struct {
		all  []int
		want [][]int
	}{
		{nil, nil},
		{[]int{1, 1, 1, 1}, [][]int{{1, 1, 1}, {1}}},
		{[]int{6, 5, 99, 1}, [][]int{{6}, {5}, {99}, {1}}},
	}
	for _, c := range cases {
		if got := chunks(c.all, Chunk{Rows: 3, Bytes: 10}, size); !reflect.DeepEqual(got, c.want) {
			t.Errorf("chunks(%v) = %v, want %v", c.all, got, c.want)
		}
	}
}

// One bad row of many stands alone after about twice log2(n) tries, and the others go through.
func TestHalve(t *testing.T) {
	refused := errors.New("refused")
	all := make([]int, 100)
	for i := range all {
		all[i] = i
	}
	var done, bad []int
	tries := 0
	err := halve(all, func(err error) bool { return errors.Is(err, refused) }, func(part []int) error {
		tries++
		if slices.Contains(part, 37) || slices.Contains(part, 99) {
			return refused
		}
		done = append(done, part...)
		return nil
	}, func(n int) { bad = append(bad, n) })
	if err != nil || len(done) != 98 || !slices.Equal(bad, []int{37, 99}) || tries > 30 {
		t.Errorf("err %v, %d done, bad %v, %d tries", err, len(done), bad, tries)
	}
	other := errors.New("other")
	tries = 0
	err = halve(all, func(err error) bool { return errors.Is(err, refused) }, func([]int) error { tries++; return other }, func(int) {})
	if !errors.Is(err, other) || tries != 1 {
		t.Errorf("another error gave %v after %d tries", err, tries)
	}
}

// Rows that share an id or a key with an earlier one come after it.
func TestDistinct(t *testing.T) {
	row := func(id byte, lock string) NewRow {
		return NewRow{Job: &domain.NewJob{ID: domain.JobID{15: id}}, Lock: lock}
	}
	rows := []NewRow{row(1, ""), row(2, "k"), row(2, "j"), row(3, "k"), row(4, "j"), row(0, "")}
	now, later := distinct(rows, []int{0, 1, 2, 3, 4, 5})
	if fmt.Sprint(now, later) != "[0 1 5] [2 3 4]" {
		t.Errorf("first %v, then %v", now, later)
	}
	now, later = distinct(rows, later)
	if fmt.Sprint(now, later) != "[2 3] [4]" {
		t.Errorf("then %v, then %v", now, later)
	}
	if got := merge([]int{1, 4}, []int{0, 2, 9}); fmt.Sprint(got) != "[0 1 2 4 9]" {
		t.Errorf("merged %v", got)
	}
}
