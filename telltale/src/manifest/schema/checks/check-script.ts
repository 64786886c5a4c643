import { Script } from 'node:vm';
import type { Issue } from '../../issue.ts';
import { type DocumentNode, errorAt } from './document-node.ts';

const FILE = 'script';
const STRICT = "'use strict';";
const OPENING = `${STRICT}(function () {`;

/** A script must be JavaScript: a strict program, or the body of a function if it returns. Parsed only, never run. */
export function checkScript(script: DocumentNode): readonly Issue[] {
  const source = script.value;
  if (typeof source !== 'string') return [];
  const asProgram = syntaxError(STRICT, source, '');
  const error =
    asProgram?.message === 'Illegal return statement' ? syntaxError(OPENING, source, '\n})') : asProgram;
  if (error === undefined) return [];
  const hint = /\bawait\b/.test(source)
    ? 'Scripts are synchronous, so they cannot use await.'
    : 'Its result is what it returns, or its last value.';
  return [
    errorAt(script, 'bad_script', `This is not JavaScript: ${error.message}.`, {
      hint,
      offset: error.offset,
    }),
  ];
}

/** `export` before what is declared: without it a module reads as a program. */
const EXPORT = /^([ \t]*)export(?=\s+(?:async|function|const|let|var|class)\b)/gm;

/** The same of a module of functions. What only a module may hold is left to the sandbox. */
export function checkModule(module: DocumentNode): readonly Issue[] {
  const source = module.text()?.replaceAll(EXPORT, (found) => ' '.repeat(found.length)) ?? '';
  if (/\b(?:import|export|await)\b/.test(source)) return [];
  const error = syntaxError(STRICT, source, '');
  if (error === undefined) return [];
  return [
    errorAt(module, 'bad_script', `This is not JavaScript: ${error.message}.`, {
      hint: 'The source has to be an ES module, with one function per method.',
      offset: error.offset,
    }),
  ];
}

function syntaxError(
  before: string,
  source: string,
  behind: string,
): { readonly message: string; readonly offset: number } | undefined {
  try {
    new Script(before + source + behind, { filename: FILE, columnOffset: -before.length });
    return undefined;
  } catch (thrown) {
    if (thrown instanceof RangeError) return { message: 'it is nested too deep', offset: 0 }; // the parser's stack
    if (!(thrown instanceof SyntaxError)) throw thrown;
    return { message: thrown.message, offset: offsetIn(source, thrown.stack ?? '') };
  }
}

/** Node shows a syntax error as `FILE:LINE`, the line, and a caret below it; the line with all that stands before. */
function offsetIn(source: string, stack: string): number {
  const [first = '', shown = '', caret = ''] = stack.split('\n');
  const line = Number(/:(\d+)$/.exec(first)?.[1] ?? 1);
  const lines = source.split('\n');
  const own = lines[line - 1] ?? '';
  const column = caret.indexOf('^') - (shown.length - own.length);
  const start = lines.slice(0, line - 1).reduce((sum, each) => sum + each.length + 1, 0);
  return Math.max(0, Math.min(source.length - 1, start + Math.max(0, column)));
}
