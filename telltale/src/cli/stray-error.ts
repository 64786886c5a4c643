import { RuntimeError } from '../kernel/runtime-error.ts';

/** A place in a file, as a line of a stack trace ends: `/bot/tool.mjs:3:7`. Node's own files are nobody's mistake. */
const PLACE = /(?:file:\/\/|\()(\/[^\n()]*?:\d+:\d+)\)?$/m;

/** What was thrown where nobody could catch it: in a timer, or in a promise that nobody waits for. */
export function strayError(thrown: unknown): RuntimeError {
  const said = thrown instanceof Error ? thrown.message : String(thrown);
  const place = thrown instanceof Error ? PLACE.exec(thrown.stack ?? '')?.[1] : undefined;
  return new RuntimeError(
    'stray_error',
    `Code that nobody waits for failed${place === undefined ? '' : ` at ${place}`}: ${said}`,
    {
      hint: 'A tool has left work behind when it returned: wait for it with "await", or catch what it throws.',
      cause: thrown,
    },
  );
}
