import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import { JSValueHandle, MAX_STACK_SIZE, QuickJS } from 'quickjs-wasi';
import { PRELUDE } from './prelude.ts';
import { type EngineModule, WebAssembly } from './web-assembly.ts';

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
  reset(memoryBytes: number, moment?: Moment): void;
  /**
   * Does `work` after a reset and keeps what it made of the machine. Undefined where it took too much memory for that.
   * Handles that were made meanwhile hold whenever the machine is put back there.
   */
  keep(memoryBytes: number, work: () => void): Moment | undefined;
  /** Whether a script made it take memory of the system, which WebAssembly cannot give back. */
  isSpent(): boolean;
}

/** What has become of a machine: all bytes that differ from those it had at its opening. */
export interface Moment {
  readonly changes: readonly Change[];
  readonly bytes: number;
}

interface Change {
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
  const reset = (memoryBytes: number, moment?: Moment) => {
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
function differences(before: Uint8Array, now: Uint8Array, offset: number): Change[] {
  const changes: Change[] = [];
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
