package domain_test

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/rowlock/rowlock/domain"
)

func TestFreeSlots(t *testing.T) {
	for _, tc := range []struct {
		name        string
		n           int
		taken       []int
		want, shift int
		free        []int
	}{
		{"all of them", 3, nil, 9, 0, []int{0, 1, 2}},
		{"none allowed", 0, nil, 9, 7, nil},
		{"fewer than none", -1, []int{0}, 9, 7, nil},
		{"none wanted", 3, nil, 0, 0, nil},
		{"one wanted", 3, []int{0}, 1, 0, []int{1}},
		{"all taken", 2, []int{1, 0}, 9, 0, nil},
		{"unsorted and twice", 4, []int{3, 1, 3, 1}, 9, 0, []int{0, 2}},
		{"from a shift on", 5, []int{2}, 9, 3, []int{3, 4, 0, 1}},
		{"a shift beyond them", 3, nil, 2, 7, []int{1, 2}},
		{"a shift onto a taken one", 4, []int{1}, 2, 1, []int{2, 3}},
		{"lowered, all above held", 2, []int{2, 3}, 9, 0, nil},
		{"lowered, one above held", 2, []int{3}, 9, 1, []int{0}},
		{"lowered, one above and one below held", 2, []int{0, 3}, 9, 1, nil},
		{"lowered, two of the old ones held below", 3, []int{1, 4}, 9, 0, []int{0}},
		{"lowered far", 3, []int{9}, 9, 2, []int{0, 1}},
		{"raised", 4, []int{0, 1}, 9, 0, []int{2, 3}},
	} {
		if got := domain.FreeSlots(tc.n, tc.taken, tc.want, tc.shift); !slices.Equal(got, tc.free) {
			t.Errorf("%s: got %v, want %v", tc.name, got, tc.free)
		}
	}
}

// TestFreeSlotsLeavesNothingIdle: where nobody is above the limit it is used up.
func TestFreeSlotsLeavesNothingIdle(t *testing.T) {
	for range 2_000 {
		n := 1 + rand.IntN(12)
		taken := rand.Perm(n)[:rand.IntN(n+1)]
		free := domain.FreeSlots(n, taken, n, rand.IntN(100))
		if len(free) != n-len(taken) {
			t.Fatalf("%d allowed, %v taken, %v free", n, taken, free)
		}
		if all := slices.Sorted(slices.Values(slices.Concat(free, taken))); len(slices.Compact(all)) != n {
			t.Fatalf("%v and %v have a slot in common", free, taken)
		}
	}
}

// slotWorld simulates a key whose limit is changed while takers who do not see
// each other read what is taken, and take what they chose some time later.
type slotWorld struct {
	n      int
	taken  map[int]bool
	takers []taker
	high   int // what was held when N was lowered, or what is left of that
	late   int // how many had chosen under a higher N then
}

// taker has read and not taken yet.
type taker struct {
	slot int
	late bool // N was lowered since, or one of those took a slot
}

// bound is how many may be held at most.
func (w *slotWorld) bound() int { return max(w.n, w.high) + w.late }

func (w *slotWorld) read() {
	taken := slices.Collect(maps.Keys(w.taken))
	for _, slot := range domain.FreeSlots(w.n, taken, 1+rand.IntN(2), rand.IntN(50)) {
		w.takers = append(w.takers, taker{slot: slot})
	}
}

// take is a write that only a free slot lets through.
func (w *slotWorld) take(t *testing.T) {
	if len(w.takers) == 0 {
		return
	}
	i := rand.IntN(len(w.takers))
	k := w.takers[i]
	w.takers = slices.Delete(w.takers, i, i+1)
	if w.taken[k.slot] {
		return
	}
	if !k.late && len(w.taken) >= w.n {
		t.Fatalf("%d are held, %d are allowed, and one more starts", len(w.taken), w.n)
	}
	if w.taken[k.slot] = true; len(w.taken) > w.bound() {
		t.Fatalf("%d are held, %d are allowed, %d were held when that was lowered", len(w.taken), w.n, w.high)
	}
	if k.late {
		w.overtake()
	}
}

// overtake marks those whose reading is out of date.
func (w *slotWorld) overtake() {
	for i := range w.takers {
		w.takers[i].late = true
	}
}

func (w *slotWorld) free() {
	for i := range w.taken {
		delete(w.taken, i)
		break
	}
	if w.high = min(w.high, len(w.taken)); !slices.ContainsFunc(w.takers, func(k taker) bool { return k.late }) {
		w.late = 0
		w.high = len(w.taken)
	}
}

func (w *slotWorld) change() {
	n := 1 + rand.IntN(8)
	if n < w.n {
		w.high, w.late = len(w.taken), len(w.takers)
		w.overtake()
	}
	w.n = n
}

// TestFreeSlotsHoldTheLimit: whatever takers read and whenever they take, no more
// are held than N allows, or were held when N was lowered; and then nothing
// starts until fewer than N are held.
func TestFreeSlotsHoldTheLimit(t *testing.T) {
	for range 300 {
		w := &slotWorld{n: 1 + rand.IntN(8), taken: map[int]bool{}}
		for range 150 {
			switch rand.IntN(9) {
			case 0, 1, 2:
				w.read()
			case 3, 4, 5:
				w.take(t)
			case 6, 7:
				w.free()
			default:
				if rand.IntN(4) == 0 {
					w.change()
				}
			}
		}
	}
}

func TestSlotsAreInOrder(t *testing.T) {
	want := []domain.Slot{{}, {Index: 1}, {Key: "A", Index: 2}, {Key: "A", Index: 10}, {Key: "a"}, {Key: "ä"}}
	got := slices.Clone(want)
	slices.Reverse(got)
	slices.SortFunc(got, domain.Slot.Compare)
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
