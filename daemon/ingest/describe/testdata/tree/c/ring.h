/*
 * ring.h - A ring of bytes with one writer and one reader.
 *
 * Copyright (c) 2019 The Demo Authors. All rights reserved.
 * Use of this source code is governed by a BSD-style license that can be
 * found in the LICENSE file.
 */
#ifndef RING_H
#define RING_H

#include <stddef.h>
#include <stdint.h>

/** A ring of a fixed size. */
struct ring {
	uint8_t *bytes;
	size_t size, head, tail;
};

/**
 * Puts bytes into the ring.
 *
 * @param r     the ring
 * @param from  what to put
 * @param n     how many bytes
 * @return how many bytes there was room for
 */
static inline size_t ring_put(struct ring *r, const uint8_t *from, size_t n)
{
	size_t i;
	for (i = 0; i < n && (r->head + 1) % r->size != r->tail; i++) {
		r->bytes[r->head] = from[i];
		r->head = (r->head + 1) % r->size;
	}
	return i;
}

/* Forgets what is in the ring. */
void ring_clear(struct ring *r);

#endif
