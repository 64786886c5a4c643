import { existsSync } from 'node:fs';
import { RuntimeError } from '../lib/errors.ts';
import type { McpProcessStart, McpServerStart } from '../tools/mcp/mcp-server.ts';

/** Everything a server printed besides its messages, including its log messages. */
export interface AllWords extends ServerWords {
  readonly log: string;
}

const MAX_SHOWN = 1_500;

export function cannotStart(
  { name, command, cwd }: McpProcessStart,
  cause: NodeJS.ErrnoException,
): RuntimeError {
  // Node reports the same error for a missing folder and a missing program.
  if (cause.code === 'ENOENT' && !existsSync(cwd))
    return new RuntimeError(
      'folder_missing',
      `The folder "${cwd}" of the MCP server "${name}" does not exist.`,
      {
        hint: 'Create it, or correct "cwd".',
        cause,
      },
    );
  if (cause.code === 'ENOENT' || cause.code === 'EACCES')
    return new RuntimeError(
      'command_missing',
      `The program "${command}" of the MCP server "${name}" ${cause.code === 'ENOENT' ? 'was not found' : 'cannot be run: permission denied'}.`,
      { hint: 'Install it, or write its full path. It is searched on the PATH of this process.', cause },
    );
  return new RuntimeError('mcp_failed', `The MCP server "${name}" (${command}) cannot be started.`, {
    hint: 'See the cause.',
    cause,
  });
}

export const startTooSlow = (start: McpServerStart, doing: string, ms: number, words: AllWords) =>
  new RuntimeError(
    'mcp_failed',
    `The MCP server "${start.name}" (${whereOf(start)}) did not ${doing} within ${ms / 1000} s.${said(words)}`,
    {
      hint:
        start.type === 'stdio'
          ? 'Run the command by hand. An MCP server waits for messages on its standard input, and prints only messages.'
          : 'Check its "url", and whether the server is running.',
      retryable: true,
    },
  );

export const startFailed = (start: McpServerStart, why: string, words: AllWords, cause?: unknown) =>
  new RuntimeError(
    'mcp_failed',
    `The MCP server "${start.name}" (${whereOf(start)}) could not be used: ${why}.${said(words)}`,
    {
      hint:
        start.type === 'stdio'
          ? 'Run the command by hand to see what it does.'
          : 'Check whether its "url" is an MCP server.',
      cause,
    },
  );

/** The server ended during a call. */
export const endedMeanwhile = (name: string, what: string, how: string, words: AllWords) =>
  new RuntimeError(
    'mcp_failed',
    `The MCP server "${name}" ended during the call of ${what}: ${how}.${said(words)}`,
    {
      hint: 'It is unknown whether the call had an effect. The next call starts the server again.',
      retryable: true,
    },
  );

export const endsTooOften = (name: string, times: number, waitMs: number) =>
  new RuntimeError(
    'mcp_failed',
    `The MCP server "${name}" has ended ${times} times without answering a call.`,
    {
      hint: `It is not started again for ${waitMs / 1000} s. Its output in the previous errors may explain why.`,
    },
  );

const MAX_LISTED = 30;

/** The server no longer lists the tool or prompt. `known` are the ones it lists now, by the names that actions use. */
export const toolGone = (name: string, what: string, known: readonly string[]) =>
  new RuntimeError('tool_gone', `The MCP server "${name}" no longer has what ${what} stands for.`, {
    hint:
      known.length === 0
        ? 'It has none now.'
        : `It has now: ${known.slice(0, MAX_LISTED).join(', ')}${known.length > MAX_LISTED ? `, … (${known.length} in all)` : ''}.`,
  });

/** The server answered with an error. */
export const refusedByServer = (what: string, message: string, cause: unknown) =>
  new RuntimeError('tool_failed', `The call of ${what} failed: ${clip(message)}`, { cause });

export const badAnswer = (name: string, what: string, cause: unknown) =>
  new RuntimeError(
    'mcp_failed',
    `The response of the MCP server "${name}" to the call of ${what} is not a result.`,
    {
      hint: 'See the cause.',
      cause,
    },
  );

export const serverClosed = (name: string) =>
  new RuntimeError('cancelled', `The MCP server "${name}" was stopped because the runtime is closing.`);

/** Shows only the origin, because the path of a URL may contain a secret. */
function whereOf(start: McpServerStart): string {
  if (start.type === 'stdio') return clip([start.command, ...start.args].join(' '), 200);
  return URL.canParse(start.url) ? new URL(start.url).origin : 'over HTTP';
}

function said({ stderr, junk, log }: AllWords): string {
  const parts = [
    ['It printed', stderr],
    ['It sent invalid messages', junk],
    ['Its log', log],
  ].flatMap(([label, text = '']) => (text.trim() === '' ? [] : [`${label}: ${tail(text.trim())}`]));
  return parts.length === 0 ? '' : ` ${parts.join(' ')}`;
}

const tail = (text: string) => (text.length > MAX_SHOWN ? `…${text.slice(-MAX_SHOWN)}` : text);
const clip = (text: string, max = MAX_SHOWN) => (text.length > max ? `${text.slice(0, max)}…` : text);

/** The ends of what a server printed besides its messages. */
export interface ServerWords {
  readonly stderr: string;
  /** Data that arrived in place of messages. */
  readonly junk: string;
}

export interface ChannelListener {
  /** A JSON object. Nothing else about it has been checked. */
  message(message: object): void;
  /** The channel has ended or was given up. `how` is a reason, or undefined if `end` was called. Called once. */
  ended(how: string | undefined): void;
}

/** The connection to one server: a process and its pipes, or a session over HTTP. */
export interface ServerChannel {
  listen(listener: ChannelListener): void;
  /**
   * Rejects if a message cannot be sent. Over HTTP, it resolves only after the answer, and also rejects if the answer
   * can no longer arrive.
   */
  send(message: object): Promise<void>;
  /** Sets the agreed version of the protocol. */
  useVersion(version: string): void;
  readonly words: ServerWords;
  /** Keeps the runtime's process alive. After `letGo`, the process may end, and the server with it. */
  hold(): void;
  letGo(): void;
  /** Closes the channel and waits until it is closed. `how` is the reason for calls that are still waiting. */
  end(how?: string): Promise<void>;
}

/** The largest message of a server. */
export const MAX_MESSAGE_BYTES = 16 * 1024 * 1024;
/** How much of its other output is kept. */
export const KEPT_WORDS = 8 * 1024;
/** A server is given up after this many lines or events that are not messages. */
export const MAX_JUNK = 10_000;

/** Undefined for text that is not a JSON object. */
export function readMessage(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
