#!/usr/bin/env kotlin
/*
 * Copyright 2026 Somebody.
 */

// Users and what they may do.

@file:JvmName("Users")
@file:Suppress("unused")

package com.acme.users

import com.acme.util.Text
import com.acme.util.trimAll as trim
import com.acme.store.*
import kotlin.math.max

/** How a user is called. */
typealias Name = String

const val LIMIT = 10

/** What has an id. */
interface Identified<T : Comparable<T>> {
    val id: T

    /** A short form of the id. */
    fun short(): String = id.toString().take(4)

    fun check(): Boolean
}

fun interface Listener {
    fun changed(user: User)
}

/** Rights of a user. */
enum class Right(val bit: Int) {
    READ(1),
    WRITE(2) {
        override fun label() = "w"
    };

    open fun label(): String {
        return name.lowercase()
    }
}

/**
 * A user of the system.
 *
 * @property name what to call her
 */
@Serializable
@Entity(table = "users")
data class User(
    override val id: Long,
    val name: Name,
) : Identified<Long>, Base(id) {

    /** Full name with title. */
    val title: String
        get() {
            return "Dr. $name"
        }

    private val lines by lazy { mutableListOf<String>() }

    init {
        require(name.isNotEmpty())
    }

    constructor(name: Name) : this(0, name) {
        lines.add(name)
    }

    // Whether all is well.
    @Throws(IOException::class)
    override fun check(): Boolean {
        fun deep(n: Int): Boolean {
            return n > 0
        }
        return deep(lines.size)
    }

    suspend inline fun <reified T> load(crossinline f: (T) -> Unit): T? = null

    /** Makes users. */
    companion object {
        const val PREFIX = "u"

        @JvmStatic
        fun parse(s: String): User {
            return User(s)
        }
    }

    companion object Named : Factory {
        override fun make() = User("x")
    }

    inner class Session {
        fun close() {
            lines.clear()
        }
    }

    object Cache {
        fun drop() = Unit
    }
}

sealed class Result<out T> {
    data class Ok<T>(val value: T) : Result<T>()
    object Missing : Result<Nothing>()
}

/** All users. */
object Users : Iterable<User> {
    override fun iterator() = TODO()
}

/** Shortens a user's name. */
fun User.nick(n: Int = 3): String = name.take(n)

val User.initial: Char
    get() = name.first()

infix fun <T> List<T>.without(x: T): List<T> {
    return filter { it != x }
}

val handler: (User) -> Unit = { user ->
    println(user)
}

fun main(args: Array<String>) {
    println("""
        fun notAFunction() {
        }
    """)
}
