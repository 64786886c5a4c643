/**
 * Evaluated in the sandbox before any script, once; `begin` and `finish` are called around each. They use only what
 * they took hold of here, since a script may have replaced the rest. `finish` answers `=JSON`, `>` where that is longer
 * than `limit`, or `!` and the place of what is no JSON, what is there, and what to do about it.
 *
 * `watch` and `unwatch` are called around the evaluation of a module. What differs from run to run, the globals and
 * chance, is watched meanwhile: `unwatch` answers with the globals' names and no values, as JSON, or with nothing where
 * one was looked at. A module that looked at none makes the same world each time.
 */
export const PRELUDE = `((log) => {
  'use strict';
  const { parse, stringify } = JSON;
  const { freeze, getPrototypeOf, defineProperty, keys } = Object;
  const { isArray } = Array;
  const { isView } = ArrayBuffer;
  const plain = Object.prototype;
  const world = globalThis;
  const text = String;
  const types = [
    [Promise, 'a Promise', 'Scripts are synchronous: return the value itself.'],
    [Map, 'a Map', 'Return Object.fromEntries(map).'],
    [Set, 'a Set', 'Return [...set].'],
    [Error, 'an Error', 'Throw it, so that the action fails.'],
    [RegExp, 'a RegExp', 'Return plain JSON.'],
    [ArrayBuffer, 'bytes', 'Return them as a list of numbers or as text.'],
  ];

  const shown = (value) => {
    if (typeof value === 'string') return value;
    try {
      return stringify(value) ?? text(value);
    } catch {
      return text(value);
    }
  };
  const write = (...values) => {
    let line = '';
    for (let index = 0; index < values.length; index++) line += (index === 0 ? '' : ' ') + shown(values[index]);
    log(line);
  };
  defineProperty(world, 'console', {
    value: freeze({ log: write, info: write, warn: write, error: write, debug: write }),
    configurable: true,
    writable: true,
  });

  const freezeAll = (value) => {
    if (typeof value !== 'object' || value === null) return value;
    const names = keys(value);
    for (let index = 0; index < names.length; index++) freezeAll(value[names[index]]);
    return freeze(value);
  };

  /* sfc32: small, quick, passes the usual tests. The engine's own generator is seeded once, before the snapshot. */
  const seededRandom = (seed) => {
    let a = seed >>> 0, b = (seed / 4294967296) >>> 0, c = 0x9e3779b9, d = 1;
    const next = () => {
      const t = (((a + b) | 0) + d) | 0;
      d = (d + 1) | 0;
      a = b ^ (b >>> 9);
      b = (c + (c << 3)) | 0;
      c = (c << 21) | (c >>> 11);
      c = (c + t) | 0;
      return t >>> 0;
    };
    for (let round = 0; round < 12; round++) next();
    return () => ((next() >>> 5) * 67108864 + (next() >>> 6)) / 9007199254740992;
  };

  let seed;
  let random;
  let watched;
  let isLookedAt = false;
  /* Made once: the first change of an object of the engine's own takes ten microseconds. */
  Math.random = () => {
    if (watched !== undefined) isLookedAt = true;
    return (random ??= seededRandom(seed))();
  };

  const read = (globals, frozen, chance) => {
    seed = chance;
    const given = parse(globals);
    if (frozen !== '[]') {
      const names = parse(frozen);
      for (let index = 0; index < names.length; index++) freezeAll(given[names[index]]);
    }
    return given;
  };
  const begin = (globals, frozen, chance) => {
    const given = read(globals, frozen, chance);
    const names = keys(given);
    for (let index = 0; index < names.length; index++) world[names[index]] = given[names[index]];
  };

  const define = (name, descriptor) =>
    defineProperty(world, name, { __proto__: null, enumerable: true, configurable: true, ...descriptor });
  const watch = (globals, frozen, chance) => {
    const given = read(globals, frozen, chance);
    watched = given;
    isLookedAt = false;
    const names = keys(given);
    for (let index = 0; index < names.length; index++) {
      const name = names[index];
      define(name, {
        __proto__: null,
        get() {
          isLookedAt = true;
          return given[name];
        },
        set(value) {
          isLookedAt = true;
          given[name] = value;
        },
      });
    }
  };
  const unwatch = () => {
    const given = watched;
    watched = undefined;
    const names = keys(given);
    const bare = { __proto__: null };
    for (let index = 0; index < names.length; index++) {
      define(names[index], { __proto__: null, value: given[names[index]], writable: true });
      bare[names[index]] = null;
    }
    return isLookedAt ? '' : stringify(bare);
  };

  const MAX_DEPTH = 100;
  const PLAIN = 'Return plain JSON.';
  const finish = (value, limit) => {
    const holders = [];
    const names = [];
    let depth = 0;
    let bad;
    const refuse = (key, found, hint = PLAIN) => {
      let path = '';
      for (let index = 1; index < depth; index++) path += '/' + names[index];
      if (depth > 0) path += '/' + key;
      bad = [path, found, hint];
      throw bad;
    };
    const judge = function (key, found) {
      while (depth > 0 && holders[depth - 1] !== this) depth--;
      switch (typeof found) {
        case 'number':
          if (found - found !== 0) refuse(key, text(found));
          return found;
        case 'bigint':
          return refuse(key, 'a BigInt', 'Return it as text: String(value).');
        case 'symbol':
          return refuse(key, 'a symbol');
        case 'function':
          return refuse(key, 'a function', depth === 0 ? 'Call it: the last value is the result.' : PLAIN);
        case 'object':
          break;
        default:
          return found;
      }
      if (found === null) return found;
      if (!isArray(found) && getPrototypeOf(found) !== plain) {
        if (isView(found)) refuse(key, 'bytes', 'Return them as a list: [...bytes].');
        for (let index = 0; index < types.length; index++)
          if (found instanceof types[index][0]) refuse(key, types[index][1], types[index][2]);
      }
      for (let index = 0; index < depth; index++)
        if (holders[index] === found) refuse(key, 'an object that holds itself');
      if (depth === MAX_DEPTH) refuse(key, 'nested deeper than 100 levels', 'Return a flatter value.');
      holders[depth] = found;
      names[depth++] = key;
      return found;
    };
    let json;
    try {
      json = stringify(value, judge) ?? 'null';
    } catch (thrown) {
      if (bad === undefined || thrown !== bad) throw thrown;
      return '!' + stringify(bad);
    }
    return json.length > limit ? '>' : '=' + json;
  };
  return [begin, finish, watch, unwatch];
})`;
