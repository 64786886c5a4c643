import { EvalFlags, JSException, type QuickJS } from 'quickjs-wasi';
import type { Place } from '../messages.ts';
import { WebAssembly } from './web-assembly.ts';

/** A script as bytecode. */
export interface CompiledScript {
  readonly bytecode: Uint8Array;
  /** Characters that stand before the script in its first line. */
  readonly indent: number;
}

export interface SyntaxFinding {
  readonly message: string;
  readonly place: Place | undefined;
}

const FILE = 'script';
const OPENING = '(function () {';

/**
 * As a program, whose last value is its result. That has no place for `return`, so a script that is refused for one is
 * read as the body of a function instead: no script can be read both ways. The machine has to be reset behind it.
 */
export function compileScript(vm: QuickJS, source: string): CompiledScript | SyntaxFinding {
  const asProgram = compile(vm, source, 0);
  if ('bytecode' in asProgram || !/^return not in a function/.test(asProgram.message)) return asProgram;
  return compile(vm, `${OPENING}${source}\n})()`, OPENING.length);
}

/** A script with a `return`, as a function that is yet to be called. The machine has to be reset behind it. */
export const compileFunction = (vm: QuickJS, source: string): CompiledScript | SyntaxFinding =>
  compile(vm, `${OPENING}${source}\n})`, OPENING.length);

/** As an ES module. The machine has to be reset behind it. */
export const compileModule = (vm: QuickJS, source: string): CompiledScript | SyntaxFinding =>
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
export function placeIn(stack: string | undefined, indent: number): Place | undefined {
  const [, line, column] = /(?:^|[\s(])script:(\d+):(\d+)/.exec(stack ?? '') ?? [];
  if (line === undefined || column === undefined) return undefined;
  const isFirst = line === '1';
  return { line: Number(line), column: Math.max(1, Number(column) - (isFirst ? indent : 0)) };
}
