import { EvalFlags, JSException, type JSValueHandle, type QuickJS } from 'quickjs-wasi';
import type { RunRequest } from '../messages.ts';
import type { SandboxOutcome, SandboxPlace } from '../outcome.ts';
import type { Machine, MachineMoment } from './machine.ts';
import { WebAssembly } from './machine.ts';

/** Compiled scripts and modules by source; the one that was not used for the longest time goes. */
export interface ScriptCache {
  readonly scripts: Map<string, CompiledScript>;
  readonly modules: Map<string, CompiledScript>;
  readonly worlds: Worlds;
}

export const emptyScriptCache = (): ScriptCache => ({
  scripts: new Map(),
  modules: new Map(),
  worlds: createWorlds(),
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
    const world =
      before === undefined
        ? undefined
        : cache.worlds.find(machine, request, (globals) =>
            makeWorld(machine, request, globals, before, script),
          );
    machine.reset(memoryBytes, world?.moment);
    if (before === undefined || world !== undefined) callWithGlobals(machine, begin, request);
    else {
      const how = evaluate(machine, request, before);
      if (how === 'pending') return AWAITS;
      cache.worlds.evaluated(request, how.globals);
    }
    const value =
      world?.script === undefined
        ? vm.evalBytecode(script.bytecode)
        : vm.callFunction(world.script, vm.undefined);
    const answer = vm.callFunction(finish, vm.undefined, value, vm.newNumber(request.outputBytes));
    return wasInterrupted() ? { kind: 'interrupted' } : read(answer.toString());
  } catch (thrown) {
    // A script may catch what its end brings about, or throw in its stead: what counts is that it was stopped.
    return wasInterrupted() ? { kind: 'interrupted' } : failure(thrown, indent);
  }
}

/** With what differs from run to run watched. Throws what the module throws. */
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

function makeWorld(
  machine: Machine,
  { source, memoryBytes }: RunRequest,
  globals: string,
  module: CompiledScript,
  script: CompiledScript,
): World | undefined {
  machine.reset(memoryBytes);
  const body = script.indent === 0 ? undefined : compileFunction(machine.vm, source);
  if (body !== undefined && 'message' in body) return undefined;
  let isSteady = false;
  let ready: JSValueHandle | undefined;
  const moment = machine.keep(memoryBytes, () => {
    const how = evaluate(machine, { globals, frozen: NO_NAMES, seed: 0 }, module);
    isSteady = how !== 'pending' && how.globals !== undefined;
    if (body !== undefined) ready = machine.vm.evalBytecode(body.bytecode);
  });
  return moment === undefined || !isSteady ? undefined : { moment, script: ready };
}

const syntax = ({ message, place }: SyntaxFinding): SandboxOutcome => ({
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
): CompiledScript | SyntaxFinding {
  const found = cache.get(source);
  if (found !== undefined) {
    cache.delete(source); // and to the end: the first is the oldest
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
    // The thread's own stack ran out before the engine's limit: a RangeError, in the midst of WebAssembly.
    const isStack = thrown instanceof RangeError || thrown instanceof WebAssembly.RuntimeError;
    return isStack ? { kind: 'stack' } : { kind: 'threw', name: 'internal', message: clip(String(thrown)) };
  }
  const { name, message, stack } = thrown;
  if (name === 'InternalError' && message === 'out of memory') return { kind: 'memory' };
  if (name === 'RangeError' && message === 'Maximum call stack size exceeded') return { kind: 'stack' };
  // What is thrown need not be an Error; the engine's wrapper shows null as "<null>".
  if (stack === undefined || stack === NULL_TEXT)
    return { kind: 'threw', name: '', message: message === NULL_TEXT ? 'null' : clip(message) };
  return { kind: 'threw', name: clip(name), message: clip(message), place: placeIn(stack, indent) };
}

const clip = (text: string): string => (text.length > MAX_MESSAGE ? `${text.slice(0, MAX_MESSAGE)}…` : text);

/** A script as bytecode. */
export interface CompiledScript {
  readonly bytecode: Uint8Array;
  /** Characters that stand before the script in its first line. */
  readonly indent: number;
}

export interface SyntaxFinding {
  readonly message: string;
  readonly place: SandboxPlace | undefined;
}

const FILE = 'script';
const OPENING = '(function () {';

/**
 * As a program, whose last value is its result. That has no place for `return`, so a script that is refused for one is
 * read as the body of a function instead: no script can be read both ways. The machine has to be reset behind it.
 */
function compileScript(vm: QuickJS, source: string): CompiledScript | SyntaxFinding {
  const asProgram = compile(vm, source, 0);
  if ('bytecode' in asProgram || !/^return not in a function/.test(asProgram.message)) return asProgram;
  return compile(vm, `${OPENING}${source}\n})()`, OPENING.length);
}

/** A script with a `return`, as a function that is yet to be called. The machine has to be reset behind it. */
const compileFunction = (vm: QuickJS, source: string): CompiledScript | SyntaxFinding =>
  compile(vm, `${OPENING}${source}\n})`, OPENING.length);

/** As an ES module. The machine has to be reset behind it. */
const compileModule = (vm: QuickJS, source: string): CompiledScript | SyntaxFinding =>
  compile(vm, source, 0, EvalFlags.TYPE_MODULE);

function compile(
  vm: QuickJS,
  source: string,
  indent: number,
  flags: number = EvalFlags.TYPE_GLOBAL | EvalFlags.STRICT,
): CompiledScript | SyntaxFinding {
  try {
    return { bytecode: vm.compile(source, FILE, flags), indent };
  } catch (thrown) {
    if (thrown instanceof WebAssembly.RuntimeError || thrown instanceof RangeError) throw thrown;
  }
  // The reason comes without its place from there. What cannot be compiled is not run here, either.
  try {
    vm.evalCode(source, FILE, flags | EvalFlags.COMPILE_ONLY);
    return { message: 'it cannot be compiled', place: undefined };
  } catch (thrown) {
    if (!(thrown instanceof JSException)) throw thrown;
    return { message: thrown.message, place: placeIn(thrown.stack, indent) };
  }
}

/** The first place in a stack trace that is in the script. */
function placeIn(stack: string | undefined, indent: number): SandboxPlace | undefined {
  const [, line, column] = /(?:^|[\s(])script:(\d+):(\d+)/.exec(stack ?? '') ?? [];
  if (line === undefined || column === undefined) return undefined;
  const isFirst = line === '1';
  return { line: Number(line), column: Math.max(1, Number(column) - (isFirst ? indent : 0)) };
}

/** A world in which a module has been evaluated, and the script behind it, where that can be, is ready to be called. */
export interface World {
  readonly moment: MachineMoment;
  readonly script: JSValueHandle | undefined;
}

/**
 * Worlds that are kept between runs. Nothing passes from run to run by them: each begins with the world as it was when
 * the module had been evaluated, byte for byte. Only modules have one that looked at nothing which differs from run to
 * run when they were first evaluated, so that a run cannot tell whether its world was kept.
 */
export interface Worlds {
  /** `make` is called for a module that has shown to be such a one. Undefined: it is to be evaluated for this run. */
  find(
    machine: Machine,
    request: RunRequest,
    make: (globals: string) => World | undefined,
  ): World | undefined;
  /** Tells how the first evaluation went: with the globals to be watched in the next, or without where it looked. */
  evaluated(request: RunRequest, globals: string | undefined): void;
}

/** What is known of a module: nothing is kept before its second run, since most that are checked are not asked. */
interface ScriptKnown {
  readonly memoryBytes: number;
  readonly now: number;
  /** Undefined where it is to be evaluated for each run. */
  readonly globals: string | undefined;
  readonly source?: string;
  readonly world?: World;
}

const MAX_MODULES = 256;
const MAX_KEPT_BYTES = 8 * 1024 * 1024;

function createWorlds(): Worlds {
  /** By module; the first was not used for the longest time. */
  const modules = new Map<string, ScriptKnown>();
  let keptBytes = 0;
  let madeOn: Machine | undefined;

  const forget = (module: string) => {
    keptBytes -= modules.get(module)?.world?.moment.bytes ?? 0;
    modules.delete(module);
  };
  const put = (module: string, known: ScriptKnown) => {
    forget(module);
    keptBytes += known.world?.moment.bytes ?? 0;
    modules.set(module, known);
    for (const oldest of modules.keys()) {
      if (modules.size <= MAX_MODULES && keptBytes <= MAX_KEPT_BYTES) return;
      forget(oldest);
    }
  };

  return {
    find(machine, { module = '', source, memoryBytes, now, logs }, make) {
      if (machine !== madeOn) {
        for (const [each, { world: _, ...known }] of [...modules]) put(each, known);
        madeOn = machine;
      }
      const known = modules.get(module);
      if (known?.globals === undefined || logs) return undefined;
      if (known.memoryBytes !== memoryBytes || known.now !== now) return undefined;
      const world = known.source === source && known.world !== undefined ? known.world : make(known.globals);
      put(module, world === undefined ? { ...known, globals: undefined } : { ...known, source, world });
      return world;
    },
    evaluated({ module = '', memoryBytes, now, logs }, globals) {
      // What it writes to its console, and the time that it may have read, belong to its run.
      if (!modules.has(module) && now !== undefined && !logs) put(module, { memoryBytes, now, globals });
    },
  };
}
