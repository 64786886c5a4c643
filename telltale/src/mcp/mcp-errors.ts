import { existsSync } from 'node:fs';
import { RuntimeError } from '../kernel/runtime-error.ts';
import type { McpServerStart } from '../targets/mcp/mcp-server.ts';

/** What a server said beside its messages: the end of its stderr, and of what it printed that is no message. */
export interface ServerWords {
  readonly stderr: string;
  readonly junk: string;
}

const MAX_SHOWN = 1_500;

export function cannotStart(
  { name, command, cwd }: McpServerStart,
  cause: NodeJS.ErrnoException,
): RuntimeError {
  // Node says the same of a missing folder as of a missing program.
  if (cause.code === 'ENOENT' && !existsSync(cwd))
    return new RuntimeError(
      'folder_missing',
      `The folder "${cwd}" that the MCP server "${name}" should run in is not there.`,
      {
        hint: 'Create it, or correct "cwd".',
        cause,
      },
    );
  if (cause.code === 'ENOENT' || cause.code === 'EACCES')
    return new RuntimeError(
      'command_missing',
      `The program "${command}" of the MCP server "${name}" ${cause.code === 'ENOENT' ? 'is not there' : 'may not be run'}.`,
      { hint: 'Install it, or write its whole path. Its PATH is the one that this process has.', cause },
    );
  return new RuntimeError('mcp_failed', `The MCP server "${name}" (${command}) cannot be started.`, {
    hint: 'The cause says why.',
    cause,
  });
}

export const startTooSlow = (start: McpServerStart, doing: string, ms: number, words: ServerWords) =>
  new RuntimeError(
    'mcp_failed',
    `The MCP server "${start.name}" (${commandLine(start)}) did not ${doing} within ${ms / 1000} s.${said(words)}`,
    {
      hint: 'Run the command by hand: an MCP server waits for messages on its standard input and prints nothing but messages.',
      retryable: true,
    },
  );

export const startFailed = (start: McpServerStart, why: string, words: ServerWords, cause?: unknown) =>
  new RuntimeError(
    'mcp_failed',
    `The MCP server "${start.name}" (${commandLine(start)}) could not be used: ${why}.${said(words)}`,
    { hint: 'Run the command by hand to see what it does.', cause },
  );

/** It ended while a call was under way. */
export const endedMeanwhile = (name: string, what: string, how: string, words: ServerWords) =>
  new RuntimeError(
    'mcp_failed',
    `The MCP server "${name}" ended during the call of ${what}: ${how}.${said(words)}`,
    {
      hint: 'Whether the call had an effect is not known. The server is started again at the next call.',
      retryable: true,
    },
  );

export const endsTooOften = (name: string, times: number) =>
  new RuntimeError(
    'mcp_failed',
    `The MCP server "${name}" has ended ${times} times without answering a call.`,
    {
      hint: 'It is not started again for this runtime. Its own messages, in the errors before, may say why.',
    },
  );

/** An error in place of an answer: the server's own word. */
export const refusedByServer = (what: string, message: string, cause: unknown) =>
  new RuntimeError('tool_failed', `The call of ${what} failed: ${clip(message)}`, { cause });

export const badAnswer = (name: string, what: string, cause: unknown) =>
  new RuntimeError(
    'mcp_failed',
    `What the MCP server "${name}" answered to the call of ${what} is no result of a tool.`,
    {
      hint: 'The cause says what is wrong with it.',
      cause,
    },
  );

export const serverClosed = (name: string) =>
  new RuntimeError('cancelled', `The MCP server "${name}" was ended: the runtime is being closed.`);

const commandLine = ({ command, args }: McpServerStart) => clip([command, ...args].join(' '), 200);

function said({ stderr, junk }: ServerWords): string {
  const error = stderr.trim();
  const other = junk.trim();
  const parts = [
    ...(error === '' ? [] : [`It said: ${tail(error)}`]),
    ...(other === '' ? [] : [`It printed what is no message: ${tail(other)}`]),
  ];
  return parts.length === 0 ? '' : ` ${parts.join(' ')}`;
}

const tail = (text: string) => (text.length > MAX_SHOWN ? `…${text.slice(-MAX_SHOWN)}` : text);
const clip = (text: string, max = MAX_SHOWN) => (text.length > max ? `${text.slice(0, max)}…` : text);
