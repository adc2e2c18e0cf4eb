// Copyright (c) Acme. All rights reserved.

// Keeps orders and tells who listens.

extern alias Legacy;

global using System.Text;
using System;
using System.Collections.Generic;
using static System.Math;
using Json = System.Text.Json.JsonSerializer;

[assembly: InternalsVisibleTo("Acme.Orders.Tests")]

namespace Acme.Orders
{
    using Acme.Shared;

    /// <summary>
    /// Called when an order changes.
    /// </summary>
    public delegate void Changed<T>(object sender, T order) where T : class;

    /// <summary>States of an order.</summary>
    [Flags]
    public enum State
    {
        Open = 1,
        Paid = 2,
    }

    /// <summary>Something with a price.</summary>
    public interface IPriced<out T>
    {
        /// <summary>The price.</summary>
        decimal Price { get; }

        T Total(int count);
    }

    public record Line(string Sku, int Count);

    public readonly record struct Point(double X, double Y)
    {
        public double Length() => Sqrt(X * X + Y * Y);
    }

    /* Money of one currency. */
    public struct Money
    {
        public decimal Amount;

        public static Money operator +(Money a, Money b)
        {
            return new Money { Amount = a.Amount + b.Amount };
        }

        public static implicit operator decimal(Money m) => m.Amount;
    }

    /// <summary>
    /// An order of one customer.
    /// </summary>
    /// <remarks>Not safe for concurrent use.</remarks>
    [Serializable, DebuggerDisplay("{Id}")]
    public sealed partial class Order<T> : Base, IPriced<T>
        where T : class, new()
    {
        private readonly List<Line> lines = new();

        public event Changed<Order<T>> Saved;

        /// <summary>Makes an empty order.</summary>
        public Order(int id) : base(id)
        {
            Id = id;
        }

        ~Order()
        {
            Dispose(false);
        }

        public int Id { get; init; }

        /// <summary>The sum of all lines.</summary>
        [JsonIgnore]
        public decimal Price
        {
            get
            {
                return lines.Sum(l => l.Count);
            }
            private set => throw new NotSupportedException();
        }

        public Line this[int index]
        {
            get => lines[index];
        }

        // Adds a line.
        [Obsolete("use AddRange")]
        public async Task<int> Add<TLine>(TLine line) where TLine : Line
        {
            int Local(int x)
            {
                return x + 1;
            }

            lines.Add(line);
            await Task.Yield();
            return Local(lines.Count);
        }

        T IPriced<T>.Total(int count) => new T();

        private class Cursor
        {
            internal int At;

            internal bool Next()
            {
                return ++At > 0;
            }
        }
    }

    internal static class Extensions
    {
        public static string Dump(this Line line) => $"{line.Sku}";
    }
}
