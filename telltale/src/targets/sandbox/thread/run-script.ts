import { JSException, type JSValueHandle } from 'quickjs-wasi';
import type { Outcome, RunRequest } from '../messages.ts';
import {
  type CompiledScript,
  compileFunction,
  compileModule,
  compileScript,
  placeIn,
  type SyntaxFinding,
} from './compile-script.ts';
import type { Machine } from './machine.ts';
import { WebAssembly } from './web-assembly.ts';
import { createWorlds, type World, type Worlds } from './worlds.ts';

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
const AWAITS: Outcome = {
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
): Outcome {
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

const syntax = ({ message, place }: SyntaxFinding): Outcome => ({
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

function read(answer: string): Outcome {
  if (answer.startsWith('=')) return { kind: 'value', json: answer.slice(1) };
  if (answer.startsWith('>')) return { kind: 'large' };
  const [path = '', found = '', hint = ''] = JSON.parse(answer.slice(1)) as readonly string[];
  return { kind: 'not_json', path: clip(path), found, hint };
}

function failure(thrown: unknown, indent: number): Outcome {
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
