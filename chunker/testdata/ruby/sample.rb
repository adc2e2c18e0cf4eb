# frozen_string_literal: true

# Accounts and the money in them.
#
# Everything here is kept in memory.

require "json"
require 'net/http'
require_relative "errors"
require_relative '../shared/money'
load "tasks/extra.rake"

module Bank
  autoload :Ledger, "bank/ledger"

  VERSION = "1.2.0"

  # Raised when there is too little money.
  class Overdrawn < StandardError; end

  # Something that has a balance.
  module Balanced
    # Makes the including class know its limits.
    def self.included(base)
      base.extend(ClassMethods)
    end

    module ClassMethods
      def limit(value = nil)
        @limit = value if value
        @limit
      end
    end

    def rich?
      balance > self.class.limit
    end
  end

  # An account of one owner.
  #
  # @example
  #   Account.new("ann").deposit(5)
  class Account < Base::Record
    include Balanced
    extend Forwardable

    limit 10_000

    attr_reader :owner, :balance
    attr_accessor :note

    # @param owner [String]
    def initialize(owner)
      @owner = owner
      @balance = 0
    end

    # Adds +amount+ to the balance.
    def deposit(amount)
      raise ArgumentError, "negative" if amount.negative?

      @balance += amount
      self
    end

    # Opens an account from a row.
    def self.from_row(row)
      new(row.fetch("owner")).tap do |a|
        a.deposit(row["balance"].to_i)
      end
    end

    class << self
      # All accounts known.
      def all
        @all ||= {}
      end

      private

      def reset!
        @all = nil
      end
    end

    def ==(other)
      other.is_a?(Account) && owner == other.owner
    end

    def [](key) = instance_variable_get("@#{key}")

    alias_method :add, :deposit

    private def secret
      <<~TEXT
        def not_a_method
        end
      TEXT
    end

    # Sums up.
    define_method(:total) do |extra = 0|
      balance + extra
    end

    Entry = Struct.new(:at, :amount) do
      def to_s
        "#{at}: #{amount}"
      end
    end
  end

  class Account::Report
    def print(io: $stdout)
      io.puts(owner)
    end
  end
end

# Prints a greeting.
def greet(name)
  puts "hello #{name}"
end

describe Bank::Account do
  let(:account) { Bank::Account.new("ann") }

  it "takes money" do
    account.deposit(5)
    expect(account.balance).to eq(5)
  end
end

if $PROGRAM_NAME == __FILE__
  greet(ARGV.first)
end

__END__
class NotCode
end
