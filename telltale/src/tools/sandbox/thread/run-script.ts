import { EvalFlags, JSException, type JSValueHandle, type QuickJS } from 'quickjs-wasi';
import type { RunRequest } from '../messages.ts';
import type { SandboxOutcome, ScriptPosition } from '../sandbox.ts';
import { type Machine, type MachineState, WebAssembly } from './machine.ts';

/** Compiled scripts and modules by source. The least recently used one is dropped first. */
export interface ScriptCache {
  readonly scripts: Map<string, CompiledScript>;
  readonly modules: Map<string, CompiledScript>;
  readonly moduleStates: ModuleStates;
}

export const emptyScriptCache = (): ScriptCache => ({
  scripts: new Map(),
  modules: new Map(),
  moduleStates: createModuleStates(),
});

const MAX_CACHED = 256;
const MAX_MESSAGE = 2_000;
const NULL_TEXT = '<null>';
const NO_NAMES = '[]';
/** The engine's states of a promise. */
const PENDING = 0;
const REJECTED = 2;
const AWAITS: SandboxOutcome = {
  kind: 'threw',
  name: '',
  message: 'it awaits at its top, where nothing can be awaited',
};

/** Runs a script on a machine. `wasInterrupted` tells whether the host has stopped it. Never throws. */
export function runScript(
  machine: Machine,
  request: RunRequest,
  cache: ScriptCache,
  wasInterrupted: () => boolean,
): SandboxOutcome {
  let indent = 0;
  try {
    const { source, module, memoryBytes } = request;
    const script = compiled(machine, source, memoryBytes, cache.scripts, compileScript);
    if ('message' in script) return syntax(script);
    const before =
      module === undefined ? undefined : compiled(machine, module, memoryBytes, cache.modules, compileModule);
    if (before !== undefined && 'message' in before) return syntax(before);
    indent = script.indent;
    const { vm, begin, finish } = machine;
    const moduleState =
      before === undefined
        ? undefined
        : cache.moduleStates.find(machine, request, (globals) =>
            createModuleState(machine, request, globals, before, script),
          );
    machine.reset(memoryBytes, moduleState?.state);
    if (before === undefined || moduleState !== undefined) callWithGlobals(machine, begin, request);
    else {
      const how = evaluate(machine, request, before);
      if (how === 'pending') return AWAITS;
      cache.moduleStates.evaluated(request, how.globals);
    }
    const value =
      moduleState?.script === undefined
        ? vm.evalBytecode(script.bytecode)
        : vm.callFunction(moduleState.script, vm.undefined);
    const answer = vm.callFunction(finish, vm.undefined, value, vm.newNumber(request.outputBytes));
    return wasInterrupted() ? { kind: 'interrupted' } : read(answer.toString());
  } catch (thrown) {
    // A script may catch the interruption or throw something else instead, but it still counts as interrupted.
    return wasInterrupted() ? { kind: 'interrupted' } : failure(thrown, indent);
  }
}

/**
 * Evaluates a module while recording whether it accesses whatever differs from run to run. Throws what the module
 * throws.
 */
function evaluate(
  machine: Machine,
  given: Pick<RunRequest, 'globals' | 'frozen' | 'seed'>,
  { bytecode }: CompiledScript,
): 'pending' | { readonly globals: string | undefined } {
  const { vm, watch, unwatch } = machine;
  callWithGlobals(machine, watch, given);
  const loaded = vm.evalBytecode(bytecode);
  if (loaded.promiseState === REJECTED) throw new JSException(machine.reasonOf(loaded));
  if (loaded.promiseState === PENDING) return 'pending';
  const globals = vm.callFunction(unwatch, vm.undefined).toString();
  return { globals: globals === '' ? undefined : globals };
}

function callWithGlobals(
  { vm }: Machine,
  how: JSValueHandle,
  { globals, frozen, seed }: Pick<RunRequest, 'globals' | 'frozen' | 'seed'>,
): void {
  vm.callFunction(how, vm.undefined, vm.newString(globals), vm.newString(frozen), vm.newNumber(seed));
}

function createModuleState(
  machine: Machine,
  { source, memoryBytes }: RunRequest,
  globals: string,
  module: CompiledScript,
  script: CompiledScript,
): ModuleState | undefined {
  machine.reset(memoryBytes);
  const body = script.indent === 0 ? undefined : compileFunction(machine.vm, source);
  if (body !== undefined && 'message' in body) return undefined;
  let isSteady = false;
  let ready: JSValueHandle | undefined;
  const state = machine.keep(memoryBytes, () => {
    const how = evaluate(machine, { globals, frozen: NO_NAMES, seed: 0 }, module);
    isSteady = how !== 'pending' && how.globals !== undefined;
    if (body !== undefined) ready = machine.vm.evalBytecode(body.bytecode);
  });
  return state === undefined || !isSteady ? undefined : { state, script: ready };
}

const syntax = ({ message, place }: SyntaxProblem): SandboxOutcome => ({
  kind: 'syntax',
  message: clip(message),
  place,
});

function compiled(
  machine: Machine,
  source: string,
  memoryBytes: number,
  cache: Map<string, CompiledScript>,
  compile: typeof compileScript,
): CompiledScript | SyntaxProblem {
  const found = cache.get(source);
  if (found !== undefined) {
    cache.delete(source); // move it to the end, because the first entry is the oldest
    cache.set(source, found);
    return found;
  }
  machine.reset(memoryBytes);
  const made = compile(machine.vm, source);
  if ('message' in made) return made;
  const [oldest] = cache.keys();
  if (cache.size >= MAX_CACHED && oldest !== undefined) cache.delete(oldest);
  cache.set(source, made);
  return made;
}

function read(answer: string): SandboxOutcome {
  if (answer.startsWith('=')) return { kind: 'value', json: answer.slice(1) };
  if (answer.startsWith('>')) return { kind: 'large' };
  const [path = '', found = '', hint = ''] = JSON.parse(answer.slice(1)) as readonly string[];
  return { kind: 'not_json', path: clip(path), found, hint };
}

function failure(thrown: unknown, indent: number): SandboxOutcome {
  if (!(thrown instanceof JSException)) {
    // The thread's own stack overflowed before the engine's limit, which shows as a RangeError inside WebAssembly.
    const isStack = thrown instanceof RangeError || thrown instanceof WebAssembly.RuntimeError;
    return isStack ? { kind: 'stack' } : { kind: 'threw', name: 'internal', message: clip(String(thrown)) };
  }
  const { name, message, stack } = thrown;
  if (name === 'InternalError' && message === 'out of memory') return { kind: 'memory' };
  if (name === 'RangeError' && message === 'Maximum call stack size exceeded') return { kind: 'stack' };
  // A thrown value may be no Error. The engine's wrapper shows null as "<null>".
  if (stack === undefined || stack === NULL_TEXT)
    return { kind: 'threw', name: '', message: message === NULL_TEXT ? 'null' : clip(message) };
  return { kind: 'threw', name: clip(name), message: clip(message), place: placeIn(stack, indent) };
}

const clip = (text: string): string => (text.length > MAX_MESSAGE ? `${text.slice(0, MAX_MESSAGE)}…` : text);

/** A script as bytecode. */
export interface CompiledScript {
  readonly bytecode: Uint8Array;
  /** How many characters precede the script in its first line. */
  readonly indent: number;
}

export interface SyntaxProblem {
  readonly message: string;
  readonly place: ScriptPosition | undefined;
}

const FILE = 'script';
const OPENING = '(function () {';

/**
 * Compiles a script as a program, whose last value is its result. A program cannot contain `return`, so a script that
 * is refused for that reason is compiled as the body of a function. No script is valid both ways. The machine must be
 * reset afterwards.
 */
function compileScript(vm: QuickJS, source: string): CompiledScript | SyntaxProblem {
  const asProgram = compile(vm, source, 0);
  if ('bytecode' in asProgram || !/^return not in a function/.test(asProgram.message)) return asProgram;
  return compile(vm, `${OPENING}${source}\n})()`, OPENING.length);
}

/** Compiles a script with a `return` as a function that can be called later. The machine must be reset afterwards. */
const compileFunction = (vm: QuickJS, source: string): CompiledScript | SyntaxProblem =>
  compile(vm, `${OPENING}${source}\n})`, OPENING.length);

/** Compiles an ES module. The machine must be reset afterwards. */
const compileModule = (vm: QuickJS, source: string): CompiledScript | SyntaxProblem =>
  compile(vm, source, 0, EvalFlags.TYPE_MODULE);

function compile(
  vm: QuickJS,
  source: string,
  indent: number,
  flags: number = EvalFlags.TYPE_GLOBAL | EvalFlags.STRICT,
): CompiledScript | SyntaxProblem {
  try {
    return { bytecode: vm.compile(source, FILE, flags), indent };
  } catch (thrown) {
    if (thrown instanceof WebAssembly.RuntimeError || thrown instanceof RangeError) throw thrown;
  }
  // `compile` reports no position, so the code is checked again without running it.
  try {
    vm.evalCode(source, FILE, flags | EvalFlags.COMPILE_ONLY);
    return { message: 'it cannot be compiled', place: undefined };
  } catch (thrown) {
    if (!(thrown instanceof JSException)) throw thrown;
    return { message: thrown.message, place: placeIn(thrown.stack, indent) };
  }
}

/** The first position in a stack trace that is inside the script. */
function placeIn(stack: string | undefined, indent: number): ScriptPosition | undefined {
  const [, line, column] = /(?:^|[\s(])script:(\d+):(\d+)/.exec(stack ?? '') ?? [];
  if (line === undefined || column === undefined) return undefined;
  const isFirst = line === '1';
  return { line: Number(line), column: Math.max(1, Number(column) - (isFirst ? indent : 0)) };
}

/** The state after a module has been evaluated, and the script as a function to call, if it can be one. */
export interface ModuleState {
  readonly state: MachineState;
  readonly script: JSValueHandle | undefined;
}

/**
 * States that are kept between runs. No data passes between runs: each starts with the bytes as they were after the
 * module was evaluated. Only a module that accessed nothing that differs between runs qualifies, so a run cannot tell
 * whether its state was restored.
 */
export interface ModuleStates {
  /** `make` is called for a module that qualifies. Undefined if the module must be evaluated for this run. */
  find(
    machine: Machine,
    request: RunRequest,
    make: (globals: string) => ModuleState | undefined,
  ): ModuleState | undefined;
  /**
   * Records the first evaluation of a module: with the globals to watch in the next one, or undefined if it accessed
   * something.
   */
  evaluated(request: RunRequest, globals: string | undefined): void;
}

/** What is known of a module. Nothing is saved before its second run, because most modules are only checked once. */
interface KnownModule {
  readonly memoryBytes: number;
  readonly now: number;
  /** Undefined if it must be evaluated for each run. */
  readonly globals: string | undefined;
  readonly source?: string;
  readonly moduleState?: ModuleState;
}

const MAX_MODULES = 256;
const MAX_KEPT_BYTES = 8 * 1024 * 1024;

function createModuleStates(): ModuleStates {
  /** By module source, least recently used first. */
  const modules = new Map<string, KnownModule>();
  let keptBytes = 0;
  let madeOn: Machine | undefined;

  const forget = (module: string) => {
    keptBytes -= modules.get(module)?.moduleState?.state.bytes ?? 0;
    modules.delete(module);
  };
  const put = (module: string, known: KnownModule) => {
    forget(module);
    keptBytes += known.moduleState?.state.bytes ?? 0;
    modules.set(module, known);
    for (const oldest of modules.keys()) {
      if (modules.size <= MAX_MODULES && keptBytes <= MAX_KEPT_BYTES) return;
      forget(oldest);
    }
  };

  return {
    find(machine, { module = '', source, memoryBytes, now, logs }, make) {
      if (machine !== madeOn) {
        for (const [each, { moduleState: _, ...known }] of [...modules]) put(each, known);
        madeOn = machine;
      }
      const known = modules.get(module);
      if (known?.globals === undefined || logs) return undefined;
      if (known.memoryBytes !== memoryBytes || known.now !== now) return undefined;
      const moduleState =
        known.source === source && known.moduleState !== undefined ? known.moduleState : make(known.globals);
      put(
        module,
        moduleState === undefined ? { ...known, globals: undefined } : { ...known, source, moduleState },
      );
      return moduleState;
    },
    evaluated({ module = '', memoryBytes, now, logs }, globals) {
      // Console output, and a clock that was read, belong to one run.
      if (!modules.has(module) && now !== undefined && !logs) put(module, { memoryBytes, now, globals });
    },
  };
}
