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
  /** What a promise was rejected with. */
  reasonOf(rejected: JSValueHandle): JSValueHandle;
  /** Forgets everything since `openMachine`. All handles made since then are void. */
  reset(memoryBytes: number): void;
  /** Whether a script made it take memory of the system, which WebAssembly cannot give back. */
  isSpent(): boolean;
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
  const [begin, finish] = [kit.getProp('0'), kit.getProp('1')];
  // The package keeps handles of these once they are asked for: they have to be older than the copy.
  for (const kept of [vm.global, vm.undefined, vm.null, vm.true, vm.false]) void kept.isNull;

  // The greatest free block is the last: everything that lives is below it.
  const end = exports.wasm_malloc(HEADROOM_BYTES);
  exports.wasm_free(end);
  const start = exports.__stack_pointer.value;
  const size = exports.memory.buffer.byteLength;
  const copy = new Uint8Array(exports.memory.buffer).slice(start, end);
  return {
    vm,
    begin,
    finish,
    reasonOf: (rejected) => new JSValueHandle(vm, exports.qjs_promise_result(rejected.ptr)),
    reset(memoryBytes) {
      new Uint8Array(exports.memory.buffer).set(copy, start);
      exports.__stack_pointer.value = start;
      exports.qjs_set_memory_limit(memoryBytes);
    },
    isSpent: () => exports.memory.buffer.byteLength > size,
  };
}

const ERRNO_BADF = 8;
