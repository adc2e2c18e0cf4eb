/*
 * Licensed under the Apache License, Version 2.0.
 */
package com.example.sample;

import java.util.List;
import java.util.function.*;
import static java.lang.Math.max;

/**
 * A store of things. It is slow.
 *
 * @param <T> what is stored
 */
@Deprecated
public class Sample<T extends Comparable<T>> implements Store<T> {
    private static final int LIMIT = 10;
    private final List<T> items;

    public Sample(List<T> items) {
        this.items = items;
    }

    /** Returns the largest. */
    @Override
    public T largest() {
        return items.stream().max(T::compareTo).orElseThrow();
    }

    abstract void nothing();

    static <U> U identity(U u) { return u; }

    enum Color {
        RED, GREEN;

        Color next() {
            return values()[max(0, (ordinal() + 1) % 2)];
        }
    }

    interface Visitor<R> {
        R visit(Sample<?> s);

        default R twice(Sample<?> s) {
            visit(s);
            return visit(s);
        }
    }

    private class Inner {
        void run() {
            System.out.println(LIMIT);
        }
    }
}

record Point(int x, int y) {
    Point {
        if (x < 0) throw new IllegalArgumentException();
    }
}

@interface Marker {
    String value() default "";
}
