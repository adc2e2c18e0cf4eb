package rank

// fitted returns the weights that cmd/rank-fit found.
func fitted() Weights {
	return Weights{
		File: Row{
			Words:        .417,
			Exact:        .009,
			Body:         .257,
			Name:         .016,
			Path:         .287,
			Coverage:     .049,
			Coverage2:    .055,
			NameCoverage: .079,
			ChunkBest:    -.149,
			ChunkTop:     .256,
			ChunkName:    .241,
			ChunkExact:   .025,
			ChunkCover:   .310,
		},
		Code: Row{
			Words:        .998,
			Exact:        .149,
			Body:         -.080,
			Name:         .249,
			Symbol:       -.026,
			Path:         -.014,
			Coverage:     -.198,
			Coverage2:    -.101,
			NameCoverage: -.081,
			File:         .359,
			FileExact:    .093,
			FileTop:      .038,
			Neighbour:    .115,
		},
		Section: Row{
			Words:        -.095,
			Exact:        .057,
			Body:         .239,
			Name:         .020,
			Path:         .041,
			Coverage:     .051,
			Coverage2:    .441,
			NameCoverage: .019,
			File:         .179,
			FileExact:    .283,
			FileTop:      .197,
			Neighbour:    .073,
		},
	}
}
