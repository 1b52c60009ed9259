package memstore

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/rowlock/rowlock/domain"
)

func TestIndexAgainstSortedSlice(t *testing.T) {
	x := &index{order: byTurn}
	var want []*row
	pool := make([]*row, 300)
	for i := range pool {
		pool[i] = &row{Job: domain.Job{ID: domain.JobID{byte(i), byte(i >> 8)}, Priority: rand.IntN(5)}}
	}
	for range 5_000 {
		r := pool[rand.IntN(len(pool))]
		if at, found := slices.BinarySearchFunc(want, r, byTurn); found {
			want = slices.Delete(want, at, at+1)
			x.remove(r)
		} else {
			want = slices.Insert(want, at, r)
			x.add(r)
		}
		if (len(want) == 0) != (x.first() == nil) || len(want) > 0 && x.first() != want[0] {
			t.Fatal("first is not the least")
		}
	}
	if got := slices.Collect(x.up()); !slices.Equal(got, want) || x.size != len(want) {
		t.Fatalf("up gives %d rows, size is %d, want %d", len(got), x.size, len(want))
	}
	slices.Reverse(want)
	if got := slices.Collect(x.down(nil)); !slices.Equal(got, want) {
		t.Fatal("down is not up reversed")
	}
	for _, limit := range pool { // also limits that are not in the index
		from := slices.IndexFunc(want, func(r *row) bool { return byTurn(r, limit) < 0 })
		if from < 0 {
			from = len(want)
		}
		if got := slices.Collect(x.down(limit)); !slices.Equal(got, want[from:]) {
			t.Fatalf("down below %v gives %d rows, want %d", limit.ID, len(got), len(want)-from)
		}
	}
	x.remove(&row{Job: domain.Job{Priority: 99}})
	if x.size != len(want) {
		t.Fatal("removing what is not there changed the size")
	}
}

func TestIndexStaysFlat(t *testing.T) {
	x := &index{order: byID}
	for i := range 1 << 16 { // the worst order for a tree that does not balance itself
		x.add(&row{Job: domain.Job{ID: domain.JobID{byte(i >> 16), byte(i >> 8), byte(i)}}})
	}
	if d := depth(x.root); d > 80 {
		t.Fatalf("%d rows are %d deep", x.size, d)
	}
}

func depth(n *node) int {
	if n == nil {
		return 0
	}
	return 1 + max(depth(n.left), depth(n.right))
}
