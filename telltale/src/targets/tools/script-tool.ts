import type { Json } from '../../kernel/json.ts';
import { DEFAULT_SCRIPT_MEMORY, DEFAULT_SCRIPT_MS, type Sandbox } from '../sandbox/sandbox.ts';
import type { Implementation, ToolContext } from './implementation.ts';

/**
 * JavaScript in a sandbox: it sees `parameters`, `agent` and a `console` whose lines are progress, and nothing else. Its
 * last value, or what it returns, is the result.
 */
export function scriptTool(
  { script }: { readonly script: string },
  { what, maxBytes, stream, timeoutMs = DEFAULT_SCRIPT_MS }: ToolContext,
  { sandbox }: { readonly sandbox: Sandbox },
): Implementation {
  // The snapshot takes longer to make and to pass on than most scripts take to run.
  const namesAgent = /\bagent\b/.test(script);
  const limits = { timeMs: timeoutMs, memoryBytes: DEFAULT_SCRIPT_MEMORY, outputBytes: maxBytes };
  sandbox.warm();
  return async (parameters, call) => {
    const json = await sandbox.run({
      what,
      source: script,
      globals: namesAgent ? { parameters, agent: call.agent() } : { parameters },
      frozen: namesAgent ? ['agent'] : [],
      limits,
      signal: call.signal,
      onLog: stream ? (text) => call.progress({ text }) : undefined,
    });
    return JSON.parse(json) as Json;
  };
}
