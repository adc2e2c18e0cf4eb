// Shapes, and a queue of them.
// Second line.

#include <vector>
#include "shape.hpp"

namespace geo {
namespace detail {

// Clamps a value.
template <typename T>
T clamp(T v, T lo, T hi) {
  return v < lo ? lo : v > hi ? hi : v;
}

}  // namespace detail

/// A shape has an area.
class Shape : public Base {
 public:
  Shape() = default;
  explicit Shape(int sides) : sides_(sides) {}
  virtual ~Shape() { release(); }

  virtual double area() const = 0;

  bool operator==(const Shape& other) const {
    return sides_ == other.sides_;
  }

  struct Options {
    int a;
    int b;
  };

 private:
  int sides_ = 0;
  std::vector<int> edges_;
};

template <class T, int N>
class Queue {
 public:
  void push(const T& v);
  T* front() { return &items_[0]; }

 private:
  T items_[N];
};

template <class T, int N>
void Queue<T, N>::push(const T& v) {
  items_[0] = v;
}

double Shape::perimeter() const { return 0; }

Shape::operator bool() const { return sides_ > 0; }

enum class Color : int { Red, Green };

using Shapes = std::vector<Shape>;

}  // namespace geo

extern "C" {
int geo_version(void) {
  return 1;
}
}

namespace {
int hidden() { return 2; }
}

auto geo::make(int n) -> std::unique_ptr<Shape> {
  return nullptr;
}
