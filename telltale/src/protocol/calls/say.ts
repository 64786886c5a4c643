import { emit, type Output } from '../prose/output.ts';

/** A response that is there as a whole. */
export function sayWhole(output: Output, text: string, final: boolean, at: number): void {
  emit(output, { type: 'open', tag: 'response', depth: 0, final }, at);
  if (text !== '') emit(output, { type: 'delta', tag: 'response', text }, at);
  emit(output, { type: 'close', tag: 'response' }, at);
}

/** Closes a response of which `final` may have been decided only now. */
export function closeResponse(output: Output, opened: boolean, final: boolean, at: number): void {
  emit(output, { type: 'close', tag: 'response', ...(final === opened ? {} : { final }) }, at);
}
