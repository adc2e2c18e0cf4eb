package rank

import (
	"cmp"
	"slices"
)

// sortLarge is [slices.SortStableFunc] for large elements: it sorts their indexes, then
// moves each element once.
func sortLarge[T any](list []T, compare func(a, b *T) int) {
	order := make([]int32, len(list))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int {
		return cmp.Or(compare(&list[a], &list[b]), cmp.Compare(a, b))
	})
	const moved = -1
	for i := range order {
		if order[i] == moved {
			continue
		}
		first, at := list[i], i
		for {
			from := int(order[at])
			order[at] = moved
			if from == i {
				list[at] = first
				break
			}
			list[at] = list[from]
			at = from
		}
	}
}
