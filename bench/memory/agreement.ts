import type { AskedSymbol, CompilerCall } from './asked-symbols.ts';

/** What of the compiler's findings an answer names. */
export interface Agreement {
  /** The line where the compiler has the definition. */
  readonly isDefined: boolean;
  /** The compiler's calls; of how many of them the answer names the caller, and of how many the line. */
  readonly calls: number;
  readonly callers: number;
  readonly lines: number;
}

const CALLED_BY = /^- called by (\S+?):(\d+)(?: in ([^\s:]+))?/;

/** Of an answer as the model reads it. A caller that calls twice is named once, with the line of its first call. */
export function agreement({ name, path, line, calls }: AskedSymbol, answer: string): Agreement {
  const head = `**${name}** function ${path}:${line}`;
  const blocks = answer.split(/\n\n(?=\*\*)/);
  const own = blocks.find((block) => block.split('\n', 1)[0] === head);
  const named = (own ?? '').split('\n').flatMap((text) => {
    const [, from, at, caller] = CALLED_BY.exec(text) ?? [];
    return from === undefined ? [] : [{ path: from, line: Number(at), caller: caller?.split('.').at(-1) }];
  });
  const hasLine = (call: CompilerCall) =>
    named.some((one) => one.path === call.path && one.line === call.line);
  const hasCaller = (call: CompilerCall) =>
    named.some(
      (one) =>
        one.path === call.path &&
        (one.caller === undefined ? call.within.length === 0 : call.within.includes(one.caller)),
    );
  return {
    isDefined: own !== undefined,
    calls: calls.length,
    lines: calls.filter(hasLine).length,
    callers: calls.filter((call) => hasLine(call) || hasCaller(call)).length,
  };
}
