/* Copyright 2026 Somebody. */

/** Plays sheets of music.
  *
  * Sounds are made elsewhere.
  */
package acme.music
package player

import scala.collection.mutable
import acme.music.sheet.{Note, Rest => Pause, _}
import acme.util.*
import cats.syntax.all.given
import java.util.{List as JList}

/** What can be played. */
sealed trait Playable[+A] extends Serializable {
  def length: Int

  /** Plays twice. */
  def twice(using clock: Clock): Unit = {
    play()
    play()
  }

  def play(): Unit
}

/** A note with a pitch. */
@deprecated("use Sound", "2.0")
final case class Tone(pitch: Int, length: Int = 4) extends Playable[Int]:
  require(pitch > 0)

  def play(): Unit =
    Sound.emit(pitch)

  /** Higher by a number of steps. */
  @inline
  def +(steps: Int): Tone = copy(pitch = pitch + steps)
end Tone

case object Silence extends Playable[Nothing] {
  val length = 1
  override def play(): Unit = ()
}

/** Makes tones. */
object Tone {
  private val cache = mutable.Map.empty[Int, Tone]

  def apply(name: String): Tone = {
    def parse(s: String): Int =
      s.toInt

    cache.getOrElseUpdate(parse(name), new Tone(parse(name), 4))
  }

  implicit class Shift(val tone: Tone) extends AnyVal {
    def octave: Tone = tone + 12
  }

  val silent: Int => Tone = { n =>
    Tone(n, 0)
  }
}

// Colours of a chord.
enum Colour(val rgb: Int):
  case Red extends Colour(0xff0000)
  case Blue extends Colour(0x0000ff)

  def dark: Boolean =
    rgb < 0x808080

type Chord = List[Tone]

/** Orders tones by pitch. */
given pitchOrder: Ordering[Tone] with
  def compare(a: Tone, b: Tone): Int =
    a.pitch - b.pitch

given Conversion[Int, Tone] = Tone(_)

extension (c: Chord)
  /** The lowest tone. */
  def root: Tone = c.min

  def invert(n: Int): Chord =
    c.drop(n) ++ c.take(n)

package object defaults {
  val Tempo = 120

  def slow(t: Int): Int = t / 2
}

class Player[A <: Playable[?]](sheet: Seq[A])(implicit out: Output) {
  def this() = this(Nil)(Output.default)

  type Handler = A => Unit

  /* Plays everything. */
  def run(): Unit = sheet.foreach { p =>
    p.play()
  }

  private object State {
    var at = 0

    def next(): Int = {
      at += 1
      at
    }
  }
}

@main def start(args: String*): Unit =
  println(s"playing ${args.mkString}")
