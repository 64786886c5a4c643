import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import { JSValueHandle, MAX_STACK_SIZE, QuickJS } from 'quickjs-wasi';

/** Exports of the WebAssembly instance that the package does not expose. Its version is pinned for this reason. */
interface Exports {
  readonly memory: { readonly buffer: ArrayBuffer };
  readonly __stack_pointer: { value: number };
  wasm_malloc(bytes: number): number;
  wasm_free(address: number): void;
  qjs_set_memory_limit(bytes: number): void;
  qjs_promise_result(promise: number): number;
}

/** What the engine needs from its host while a script runs. */
export interface MachineHost {
  isOver(): boolean;
  /** Milliseconds since 1970. */
  now(): number;
  log(text: string): void;
}

/** An instance of the engine that can be reset to its initial state. */
export interface Machine {
  readonly vm: QuickJS;
  readonly begin: JSValueHandle;
  readonly finish: JSValueHandle;
  readonly watch: JSValueHandle;
  readonly unwatch: JSValueHandle;
  /** The reason a promise was rejected with. */
  reasonOf(rejected: JSValueHandle): JSValueHandle;
  /**
   * Restores the state after `openMachine`, or the state of `moment`. All handles created since then become invalid.
   */
  reset(memoryBytes: number, state?: MachineState): void;
  /**
   * Runs `work` after a reset and saves the resulting state. Undefined if it used too much memory. Handles created by
   * `work` are valid whenever the machine is reset to that state.
   */
  keep(memoryBytes: number, work: () => void): MachineState | undefined;
  /** Whether a script made the instance grow. WebAssembly cannot shrink memory again. */
  isSpent(): boolean;
}

/** A saved state of a machine: all bytes that differ from its initial state. */
export interface MachineState {
  readonly changes: readonly MemoryChange[];
  readonly bytes: number;
}

interface MemoryChange {
  readonly at: number;
  readonly bytes: Uint8Array;
}

/** Free memory of a new machine, so that small scripts do not make it grow. */
const HEADROOM_BYTES = 1024 * 1024;

/** Compiles the engine once per thread. Compiling takes ten milliseconds, and creating an instance takes three. */
export async function loadEngine(): Promise<EngineModule> {
  const path = createRequire(import.meta.url).resolve('quickjs-wasi/quickjs.wasm');
  return WebAssembly.compile(await readFile(pathToFileURL(path)));
}

/**
 * Opens a machine. The engine keeps all of its state in the instance's memory, above the stack, so restoring that
 * memory is as good as a new instance. It copies 0.3 MB in 15 µs, where a new context takes 3 ms.
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
      // The defaults would write to the standard streams of the process.
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
  // The package caches handles of these values when they are first used, so they must exist before the copy is made.
  for (const kept of [vm.global, vm.undefined, vm.null, vm.true, vm.false]) void kept.isNull;

  // The largest free block is the last one, so everything in use is below it.
  const end = exports.wasm_malloc(HEADROOM_BYTES);
  exports.wasm_free(end);
  const start = exports.__stack_pointer.value;
  const size = exports.memory.buffer.byteLength;
  const copy = new Uint8Array(exports.memory.buffer).slice(start, end);
  const reset = (memoryBytes: number, state?: MachineState) => {
    const memory = new Uint8Array(exports.memory.buffer);
    memory.set(copy, start);
    if (state !== undefined) for (const { at, bytes } of state.changes) memory.set(bytes, at);
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
      // The largest free block is above `end` and may contain old data. Its last bytes belong to the allocator.
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

/** The end of the memory, which is not compared. */
const TOP_BYTES = 64 * 1024;
/**
 * Fills free memory, to see what is written. No data ends with this value, because the allocator writes a size after
 * it.
 */
const UNTOUCHED = 0xa5;
const UNTOUCHED_WORD = 0xa5a5a5a5 | 0;
const WORD = Int32Array.BYTES_PER_ELEMENT;
/** Differences that are this close together are stored as one. */
const CLOSE_BYTES = 64;

/** Where the last changed word between `from` and `to` ends. `from` if there is none. */
function afterLastOther(memory: ArrayBuffer, from: number, to: number): number {
  const words = new Int32Array(memory, from, (to - from) / WORD);
  let count = words.length;
  while (count > 0 && words[count - 1] === UNTOUCHED_WORD) count--;
  return from + count * WORD;
}

/** The parts of `now` that differ from `before`, which has the same length. */
function differences(before: Uint8Array, now: Uint8Array, offset: number): MemoryChange[] {
  const changes: MemoryChange[] = [];
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
 * Evaluated once in the sandbox, before any script. `begin` and `finish` are called around each script. They only use
 * values captured here, because a script may have replaced the globals. `finish` returns `=JSON`, or `>` if that is
 * longer than `limit`, or `!` with the path of a value that is not JSON, a description and a hint. `watch` and
 * `unwatch` are called around the evaluation of a module. In between, access to whatever differs from run to run (the
 * globals and randomness) is recorded. `unwatch` returns the names of the globals with null values, as JSON, or an
 * empty text if something was accessed. A module that accessed nothing has the same state after each evaluation.
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
  /** Thrown by an instance whose code failed. */
  readonly RuntimeError: new () => Error;
}

/** Node provides it, but its types are part of the browser types, which this package is not compiled with. */
export const { WebAssembly } = globalThis as unknown as { readonly WebAssembly: WebAssemblyApi };
