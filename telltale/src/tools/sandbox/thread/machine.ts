import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import { JSValueHandle, MAX_STACK_SIZE, QuickJS } from 'quickjs-wasi';

/** Of the WebAssembly instance, what the package itself does not offer; its version is pinned for this. */
interface Exports {
  readonly memory: { readonly buffer: ArrayBuffer };
  readonly __stack_pointer: { value: number };
  wasm_malloc(bytes: number): number;
  wasm_free(address: number): void;
  qjs_set_memory_limit(bytes: number): void;
  qjs_promise_result(promise: number): number;
}

/** What the engine asks its host for while a script runs. */
export interface MachineHost {
  isOver(): boolean;
  /** Milliseconds since 1970. */
  now(): number;
  log(text: string): void;
}

/** One instance of the engine, which can be put back to what it was before it ran anything. */
export interface Machine {
  readonly vm: QuickJS;
  readonly begin: JSValueHandle;
  readonly finish: JSValueHandle;
  readonly watch: JSValueHandle;
  readonly unwatch: JSValueHandle;
  /** What a promise was rejected with. */
  reasonOf(rejected: JSValueHandle): JSValueHandle;
  /** Forgets everything since `openMachine`, or since `moment`. All handles made since then are void. */
  reset(memoryBytes: number, moment?: MachineMoment): void;
  /**
   * Does `work` after a reset and keeps what it made of the machine. Undefined where it took too much memory for that.
   * Handles that were made meanwhile hold whenever the machine is put back there.
   */
  keep(memoryBytes: number, work: () => void): MachineMoment | undefined;
  /** Whether a script made it take memory of the system, which WebAssembly cannot give back. */
  isSpent(): boolean;
}

/** What has become of a machine: all bytes that differ from those it had at its opening. */
export interface MachineMoment {
  readonly changes: readonly MachineChange[];
  readonly bytes: number;
}

interface MachineChange {
  readonly at: number;
  readonly bytes: Uint8Array;
}

/** Free memory that a machine starts with, so that a small script leaves it as large as it was. */
const HEADROOM_BYTES = 1024 * 1024;

/** Compiled once for a thread: that takes ten milliseconds, an instance of it three. */
export async function loadEngine(): Promise<EngineModule> {
  const path = createRequire(import.meta.url).resolve('quickjs-wasi/quickjs.wasm');
  return WebAssembly.compile(await readFile(pathToFileURL(path)));
}

/**
 * A reset copies 0.3 MB, which takes 15 µs; a new context would take 3 ms. The engine has all of its state in the
 * instance's memory, above the stack, so that copying this back is as good as a new instance.
 */
export async function openMachine(engine: EngineModule, host: MachineHost): Promise<Machine> {
  const vm = await QuickJS.create({
    wasm: engine,
    maxStackSize: MAX_STACK_SIZE,
    timezoneOffset: 0,
    interruptHandler: () => host.isOver(),
    wasi: (memory: Exports['memory']) => ({
      clock_time_get(_clock: number, _precision: bigint, result: number) {
        new DataView(memory.buffer).setBigUint64(result, BigInt(Math.floor(host.now())) * 1_000_000n, true);
        return 0;
      },
      // By default these would write to the standard streams of the process.
      fd_write: () => ERRNO_BADF,
    }),
  });
  const { exports } = vm as unknown as { readonly exports: Exports };
  const log = vm.newFunction('log', (line) => {
    host.log(line?.toString() ?? '');
    return vm.undefined;
  });
  const kit = vm.callFunction(vm.evalCode(PRELUDE, 'prelude'), vm.undefined, log);
  const [begin, finish, watch, unwatch] = [
    kit.getProp('0'),
    kit.getProp('1'),
    kit.getProp('2'),
    kit.getProp('3'),
  ];
  // The package keeps handles of these once they are asked for: they have to be older than the copy.
  for (const kept of [vm.global, vm.undefined, vm.null, vm.true, vm.false]) void kept.isNull;

  // The greatest free block is the last: everything that lives is below it.
  const end = exports.wasm_malloc(HEADROOM_BYTES);
  exports.wasm_free(end);
  const start = exports.__stack_pointer.value;
  const size = exports.memory.buffer.byteLength;
  const copy = new Uint8Array(exports.memory.buffer).slice(start, end);
  const reset = (memoryBytes: number, moment?: MachineMoment) => {
    const memory = new Uint8Array(exports.memory.buffer);
    memory.set(copy, start);
    if (moment !== undefined) for (const { at, bytes } of moment.changes) memory.set(bytes, at);
    exports.__stack_pointer.value = start;
    exports.qjs_set_memory_limit(memoryBytes);
  };
  return {
    vm,
    begin,
    finish,
    watch,
    unwatch,
    reasonOf: (rejected) => new JSValueHandle(vm, exports.qjs_promise_result(rejected.ptr)),
    reset,
    keep(memoryBytes, work) {
      // Above `end` is the greatest free block, in which others have left what they wrote. Its last bytes are the
      // allocator's own.
      const top = size - TOP_BYTES;
      new Uint8Array(exports.memory.buffer, end, top - end).fill(UNTOUCHED);
      reset(memoryBytes);
      work();
      const memory = new Uint8Array(exports.memory.buffer);
      const used = afterLastOther(exports.memory.buffer, end, top);
      if (memory.byteLength > size || used === top) return undefined;
      const changes = differences(copy, memory.subarray(start, end), start);
      if (used > end) changes.push({ at: end, bytes: memory.slice(end, used) });
      return { changes, bytes: changes.reduce((sum, { bytes }) => sum + bytes.length, 0) };
    },
    isSpent: () => exports.memory.buffer.byteLength > size,
  };
}

const ERRNO_BADF = 8;

/** Of the memory's end: it is not looked at there. */
const TOP_BYTES = 64 * 1024;
/** What memory is filled with to see what is written: nothing ends with it, since the allocator writes a size behind. */
const UNTOUCHED = 0xa5;
const UNTOUCHED_WORD = 0xa5a5a5a5 | 0;
const WORD = Int32Array.BYTES_PER_ELEMENT;
/** Differences that lie as close together are one. */
const CLOSE_BYTES = 64;

/** Where behind `from` and before `to` the last word ends that is not untouched; `from` where all are. */
function afterLastOther(memory: ArrayBuffer, from: number, to: number): number {
  const words = new Int32Array(memory, from, (to - from) / WORD);
  let count = words.length;
  while (count > 0 && words[count - 1] === UNTOUCHED_WORD) count--;
  return from + count * WORD;
}

/** The parts of `now` that differ from `before`, which is as long. */
function differences(before: Uint8Array, now: Uint8Array, offset: number): MachineChange[] {
  const changes: MachineChange[] = [];
  for (let place = 0; place < now.length; place++) {
    if (now[place] === before[place]) continue;
    let end = place + 1;
    for (let next = end; next < now.length && next < end + CLOSE_BYTES; next++)
      if (now[next] !== before[next]) end = next + 1;
    changes.push({ at: offset + place, bytes: now.slice(place, end) });
    place = end;
  }
  return changes;
}

/**
 * Evaluated in the sandbox before any script, once; `begin` and `finish` are called around each. They use only what
 * they took hold of here, since a script may have replaced the rest. `finish` answers `=JSON`, `>` where that is longer
 * than `limit`, or `!` and the place of what is no JSON, what is there, and what to do about it.
 *
 * `watch` and `unwatch` are called around the evaluation of a module. What differs from run to run, the globals and
 * chance, is watched meanwhile: `unwatch` answers with the globals' names and no values, as JSON, or with nothing where
 * one was looked at. A module that looked at none makes the same world each time.
 */
const PRELUDE = `((log) => {
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

/** A compiled module. */
export type EngineModule = object;

interface WebAssemblyApi {
  compile(bytes: Uint8Array): Promise<EngineModule>;
  /** What an instance ends with where its code broke. */
  readonly RuntimeError: new () => Error;
}

/** Node has it; its types leave it to those of browsers, which this package is not compiled with. */
export const { WebAssembly } = globalThis as unknown as { readonly WebAssembly: WebAssemblyApi };
