import { Script } from 'node:vm';
import type { Finding } from '../../manifest/diagnostic.ts';
import { notPlain } from './code-findings.ts';

export type FunctionText =
  | { readonly ok: true; readonly expression: string }
  | { readonly ok: false; readonly finding: Finding };

/** A function's own text, as an expression that makes it anew elsewhere. What it closes over stays behind. */
export function functionText(made: (...args: never[]) => unknown): FunctionText {
  const text = Function.prototype.toString.call(made);
  const refused = (why: string): FunctionText => ({ ok: false, finding: notPlain(why) });
  if (/\{\s*\[native code\]\s*\}$/.test(text)) return refused('is native or bound: it has no text');
  if (/^class\b/.test(text)) return refused('is a class');
  if (Object.getPrototypeOf(made) !== Function.prototype)
    return refused('is asynchronous or a generator: a decision is taken at once');
  if (isExpression(text)) return { ok: true, expression: text };
  // A method in short form, `name() { … }`, is one only inside of an object.
  const inObject = `Object.values({ ${text} })[0]`;
  return isExpression(inObject)
    ? { ok: true, expression: inObject }
    : refused('has a text that is no JavaScript by itself');
}

/** Compiled, never run. */
function isExpression(text: string): boolean {
  try {
    return new Script(`'use strict';(${text}\n)`) !== undefined;
  } catch {
    return false;
  }
}
