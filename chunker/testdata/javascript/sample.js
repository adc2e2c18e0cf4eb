#!/usr/bin/env node
'use strict';

// Reads settings and serves them.

const fs = require('fs');
const { join } = require("node:path");
import def, { named } from './lib/util.js';
export { other } from '../other.mjs';

/* Not an import: require('nothing') */
const lazy = () => import('./lazy.js');

/**
 * Reads the settings of a user.
 */
function readSettings(path) {
  return JSON.parse(fs.readFileSync(path));
}

export async function* stream(items) {
  for (const item of items) {
    yield item;
  }
}

export default () => {
  return readSettings(join('a', 'b'));
};

class Queue extends Array {
  #size = 0;
  static empty = () => new Queue();

  push(item) {
    this.#size++;
    return super.push(item);
  }

  ['computed']() {
    return 1;
  }
}

function Legacy(name) {
  this.name = name;
}

Legacy.prototype.greet = function (other) {
  return 'Hello ' + other + ', I am ' + this.name;
};

module.exports.start = async function start() {
  const q = new Queue();
  q.push(named(def));
};

const routes = {
  home: '/',
  about: '/about',
};
