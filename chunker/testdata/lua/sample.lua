#!/usr/bin/env lua
-- Copyright 2026 Somebody.

--- Queues of jobs with a weight.
-- Light jobs go first.
-- @module queue

local json = require("cjson")
local heap = require "queue.heap"
local log = require 'queue.log'.new("queue")
require("queue.patches")
dofile("config.lua")

local M = {}

local LIMIT = 100

--[[
Queue keeps jobs
in order of their weight.
]]
local Queue = {}
Queue.__index = Queue

--- Makes an empty queue.
-- @param size how many jobs it holds
function M.new(size)
  local self = setmetatable({}, Queue)
  self.size = size or LIMIT
  self.heap = heap.new()
  return self
end

-- Puts a job in.
function Queue:push(job, weight)
  if #self.heap >= self.size then
    return nil, "full"
  end

  local function before(a, b)
    return a.weight < b.weight
  end

  self.heap:insert({ job = job, weight = weight }, before)
  return true
end

function Queue:pop()
  return self.heap:take()
end

-- Weighs a job.
local function weigh(job)
  return job.weight or 1
end

local twice = function(x)
  return x * 2
end

M.default = function(job)
  return weigh(job)
end

M.util = {
  -- Joins words.
  join = function(...)
    return table.concat({ ... }, " ")
  end,

  text = [[
function not_a_function()
end
]],
}

function M.util.trim(s)
  return (s:gsub("^%s+", ""))
end

do
  local calls = 0

  -- Counts calls.
  function M.count()
    calls = calls + 1
    return calls
  end
end

function global_reset() LIMIT = 100 end

describe("queue", function()
  it("takes jobs", function()
    assert(M.new():push("a", 1))
  end)
end)

return M
