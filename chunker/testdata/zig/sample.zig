// Copyright 2026 Somebody.

//! A ring buffer for one writer and one reader.
//! It never allocates after it was made.

const std = @import("std");
const builtin = @import("builtin");
const mem = std.mem;
const clock = @import("time/clock.zig");
const Options = @import("options.zig").Options;
usingnamespace @import("compat.zig");
const c = @cImport({
    @cInclude("stdio.h");
});

pub const max_size = 1 << 20;

/// What may go wrong.
pub const RingError = error{
    Full,
    Empty,
};

/// States of a ring.
pub const State = enum(u8) {
    open,
    closed,

    /// Whether one may write.
    pub fn writable(self: State) bool {
        return self == .open;
    }
};

const Value = union(enum) {
    int: i64,
    text: []const u8,

    fn size(self: Value) usize {
        return switch (self) {
            .int => 8,
            .text => |t| t.len,
        };
    }
};

/// Makes the type of a ring of T.
pub fn Ring(comptime T: type) type {
    return struct {
        const Self = @This();

        items: []T,
        head: usize = 0,

        /// Makes a ring of n items.
        pub fn init(allocator: mem.Allocator, n: usize) !Self {
            return .{ .items = try allocator.alloc(T, n) };
        }

        pub fn push(self: *Self, item: T) RingError!void {
            if (self.head == self.items.len) return error.Full;
            self.items[self.head] = item;
            self.head += 1;
        }
    };
}

/// A clock that
/// only goes forward.
pub const Clock = struct {
    now: u64,

    pub const Unit = packed struct {
        seconds: u32,

        fn zero() Unit {
            return .{ .seconds = 0 };
        }
    };

    // Moves on.
    pub inline fn tick(self: *Clock) void {
        self.now += 1;
    }

    test "ticks" {
        var k = Clock{ .now = 0 };
        k.tick();
        try std.testing.expectEqual(@as(u64, 1), k.now);
    }
};

extern "c" fn getpid() c_int;

export fn ring_version() u32 {
    return 1;
}

fn add(a: anytype, b: @TypeOf(a)) @TypeOf(a) {
    return a + b;
}

var counter: u32 = 0;

comptime {
    std.debug.assert(max_size > 0);
}

test add {
    try std.testing.expect(add(1, 2) == 3);
}

// The whole of it.
test "a ring takes items" {
    var ring = try Ring(u8).init(std.testing.allocator, 4);
    try ring.push(1);
}

pub fn main() !void {
    const text =
        \\fn not_a_function() void {
        \\}
    ;
    std.debug.print("{s}\n", .{text});
}
